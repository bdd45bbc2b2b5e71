"""Section on scale: a million standing queries from one table, beside a bare scan and others."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

from bench.check import whole
from bench.data import START, Card, Columns, Sizes, prepare
from bench.deferral_load import distinct_members
from bench.deferral_ours import NOTHING, told
from bench.deferral_report import Sections, percent
from bench.deferral_rules import scored
from bench.harness import Group, Outcome, Spread, Steps, Task, in_turns, middle, ratios, run_tasks
from bench.report import Bar, Line, short
from streamgauge.kernel.time import SECOND
from streamgauge.log.home import Home

SIGMAS = 30.0
CONFIDENCE = 0.9
SAMPLED = 200
FEW = 100


@dataclass(frozen=True, slots=True)
class Scale:
    """How far the section goes."""

    queries: int
    mixed: int
    n_series: int
    rows: int
    batch: int
    repetitions: int
    ticks: int
    seconds: float


FULL = Scale(1_000_000, 100_000, 5_000, 24_000_000, 1_000_000, 3, 8, 600.0)
QUICK = Scale(20_000, 2_000, 500, 1_200_000, 200_000, 1, 6, 240.0)


def walks(scale: Scale, *, seed: int = 31) -> Columns:
    """Series that walk by steps of deviation 1, all once a second."""
    rng = np.random.default_rng(seed)
    seconds = scale.rows // scale.n_series
    value = rng.standard_normal((seconds, scale.n_series))
    np.cumsum(value, axis=0, out=value)
    numbers = np.arange(scale.n_series, dtype=np.int32)
    names = [f"s{number:04d}" for number in numbers]
    return Columns(
        np.repeat(START + np.arange(1, seconds + 1) * SECOND, scale.n_series),
        np.tile(numbers, seconds),
        value.ravel(),
        names,
        ["all"] * scale.n_series,
        ["all"] * scale.n_series,
    )


def prepared(scale: Scale, directory: Path) -> Card:
    """The files that all peers read, nine members for each query, and the bound they share."""
    sizes = Sizes(
        scale.rows, scale.batch, queries=1, ticks=scale.ticks + 4, slices=0, n_series=scale.n_series
    )
    card = prepare(walks(scale), directory, sizes, origin="generated")
    rng = np.random.default_rng(37)
    np.save(card.path("members.npy"), distinct_members(rng, scale.queries, scale.n_series))
    width = card.members().shape[1]
    card = replace(card, epsilon=SIGMAS / float(np.sqrt(width)))
    card.write()
    return card


def groups_of(scale: Scale, card: Card, home: str) -> tuple[list[Group], list[Group]]:
    """What is run in turns, and what is run once."""

    def task(peer: str, form: str = "", queries: int = scale.queries, **more: object) -> Task:
        plain = Task(peer, card.directory, queries=queries, form=form, seconds=scale.seconds)
        return replace(plain, **more)  # type: ignore[arg-type]

    turns: list[Group] = [
        {"ours": task("defer_ours", "family", home=home)},
        {"scan": task("scan")},
        {"ours_mixed": task("defer_ours", "mixed", scale.mixed)},
        {"ours_many": task("defer_ours", "family", scale.mixed)},
        {"ours_few": task("defer_ours", "family", FEW)},
    ]
    once: list[Group] = [
        {"ours_separate": task("defer_ours", "separate", scale.mixed)},
        {"plain": task("plain", "driver", batches=scale.ticks, seconds=min(120.0, scale.seconds))},
        {"duckdb": task("defer_local", "duckdb", batches=4)},
        {"chdb": task("defer_local", "chdb", batches=4)},
        {"every_tick": task("limit")},
    ]
    return turns, once


TITLES = {
    "ours": "ours, {} queries in one family",
    "scan": "Spark scan",
    "ours_mixed": "ours, {} queries, half AVG, half MAX",
    "ours_many": "ours, {} queries in one family",
    "ours_few": "ours, {} queries in one family",
    "ours_separate": "ours, {} queries registered one by one",
    "plain": "Spark per tick, {} queries",
    "duckdb": "DuckDB, {} queries once per batch",
    "chdb": "chDB, {} queries once per batch",
    "every_tick": "every query at every tick (Numba), {} queries",
}


def report_scale(
    report: Sections, scale: Scale, directory: Path, steps: Steps, console: Console
) -> None:
    """Prepare the rows, run all in turns, check sampled cells."""
    size = f"{short(scale.queries)} queries, {short(scale.n_series)} series"
    console.print(f"scale: {size}, {short(scale.rows)} rows ...", markup=False, highlight=False)
    card = prepared(scale, directory / "scale")
    home = directory / "home"
    turns, once = groups_of(scale, card, str(home))
    steps.total += scale.repetitions * len(turns) + len(once) + 1

    def measure(group: Group) -> list[Outcome]:
        with steps.step(", ".join(group)) as said:
            if any(task.home for task in group.values()):
                shutil.rmtree(home, ignore_errors=True)
            outcomes = run_tasks(list(group.values()))
            said += [f"{short(one.rate)} rows/s" if one.rate else one.missing for one in outcomes]
        return outcomes

    found = in_turns(turns, scale.repetitions, measure) | in_turns(once, 1, measure)
    tasks = {name: task for group in (*turns, *once) for name, task in group.items()}
    report.lines += [
        Line(name, TITLES[name].format(short(tasks[name].queries)), outcomes)
        for name, outcomes in found.items()
    ]
    with steps.step("check of sampled cells"):
        found_cells = sampled(card, home, min(SAMPLED, scale.queries))
    report_sampled(report, found_cells)
    judge(report, found, tasks)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was found in some cells: fidelity, answers that are not the average.

    `per_batch` is the fidelity that answers once per batch would have had.
    """

    fidelity: list[float]
    wrong: int
    per_batch: list[float]


