"""Workload `language`: ten thousand selections over one stream, by one shared index.

Beside it, on the same rows: each selection by itself in NumPy, a join of the rows with a table of
the selections in DuckDB and in Spark, and in Spark one filter of all of them. The same selections
as standing queries: planned from one script, run by the local engine and on Spark. Then the curve
of PSoup's figure 9: the gain of the index over the number of selections, all inequalities.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.harness import Group, Outcome, Spread, Steps, Task, in_turns, ratios, run_tasks
from bench.report import Bar, Line, Report, short
from bench.selections import Prepared, adopt, generate

NAME = "language"
# Results that say how often each pair of a row and a selection was found.
PAIRS = ("ours", "each by itself", "duckdb join", "spark join", "engine local", "engine spark")
LINES = (*PAIRS, "spark filter")
# What runs tell of their result; an engine tells the number of pairs alone.
COMPARED = ("pairs", "rows", "queries", "mixed")


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    rows: int
    selections: int
    filtered: int
    curve: tuple[int, ...]
    repetitions: int
    box: float


QUICK = Extent(10_000, 2_000, 50, (2**7, 2**10), 1, 75.0)
FULL = Extent(100_000, 10_000, 10_000, tuple(2**k for k in range(7, 15)), 2, 240.0)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Prepare the rows, run everything in turns, compare the results."""
    extent = QUICK if quick else FULL
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        with console.status("preparing rows"):
            place = directory / "prepared"
            size = extent.rows
            prepared = adopt(place, data, size) if data else generate(place, size)
        return _measured(prepared, extent, str(data or "generated"), console)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _groups(prepared: Prepared, extent: Extent) -> list[Group]:
    def task(peer: str, form: str, queries: int = extent.selections) -> Task:
        return Task(peer, prepared.directory, queries=queries, form=form, seconds=extent.box)

    local = {
        "ours": task("select_local", "ours/pairs"),
        "each by itself": task("select_local", "numpy/pairs"),
        "duckdb join": task("select_local", "duckdb/pairs"),
    }
    spark = {"spark join": task("select_spark", "join")}
    one_filter = {"spark filter": task("select_spark", "filter", extent.filtered)}
    engines = {
        "engine local": task("select_ours", "local"),
        "engine spark": task("select_ours", "spark"),
    }
    curve = {
        f"{who}_{n}": task("select_local", form, n)
        for n in extent.curve
        for who, form in (("shared", "ours/bits"), ("single", "numpy/masks"))
    }
    if extent is QUICK:
        return [local, spark | one_filter, engines, curve]
    # Thousands of ORs may well end the process, so they have one of their own.
    return [local, spark, one_filter, *({name: one} for name, one in engines.items()), curve]


def _measured(prepared: Prepared, extent: Extent, origin: str, console: Console) -> Report:
    groups = _groups(prepared, extent)
    steps = Steps(console, extent.repetitions * len(groups))
    with steps.shown():

        def measure(group: Group) -> list[Outcome]:
            with steps.step(", ".join(group)) as said:
                outcomes = run_tasks(list(group.values()))
                said += [short(one.rate) if one.rate else one.missing for one in outcomes]
            return outcomes

        found = in_turns(groups, extent.repetitions, measure)
    report = Report(NAME, quick=extent is QUICK, origin=origin)
    report.about = f"{prepared.rows:,} rows, {extent.selections:,} selections"
    report.lines = [Line(name.replace(" ", "_"), name, found[name]) for name in LINES]
    _judge(report, found, extent)
    _compare(report, found, extent)
    return report


def _judge(report: Report, found: dict[str, list[Outcome]], extent: Extent) -> None:
    ours = found["ours"]
    gain = ratios(ours, found["each by itself"])
    report.bars["shared_index_over_per_query"] = Bar(_middle(gain), 20.0)
    for name in ("duckdb join", "spark join", "spark filter"):
        report.figures[f"over_{name.replace(' ', '_')}"] = (ratios(ours, found[name]), "times")
    built = Spread.of([one.facts.get("build_seconds") for one in ours])
    report.bars["build_seconds"] = Bar(_middle(built), 1.0, at_least=False)
    _judge_engines(report, found, extent)
    pairs = Spread.of([one.facts.get("pairs") for one in ours])
    rows = ours[0].rows or 1
    report.figures["pairs_per_row"] = (None if pairs is None else pairs.value / rows, "pairs")
    for n in extent.curve:
        shared, single = found[f"shared_{n}"], found[f"single_{n}"]
        report.figures[f"psoup_fig9_{n}"] = (ratios(shared, single), "times")
        rate = Spread.of([one.rate for one in shared])
        report.figures[f"psoup_fig9_{n}_shared"] = (rate, "rows/s")
    most = ratios(found[f"shared_{extent.curve[-1]}"], found[f"single_{extent.curve[-1]}"])
    report.bars["bitmap_over_masks"] = Bar(_middle(most), 10.0)


def _judge_engines(report: Report, found: dict[str, list[Outcome]], extent: Extent) -> None:
    """Seconds until standing queries are planned and answer, and rows a second after that."""
    for name in ("engine local", "engine spark"):
        key, runs = name.replace(" ", "_"), found[name]
        first = Spread.of([one.facts.get("first_answer_seconds") for one in runs])
        report.figures[f"{key}_first_answer"] = (first, "s")
        gain = ratios(runs, found["spark filter"])
        report.figures[f"{key}_over_spark_filter"] = (gain, "times")
        report.figures[f"{key}_over_spark_join"] = (ratios(runs, found["spark join"]), "times")
    planned = Spread.of([one.facts.get("plan_seconds") for one in found["engine local"]])
    # A quick run plans fewer; the time is then for as many as it would be in a full one.
    scale = FULL.selections / extent.selections
    seconds = None if planned is None else planned.value * scale
    report.bars["plan_10000_seconds"] = Bar(seconds, 20.0, at_least=False)


def _compare(report: Report, found: dict[str, list[Outcome]], extent: Extent) -> None:
    """Equal pairs, by their number and three sums over them; equal counts along the curve."""
    groups = [PAIRS, *((f"shared_{n}", f"single_{n}") for n in extent.curve)]
    wrong, compared = [], 0
    for names in groups:
        told = {
            name: {key: value for key, value in one.facts.items() if key in COMPARED}
            for name in names
            for one in found[name]
            if one.facts
        }
        truth = told.get(names[0], {})
        compared += max(0, len(told) - 1)
        wrong += [
            name
            for name, facts in told.items()
            if any(truth.get(key) != value for key, value in facts.items())
        ]
    report.right = not wrong and compared > 0
    report.checked = f"{compared} results compared with ours, {len(wrong)} differ: {wrong}"


def _middle(spread: Spread | None) -> float | None:
    return None if spread is None else spread.value
