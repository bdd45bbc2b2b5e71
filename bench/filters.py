"""Workload `filters`: messages that adaptive filters at the sources save, every answer checked.

Beside our own way, on the same values: equal widths, the best fixed widths (which know the step
sizes, and their changes at once), bounds that never move, the printed rule, and the printed rule
that shares out. Tables say updates, and after a plus sign control messages, a tick.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.deferral_report import Sections, SectionsAlone
from bench.filters_data import (
    PACKETS,
    SERIES,
    Trace,
    average,
    drifting,
    measured,
    overlapping,
    packet_queries,
    packet_rates,
    resampled,
    walks,
)  # fmt: skip
from bench.filters_runs import Cell, compared
from bench.harness import Steps
from bench.report import Bar
from streamgauge.filters.constraints import Constraints
from streamgauge.filters.manager import PrecisionManager
from streamgauge.kernel.errors import SourceFailure

NAME = "filters"
# Below this many messages a tick a ratio says little.
COUNTED = 0.3
MODERATE = 20.0
# The precision for which the paper says that five queries cost 3.4 times less than equal widths.
PRINTED_DELTA = 4.0
# Answer widths of measured traces, in usual changes of a tick.
SPREADS = (1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    objects: tuple[int, ...]
    deltas: tuple[float, ...]
    ticks: int
    warm_up: int
    shift: int
    drift_ticks: int
    packet_ticks: int
    packets: tuple[tuple[int, tuple[float, ...]], ...]
    trace_ticks: int
    queries: int


QUICK = Extent(
    (10, 200), (10.0, 40.0), 10_000, 4_000, 5_000, 3_000, 4_000, ((10, (1.0, 4.0)),), 1_500, 2_000
)
FULL = Extent(
    (10, 50, 200, 1000),
    (5.0, 10.0, 20.0, 40.0, 80.0),
    30_000,
    10_000,
    5_000,
    20_000,
    10_000,
    ((10, (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 10.0)), (50, (0.5, 1.0, 2.0, 4.0))),
    10_000,
    10_000,
)


def run(*, quick: bool, data: Path | None, console: Console) -> Sections:
    """Run the sections one after the other; traces of one's own have those on traces only."""
    extent = QUICK if quick else FULL
    report = SectionsAlone(NAME, quick, str(data) if data else "made up, and shared traces if any")
    report.about = f"{'quick: ' if quick else ''}{extent.ticks:,} ticks, messages a tick"
    cells: list[Cell] = []
    sections: dict[str, Callable[[], list[Cell]]]
    if data is not None:
        if not data.is_dir():
            raise SourceFailure(
                f"no directory {str(data)!r}",
                "there are no traces to read",
                "give a directory of parquet files with columns object, ts, value",
            )
        traces = list(measured(data, extent.trace_ticks))
        sections = {"traces": lambda: _traces(report, traces)}
    else:
        sections = _sections(report, extent)
    steps = Steps(console, len(sections))
    with steps.shown():
        for what, section in sections.items():
            with steps.step(what):
                cells += section()
    report.cells += [cell.as_dict() for cell in cells]
    wrong = sum(cell.wrong for cell in cells)
    checked = sum(count.checked for cell in cells for count in cell.counts.values())
    report.right = wrong == 0
    report.checked = f"{checked:,} ticks checked, {wrong} answers or bounds that did not hold"
    return report


def _sections(report: Sections, extent: Extent) -> dict[str, Callable[[], list[Cell]]]:
    found: dict[str, Callable[[], list[Cell]]] = {
        "random walks": lambda: _walks(report, extent, 0),
        "random walks whose steps change places": lambda: _walks(report, extent, extent.shift),
        "drifting data": lambda: _drifting(report, extent),
    }
    if PACKETS.is_file():
        found["packet rates, five queries"] = lambda: _packets(report, extent)
    else:
        report.skipped.append("packet rates: there are no captures beside the source tree")
    if SERIES.is_dir():
        found["measured series"] = lambda: _series(report, extent)
    found["adjustment"] = lambda: _adjustment(report, extent)
    found["agent and motes"] = lambda: _parts(report)
    return found