def sampled(card: Card, home: Path, n: int) -> Sampled:
    """Compare the answers of some cells of the family with their averages by NumPy."""
    if not home.exists():
        return Sampled([], 0, [])
    rows = whole(card)
    n_series = len(card.series)
    values = rows.value.reshape(-1, n_series)
    first = int(rows.ts[0] // card.tick)
    members = card.members()
    cells = np.sort(np.random.default_rng(41).choice(len(members), n, replace=False))
    ends = np.arange(card.batch // n_series - 1, len(values) - 1, card.batch // n_series)
    among = pa.array([f"[{cell}]" for cell in cells])
    found = told(Home.open(home, shards=0), card.tick, among)
    fidelity, wrong, per_batch = [], 0, []
    for cell in cells.tolist():
        path = values[:, members[cell]].mean(axis=1)[:-1]
        given = found.get(f"family [{cell}]", NOTHING)
        places = given.tick - first
        wrong += int(
            np.sum(np.abs(given.value - path[places]) > 1e-9 * np.abs(path[places]) + 1e-9)
        )
        fidelity.append(scored(path, places, given.value, card.epsilon).fidelity)
        per_batch.append(scored(path, ends, path[ends], card.epsilon).fidelity)
    return Sampled(fidelity, wrong, per_batch)


def report_sampled(report: Sections, found: Sampled) -> None:
    """What was found in the sampled cells."""
    rows = []
    for name, fidelity in (("ours", found.fidelity), ("once per batch", found.per_batch)):
        if fidelity:
            shares = np.nan_to_num(np.array(fidelity))
            least, tenth = float(shares.min()), float(np.quantile(shares, 0.1))
            rows.append([name, percent(float(shares.mean())), percent(tenth), percent(least)])
    report.table(
        f"fidelity of {len(found.fidelity)} sampled cells at p = {CONFIDENCE:g}",
        ("", "mean %", "tenth %", "least %"),
        rows,
    )
    shares = np.nan_to_num(np.array(found.fidelity))
    spare = float(shares.mean()) - CONFIDENCE if len(shares) else None
    report.bars["scale_fidelity"] = Bar(spare, 0.0)
    report.right = report.right and not found.wrong and spare is not None
    cells = len(found.fidelity)
    report.checked += f"{cells} sampled cells checked against NumPy, {found.wrong} wrong answers"


def judge(report: Sections, found: dict[str, list[Outcome]], tasks: Group) -> None:
    """Bars and figures of the section."""
    ours, bars, figures = found["ours"], report.bars, report.figures
    bars["scale_scan_share"] = Bar(middle(ratios(ours, found["scan"])), 0.4)
    bars["flatness"] = Bar(middle(ratios(found["ours_many"], found["ours_few"])), 0.6)
    alone = found["ours_separate"]
    seconds = Spread.of([one.facts.get("register_seconds") for one in alone])
    bars["register_separately_seconds"] = Bar(middle(seconds), 10.0, at_least=False)
    for name in ("ours", "ours_mixed", "ours_separate"):
        size = Spread.of([one.facts.get("state_bytes") for one in found[name]])
        each = None if size is None else size.value / tasks[name].queries
        figures[f"{name}_state_bytes_each"] = each, "bytes"
    bars["state_bytes_each"] = Bar(figures["ours_separate_state_bytes_each"][0], 1024.0, False)  # type: ignore[arg-type]
    figures["mixed_scan_share"] = ratios(found["ours_mixed"], found["scan"]), "ratio"
    figures["scale_scan_share_cpu"] = ratios(ours, found["scan"], "cpu_rate"), "ratio"
    for name in ("plain", "duckdb", "chdb", "every_tick"):
        # Run once, beside the middle repetition of ours.
        rate = Spread.of([one.rate for one in ours])
        other = found[name][0].rate
        figures[f"scale_over_{name}"] = (rate.value / other if rate and other else None), "ratio"
    for name in ("register_seconds", "answers_per_second"):
        figures[f"scale_{name}"] = Spread.of([o.facts.get(name) for o in ours]), "s"
