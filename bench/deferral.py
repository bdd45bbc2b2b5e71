"""Workload `deferral`: answers brought up to date when a model of their drift says so.

Fidelity is the share of fresh ticks at which the published answer is within its bound. Ours goes
through the engine; beside it, on the same paths, the rule as printed in the paper, a bound check at
every tick, every query at every tick, and the fewest evaluations there could be.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.deferral_checks import Check, landmark_checks, report_checks, silence_checks
from bench.deferral_data import MEMBERS, SHARED, Panel, made, measured
from bench.deferral_fidelity import Cell, cells_of, report_fidelity, report_timer_bound
from bench.deferral_load import FULL_LOAD, QUICK_LOAD, LoadExtent, report_load
from bench.deferral_report import Sections
from bench.deferral_scale import FULL as FULL_SCALE
from bench.deferral_scale import QUICK as QUICK_SCALE
from bench.deferral_scale import Scale, report_scale
from bench.deferral_silence import report_silences
from bench.harness import Steps
from streamgauge.kernel.errors import SourceFailure

NAME = "deferral"
# Series of prices come first among those that fall silent.
PRICES = ("fx", "equity", "stock")


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes: ticks of a panel, walks and ticks of the timer, the other sections."""

    ticks: int
    walks: int
    walk_ticks: int
    load: LoadExtent
    scale: Scale


QUICK = Extent(20_000, 40, 5_000, QUICK_LOAD, QUICK_SCALE)
FULL = Extent(100_000, 60, 100_000, FULL_LOAD, FULL_SCALE)


def run(*, quick: bool, data: Path | None, console: Console) -> Sections:
    """Run the sections one after the other; rows of one's own have those on single cells."""
    extent = QUICK if quick else FULL
    origin = str(data) if data else "made up, and shared series where there are any"
    report = Sections(NAME, quick, origin)
    size = "quick: " if quick else ""
    report.about = f"{size}{extent.ticks:,} ticks a panel, {extent.scale.queries:,} queries"
    panels = _panels(report, extent, data, console)
    steps = Steps(console, 2 * len(panels) + 1)
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        with steps.shown():
            _single_cells(report, panels, steps)
            if data is None:
                _many_cells(report, extent, directory, steps, console)
            else:
                report.skipped.append("timer bound, load and scale, which make their own rows")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return report


def _panels(report: Sections, extent: Extent, data: Path | None, console: Console) -> list[Panel]:
    console.print("making and reading series ...", markup=False, highlight=False)
    if data is not None:
        if not data.is_dir():
            raise SourceFailure(
                f"no directory {str(data)!r}",
                "there are no series to read",
                "give a directory of parquet files with columns series, ts, value",
            )
        return list(measured(data, extent.ticks))
    panels = list(made(extent.ticks))
    if SHARED.is_dir():
        return [*panels, *measured(SHARED, extent.ticks)]
    report.skipped.append("measured series: there are none beside the source tree, give --data DIR")
    return panels


def _single_cells(report: Sections, panels: list[Panel], steps: Steps) -> None:
    """Fidelity, watch and silences."""
    cells: list[Cell] = []
    for panel in panels:
        with steps.step(f"fidelity, {panel.name}") as said:
            own = cells_of(panel)
            cells += own
            least = min(cell.spare("ours") for cell in own)
            said.append(f"{len(own)} cells, least spare {least:.4f}")
    report_fidelity(report, cells)
    checks: list[Check] = []
    for panel in panels:
        with steps.step(f"landmark, silence and learned gap, {panel.name}") as said:
            own_checks = [
                *landmark_checks(panel),
                *silence_checks(panel, declared=True),
                *silence_checks(panel, declared=False),
            ]
            checks += own_checks
            least = min(check.allowed for check in own_checks)
            said.append(f"{len(own_checks)} cells, least spare {least:.4f}")
    report_checks(report, checks)
    silent = _to_be_silent(panels)
    with steps.step(f"silences, {', '.join(panel.name for panel in silent) or 'none'}"):
        if silent:
            report_silences(report, silent)
        else:
            report.skipped.append(f"silences, which need {MEMBERS} series")


def _to_be_silent(panels: list[Panel]) -> list[Panel]:
    """The first panel that is made up and the best measured one, of nine series each."""
    whole = [panel for panel in panels if panel.values.shape[1] == MEMBERS]
    real = sorted(
        (panel for panel in whole if panel.real),
        key=lambda panel: not panel.name.startswith(PRICES),
    )
    return [panel for panel in whole if not panel.real][:1] + real[:1]


def _many_cells(
    report: Sections, extent: Extent, directory: Path, steps: Steps, console: Console
) -> None:
    """The bound of the timer, missed deadlines, and scale."""
    sections: dict[str, Callable[[], None]] = {
        "timer beside its bound": lambda: report_timer_bound(
            report, extent.walks, extent.walk_ticks
        ),
        "missed deadlines": lambda: report_load(report, extent.load),
    }
    steps.total += len(sections)
    for what, section in sections.items():
        with steps.step(what):
            section()
    report_scale(report, extent.scale, directory, steps, console)