def _walks(report: Sections, extent: Extent, shift: int) -> list[Cell]:
    """Random walks: one query over all, and five over halves."""
    cells = []
    for n in extent.objects:
        blocks, steps = walks(n, extent.ticks, 7, shift)
        for queries in (average, overlapping):
            for delta in extent.deltas:
                constraints = queries(n, delta)
                name = f"{n} walks"
                cells.append(
                    compared(name, blocks, constraints, delta, extent.warm_up, steps=steps)
                )
    title = "random walks" + (f", steps change places every {shift:,} s" if shift else "")
    _table(report, title, cells, "optimum")
    counted = [c for c in cells if c.counts["optimum"].per_tick > COUNTED]
    worst = max(c.ratio("ours", "optimum") for c in counted)
    kind = "shifting" if shift else "steady"
    report.bars[f"{kind}_to_optimum"] = Bar(worst, 1.5 if shift else 1.1, at_least=False)
    wide = [c.ratio("ours", "uniform") for c in counted if c.delta >= MODERATE and "200 " in c.data]
    if wide:
        report.bars[f"{kind}_to_uniform"] = Bar(max(wide), 0.6, at_least=False)
    return cells


def _drifting(report: Sections, extent: Extent) -> list[Cell]:
    """Data that drifts: bounds that move, and bounds that stay."""
    n = 50
    traces = drifting(n, extent.drift_ticks, 5)
    if SERIES.is_dir() and (SERIES / "intel_lab_temp").is_dir():
        files = sorted((SERIES / "intel_lab_temp").glob("*.parquet"))
        traces.append(Trace("intel_lab_temp", resampled(files, extent.drift_ticks, None)))
    cells = []
    for trace in traces:
        n = trace.values.shape[1]
        for spread in (10.0, 30.0, 100.0):
            delta = spread * _usual(trace.values)
            constraints = average(n, delta)
            warm_up = len(trace.values) // 4
            cells.append(
                compared(trace.name, [trace.values], constraints, delta, warm_up, still=True)
            )
    _table(report, "drifting data", cells, "uniform")
    saved = {}
    for kind in {trace.name: None for trace in traces[:3]}:
        own = [c for c in cells if c.data == kind]
        # Of all messages most are of the tightest precision, where noise outweighs any drift.
        saved[kind] = statistics.geometric_mean(c.ratio("still", "ours") for c in own)
        name, in_all = kind.replace(" ", "_"), _sum(own, "still") / _sum(own, "ours")
        report.figures[f"saved_{name}"] = (saved[kind], "times fewer, mean of three precisions")
        report.figures[f"saved_in_all_{name}"] = (in_all, "times fewer, of all messages")
    report.bars["models_save"] = Bar(min(saved.values()), 1.5)
    return cells


def _sum(cells: Sequence[Cell], policy: str) -> float:
    return sum(cell.counts[policy].per_tick for cell in cells)


def _usual(values: np.ndarray) -> float:
    """Usual change of an object in a tick, where it changes."""
    moves = np.abs(np.diff(values, axis=0))
    return float(np.median(moves[moves > 0.0])) if moves.any() else 1.0


def _packets(report: Sections, extent: Extent) -> list[Cell]:
    """Five queries of network monitoring over hosts, and the sweep over their precision."""
    cells = []
    for hosts, deltas in extent.packets:
        rates = packet_rates(hosts, extent.packet_ticks)
        values = np.ascontiguousarray(rates.reshape(len(rates), -1))
        few = hosts <= 10
        for delta in deltas:
            name, warm_up = f"{hosts} hosts", len(values) // 5
            constraints = packet_queries(hosts, delta)
            cells.append(
                compared(name, [values], constraints, delta, warm_up, still=few, baselines=few)
            )
    title = "packet rates, Q2 and Q5 within delta, the others within delta / 100"
    _table(report, title, cells, "uniform")
    (named,) = (c for c in cells if c.data == "10 hosts" and c.delta == PRINTED_DELTA)
    report.bars["packets_fewer_than_uniform"] = Bar(1.0 / named.ratio("ours", "uniform"), 3.4)
    return cells


