"""Workload `audit`: what auditing costs the job, and how fast bars that lie are caught.

The cost is that of eight exact shadows beside many standing queries, by the seconds of epochs with
and without them. Then bars are stored three times too narrow, and the rows until the alarm are
counted: for deferred means, for a sampled count and for sketches together. As a control the same
queries run untouched for as many pages, without an alarm.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console

import streamgauge as sg
from bench.audited import STREAM, Walk, deferred, narrowed, sampled, sketches
from bench.harness import Steps
from bench.report import Bar, Report
from streamgauge.results.change_log import commits

NAME = "audit"
TIMES = 3.0
SERIES = 200
WARM = 4


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    queries: int
    epochs: int
    pages: int


QUICK = Extent(300, 8, 40)
FULL = Extent(3000, 30, 150)
CAUGHT: dict[str, tuple[Callable[[Walk], None], int, str | None]] = {
    "timer": (deferred, 0, "timer"),
    "watch": (deferred, 0, "watch"),
    "sampled": (sampled, 0, "coins"),
    "sketches": (sketches, 10, None),
}


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Measure the cost, then break bars of each kind and wait for the alarm."""
    extent = QUICK if quick else FULL
    report = Report(NAME, quick=quick, origin="generated")
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    steps = Steps(console, 2 + len(CAUGHT))
    try:
        with steps.shown():
            with steps.step(f"{extent.queries:,} queries with and without shadows"):
                _cost(report, directory / "cost", extent)
            for number, (name, (ask, items, query)) in enumerate(CAUGHT.items()):
                with steps.step(f"bars three times too narrow: {name}"):
                    walk = Walk(directory / name, number, items=items)
                    ask(walk)
                    _caught(report, walk, name, query, extent)
            with steps.step("bars that hold"):
                _quiet(report, directory / "quiet", extent)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report.about = (
        f"{extent.queries:,} standing means over nine of {SERIES} series, eight shadows; "
        f"bars {TIMES:g} times too narrow, at a false-alarm rate of 1e-4"
    )
    return report


def _cost(report: Report, directory: Path, extent: Extent) -> None:
    """Seconds of epochs: first without an auditor, then with its shadows."""
    walk = Walk(directory, 1, series=SERIES)
    owed = sg.Contract.absolute(2.0, confidence=0.9)
    walk.gauge.register(*(_mean(i, owed) for i in range(extent.queries)))
    walk.turn(None, WARM + extent.epochs)
    bare = [record["seconds"] for record in commits(walk.gauge.home)][WARM:]
    with walk.audited(8, stay=10_000) as auditor:
        while not auditor.audits:
            walk.turn(auditor, 1)
        walk.turn(auditor, WARM)
        before = walk.gauge.home.committed()
        walk.turn(auditor, extent.epochs)
        laden = [record["seconds"] for record in commits(walk.gauge.home, after=before)]
    report.figures["epoch_bare"] = (1000.0 * median(bare), "ms")
    report.figures["epoch_audited"] = (1000.0 * median(laden), "ms")
    slower = median(laden) / median(bare)
    report.figures["audited_over_bare"] = (slower, "x")
    report.bars["audited_over_bare"] = Bar(slower, 1.25, at_least=False)


def _mean(number: int, owed: sg.Contract) -> sg.Query:
    members = tuple(f"s{(7 * number + i) % SERIES}" for i in range(9))
    contract = owed if number % 2 else sg.Contract.exact()
    return sg.Query(f"q{number}", STREAM, sg.avg("v"), series=members, contract=contract)


def _caught(report: Report, walk: Walk, name: str, query: str | None, extent: Extent) -> None:
    """Ticks of event time under shadows until the alarm."""
    with narrowed(TIMES), walk.audited(16, stay=10_000) as auditor:
        while not auditor.audits:
            walk.turn(auditor, 1)
        pages = 0
        while query not in {alarm.query for alarm in auditor.alarms} and pages < extent.pages:
            walk.turn(auditor, 1)
            pages += 1
        caught = query in {alarm.query for alarm in auditor.alarms}
        entries = [e for e in auditor.ledger.entries.values() if query in (None, e.name)]
    report.figures[f"{name}_ticks"] = (float(pages * walk.ticks) if caught else None, "ticks")
    compared = sum(entry.comparisons for entry in entries)
    report.figures[f"{name}_comparisons"] = (float(compared), "")
    report.bars[f"{name}_caught"] = Bar(float(caught), 1.0)


def _quiet(report: Report, directory: Path, extent: Extent) -> None:
    """The same queries, untouched."""
    walk = Walk(directory, 9, items=10)
    for ask in (deferred, sampled, sketches):
        ask(walk)
    with walk.audited(16, stay=10_000) as auditor:
        walk.turn(auditor, extent.pages)
        alarms, entries = len(auditor.alarms), auditor.ledger.entries.values()
        compared = sum(entry.comparisons for entry in entries)
    report.figures["quiet_comparisons"] = (float(compared), "")
    report.bars["false_alarms"] = Bar(float(alarms), 0.0, at_least=False)
    report.checked = f"{compared:,} bars that hold were compared without an alarm"
    report.right = alarms == 0
