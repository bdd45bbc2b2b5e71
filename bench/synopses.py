"""Workload `synopses`: distinct counts, quantiles and top items of a thousand groups.

Twenty million rows in parquet; inside Spark beside its own sketches and a bare scan, and in one
thread of one process beside DuckDB and chDB, always at the error that each reaches. Then the
figures of the papers, measured again.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

import bench.figures
from bench.figures import Figure
from bench.harness import (
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
from bench.report import Bar, Line, Report, short
from bench.sketches import Prepared, adopt, generate

NAME = "synopses"
FORMS = ("distinct", "quantiles", "top")
FULL_ROWS, QUICK_ROWS = 20_000_000, 1_000_000


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Prepare the rows, run everything in turns, then the figures of the papers."""
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        with console.status("preparing rows and their exact answers"):
            place = directory / "prepared"
            rows = QUICK_ROWS if quick else FULL_ROWS
            prepared = adopt(place, data) if data else generate(place, rows)
        return _measured(prepared, quick=quick, origin=str(data or "generated"), console=console)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _tasks(prepared: Prepared, *, quick: bool) -> list[Group]:
    def task(peer: str, form: str) -> Task:
        return Task(peer, prepared.directory, form=form, seconds=240.0)

    spark = {f"spark_{form}": task("sketch_spark", form) for form in ("scan", *FORMS)}
    ours = {f"ours_{form}": task("sketch_ours", form) for form in (*FORMS, "all")}
    local = {
        f"{who}_local_{form}": task("sketch_local", f"{who}/{form}")
        for form in FORMS
        for who in ("ours", "duckdb", "chdb")
    }
    if quick:
        return [ours, spark, local]
    return [ours, spark, *({name: one} for name, one in local.items())]


def _measured(prepared: Prepared, *, quick: bool, origin: str, console: Console) -> Report:
    groups, repetitions = _tasks(prepared, quick=quick), 1 if quick else 2
    steps = Steps(console, repetitions * len(groups) + 1)
    with steps.shown():

        def measure(group: Group) -> list[Outcome]:
            with steps.step(", ".join(group)) as said:
                outcomes = run_tasks(list(group.values()))
                said += [short(one.rate) if one.rate else one.missing for one in outcomes]
            return outcomes

        found = in_turns(groups, repetitions, measure)
        with steps.step("figures of the papers"):
            figures = [] if quick else paper_figures()
    report = Report(NAME, quick=quick, origin=origin)
    report.about = f"{prepared.rows:,} rows, {prepared.groups:,} groups"
    report.lines = [Line(name, name.replace("_", " "), found[name]) for name in found]
    _judge(report, found)
    wrong = [figure.name for figure in figures if not figure.holds]
    for figure in figures:
        mark = "holds" if figure.holds else "DIFFERS"
        text = f"{figure.name} ({figure.setting}): {figure.claim}; measured {figure.measured}"
        console.print(f"  {mark}: {text}", markup=False, highlight=False)
    report.checked = f"{len(figures)} figures of papers measured again, {len(wrong)} differ"
    if figures:
        report.figures["paper_figures"] = (float(len(figures)), "figures")
        report.figures["paper_figures_that_differ"] = (float(len(wrong)), "figures")
    return report


def _judge(report: Report, found: dict[str, list[Outcome]]) -> None:
    for form in FORMS:
        ours, theirs = found[f"ours_{form}"], found[f"spark_{form}"]
        report.bars[f"{form}_vs_spark"] = Bar(middle(ratios(ours, theirs)), 2.0)
        _judge_error(report, f"{form}_error_vs_spark", ours, [theirs])
        local = found[f"ours_local_{form}"]
        peers = [found[f"{who}_local_{form}"] for who in ("duckdb", "chdb")]
        best = max(peers, key=lambda outcomes: middle(_cpu(outcomes)) or 0.0)
        ratio = ratios(local, best, "cpu_rate")
        report.bars[f"{form}_in_process"] = Bar(middle(ratio), 0.8)
        _judge_error(report, f"{form}_error_in_process", local, [best])
    for name, outcomes in found.items():
        for fact in ("error", "worst"):
            values = [one.facts.get(fact) for one in outcomes]
            if any(value is not None for value in values):
                report.figures[f"{name}_{fact}"] = (Spread.of(values), "error")
    share = ratios(found["ours_all"], found["spark_scan"])
    report.bars["all_three_share_of_scan"] = Bar(middle(share), 0.35)


def _judge_error(
    report: Report, name: str, ours: list[Outcome], peers: list[list[Outcome]]
) -> None:
    """Our mean error over the peer's: at most 1, with a hundredth of a point for ties at none."""
    mine = _fact(ours)
    theirs = max((_fact(peer) for peer in peers if _fact(peer) is not None), default=None)
    if mine is None or theirs is None:
        return
    report.bars[name] = Bar((mine + 1e-4) / (theirs + 1e-4), 1.0, at_least=False)


def _fact(outcomes: list[Outcome]) -> float | None:
    spread = Spread.of([one.facts.get("error") for one in outcomes])
    return None if spread is None else spread.value


def _cpu(outcomes: list[Outcome]) -> Spread | None:
    return Spread.of([one.cpu_rate for one in outcomes])


def paper_figures() -> list[Figure]:
    """Every published figure that is measured again."""
    found: list[Figure] = []
    for module in pkgutil.iter_modules(bench.figures.__path__):
        found += importlib.import_module(f"bench.figures.{module.name}").figures()
    return found
