"""Workload `windows`: sliding 60 s by 1 s over a thousand keys, AVG, MAX and p95, event time.

Ten rows a second for each key. Beside it, in the same run: a bare scan, Spark's `window()` in its
plain form and over panes of a second, the form with `percentile_approx`, Bytewax, Pathway, PyFlink.
Sampled answers are checked against NumPy, those of p95 against their bars.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
from rich.console import Console

from bench.harness import (
    SHARDS,
    Group,
    Outcome,
    Spread,
    Steps,
    Task,
    in_turns,
    middle,
    ratios,
    run_tasks,
)
from bench.hops import LENGTH, SECOND, SHARE, Hops, adopt, generate
from bench.report import Bar, Line, Report, short
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers

NAME = "windows"
SAMPLED = 300


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    rows: int
    batch: int
    repetitions: int
    others: tuple[str, ...]
    box: float


QUICK = Extent(300_000, 75_000, 1, (), 30.0)
FULL = Extent(12_000_000, 1_000_000, 2, ("hop_bytewax", "hop_pathway", "hop_flink"), 90.0)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Prepare the rows, run everything in turns, check the answers."""
    extent = QUICK if quick else FULL
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        with console.status("preparing rows"):
            place = directory / "prepared"
            size = extent.rows, extent.batch
            hops = adopt(place, data, *size) if data else generate(place, *size)
        return _measured(hops, extent, directory, str(data or "generated"), console)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _groups(hops: Hops, extent: Extent, home: str) -> list[Group]:
    def task(peer: str, form: str = "", **given: int) -> Task:
        return Task(peer, hops.directory, form=form, seconds=extent.box, **given)  # type: ignore[arg-type]

    spark = {
        "scan": task("hop_spark", "scan"),
        "spark_window": task("hop_spark", "exact", batches=3),
        "spark_p95": task("hop_spark", "p95", files=0, batches=3),
    }
    ours = {
        "ours": Task("hop_ours", hops.directory, form="exact", seconds=300.0),
        # The answers of the last one to run are checked, so it keeps its home.
        "ours_p95": Task("hop_ours", hops.directory, form="p95", seconds=300.0, home=home),
    }
    if extent is QUICK:
        return [spark, ours]
    return [
        *({name: one} for name, one in spark.items()),
        {"spark_panes": task("hop_spark", "panes", batches=4)},
        *({peer: task(peer)} for peer in extent.others),
        *({name: one} for name, one in ours.items()),
    ]


def _measured(hops: Hops, extent: Extent, directory: Path, origin: str, console: Console) -> Report:
    home = directory / "home"
    groups = _groups(hops, extent, str(home))
    steps = Steps(console, extent.repetitions * len(groups) + 1)
    with steps.shown():

        def measure(group: Group) -> list[Outcome]:
            shutil.rmtree(home, ignore_errors=True)
            with steps.step(", ".join(group)) as said:
                outcomes = run_tasks(list(group.values()))
                said += [short(one.rate) if one.rate else one.missing for one in outcomes]
            return outcomes

        found = in_turns(groups, extent.repetitions, measure)
        with steps.step("check of sampled answers"):
            wrong, checked = check(Home.open(home, shards=SHARDS), hops)
    report = Report(NAME, quick=extent is QUICK, origin=origin)
    report.about = f"{hops.rows:,} rows, {hops.keys:,} keys, {LENGTH} s by 1 s"
    order = ["ours", "ours_p95", *(name for name in found if not name.startswith("ours"))]
    report.lines = [Line(name, name.replace("_", " "), found[name]) for name in order]
    _judge(report, found)
    report.right = not wrong and checked > 0
    report.checked = f"{checked} sampled answers checked against NumPy, {wrong} wrong"
    return report


def _judge(report: Report, found: dict[str, list[Outcome]]) -> None:
    exact, p95 = found["ours"], found["ours_p95"]
    report.bars["avg_max_vs_spark_window"] = Bar(middle(ratios(exact, found["spark_window"])), 10)
    report.bars["p95_vs_percentile_approx"] = Bar(middle(ratios(p95, found["spark_p95"])), 20)
    flink = ratios(exact, found.get("hop_flink", []))
    if flink is not None:
        report.bars["avg_max_vs_flink"] = Bar(flink.value, 1.0)
    report.figures["share_of_scan"] = (middle(ratios(exact, found["scan"])), "share")
    report.figures["p95_share_of_scan"] = (middle(ratios(p95, found["scan"])), "share")
    for name in ("ours", "ours_p95"):
        rate = Spread.of([one.facts.get("answers_per_second") for one in found[name]])
        report.figures[f"{name}_answers_per_second"] = (rate, "answers/s")
        size = Spread.of([one.facts.get("state_bytes") for one in found[name]])
        report.figures[f"{name}_state_bytes"] = (size, "bytes")


def check(home: Home, hops: Hops) -> tuple[int, int]:
    """Recompute sampled answers with NumPy; how many are wrong, of how many."""
    rows = ds.dataset(hops.path("rows"), format="parquet").to_table()
    key = np.asarray(rows["key"].to_numpy())
    ts = np.asarray(rows["ts"].cast("int64").to_numpy())
    value = np.asarray(rows["value"].to_numpy())
    told = answers(home)
    if not told.num_rows:
        return 0, 0
    picks = np.random.default_rng(1).integers(0, told.num_rows, SAMPLED)
    wrong = 0
    for answer in told.take(picks).to_pylist():
        end = round(answer["as_of"].timestamp() * SECOND)
        first, last = np.searchsorted(ts, [end - LENGTH * SECOND, end], side="right")
        inside = value[first:last][key[first:last] == answer["group"][2:-2]]
        truth = {
            "avg": inside.mean,
            "max": inside.max,
            "p95": lambda inside=inside: np.sort(inside)[int(np.ceil(SHARE * len(inside))) - 1],
        }[answer["query"]]()
        room = 1e-9 * abs(truth)
        wrong += not answer["low"] - room <= truth <= answer["high"] + room
    return wrong, SAMPLED