def _series(report: Sections, extent: Extent) -> list[Cell]:
    """Measured series at their own pace, five queries over halves of them."""
    traces = []
    for name in ("intel_lab_temp", "air_beijing"):
        files = sorted((SERIES / name).glob("*.parquet"))
        if files:
            traces.append(Trace(name, resampled(files, extent.trace_ticks, None)))
    return _traces(report, traces)


def _traces(report: Sections, traces: Sequence[Trace]) -> list[Cell]:
    cells = []
    for trace in traces:
        n = trace.values.shape[1]
        if n < 2:
            report.skipped.append(f"{trace.name}: one object has nothing to share")
            continue
        for spread in SPREADS:
            delta = spread * _usual(trace.values)
            cells.append(
                compared(
                    trace.name,
                    [trace.values],
                    overlapping(n, delta),
                    delta,
                    len(trace.values) // 5,
                    still=True,
                    baselines=True,
                )
            )
    if cells:
        _table(report, "measured traces, five queries over halves", cells, "uniform")
        best = max(1.0 / c.ratio("ours", "uniform") for c in cells)
        report.figures["traces_fewer_than_uniform"] = (best, "times, at best")
    return cells


def _adjustment(report: Sections, extent: Extent) -> list[Cell]:
    """Processor time of one adjustment with many queries over many objects."""
    n = extent.queries
    rng = np.random.default_rng(11)
    demands = []
    for _ in range(n):
        members = rng.choice(n, int(rng.integers(10, 51)), replace=False)
        demands.append((members, np.full(members.size, 1.0 / members.size), 10.0, "linear"))
    manager = PrecisionManager(Constraints.of(n, demands))
    numbers = np.arange(n)
    none = np.full(n, np.nan)
    manager.update_many(numbers, 0.0, np.zeros(n, np.int64), none, none)
    sizes = rng.lognormal(0.0, 1.0, n)
    took = []
    for period in range(1, 5):
        rates = (2.0 * sizes * rng.lognormal(0.0, 0.1, n)) ** 2
        at = period * 10e6
        manager.update_many(numbers, at, manager.newest_versions, rates, np.full(n, 2.0))
        began = time.process_time()
        manager.adjust_many(at)
        took.append(time.process_time() - began)
    report.figures["adjustment_first"] = (took[0], "CPU s")
    report.figures["adjustment"] = (float(np.median(took[1:])), f"CPU s, {n:,} x {n:,}")
    report.bars["adjustment_share_of_core"] = Bar(
        float(np.median(took[1:])) / 10.0, 0.1, at_least=False
    )
    return []


def _parts(report: Sections) -> list[Cell]:
    """What the agent costs and what motes save, where their parts are there."""
    agent = _measured_by("bench.filters_agent", report, quick=report.quick)
    for name, value in agent.items():
        report.figures[f"agent_{name}"] = (value, "")
    for name, target, at_least in (
        ("resident_mb", 40.0, False),
        ("lines_per_second", 1e5, True),
        ("offers_per_second", 3e5, True),
    ):
        if name in agent:
            report.bars[f"agent_{name}"] = Bar(agent[name], target, at_least=at_least)
    motes = _measured_by("bench.filters_motes", report)
    if motes:
        report.cells.append({"motes": motes})
    return []


def _measured_by(module: str, report: Sections, **how: Any) -> dict[str, Any]:
    """Figures of a part; none where it cannot run here."""
    try:
        found: dict[str, Any] = importlib.import_module(module).measure(**how)
    except (ImportError, OSError) as error:
        report.skipped.append(f"{module}: {error}")
        return {}
    return found


def _table(report: Sections, title: str, cells: Sequence[Cell], beside: str) -> None:
    policies = list(dict.fromkeys(name for cell in cells for name in cell.counts))
    columns = ["data", "queries", "delta", *policies, f"ours / {beside}"]
    rows = [
        [
            cell.data,
            str(cell.queries),
            f"{cell.delta:.3g}",
            *(_messages(cell, policy) for policy in policies),
            f"{cell.ratio('ours', beside):.2f}",
        ]
        for cell in cells
    ]
    report.table(title, columns, rows)


def _messages(cell: Cell, policy: str) -> str:
    count = cell.counts.get(policy)
    if count is None:
        return ""
    updates = f"{count.updates / count.ticks:.3g}"
    return f"{updates} + {count.control / count.ticks:.2g}" if count.control else updates
