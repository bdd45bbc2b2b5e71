"""Workload `promise`: queries that cannot do everything, and do what matters most.

Joins, selections and aggregates under budgets of probes, beside the plain operators under the same
budgets; what a preference costs when there is no overload; what summaries cost and bring. Tables
have the cells where the plain way is the better one too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from bench.deferral_report import Sections, SectionsAlone
from bench.harness import Steps
from bench.promise_aggregates import aggregates
from bench.promise_data import Stores, given, made_up, recorded
from bench.promise_joins import faithful, freshest, most_output, outliers
from bench.promise_plain import no_overload
from bench.promise_runs import Case, warm
from bench.promise_selections import selections
from bench.promise_structures import structures
from bench.promise_sweep import sweep

NAME = "promise"


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes.

    Parameters
    ----------
    rows, whole_rows
        Of each store; and where nothing ever leaves.
    sets
        Data sets whose selections and aggregates are measured.
    selections, ticks
        Selections over a store, and ticks they run for.
    sweep, sweep_ticks
        Numbers of selections that are swept, and ticks of a hundred rows.
    crowd_rows, fast_rows
        Where many come in a tick: of the store that is swept, and of each that is joined.
    plain_rows, repetitions
        Of each store through the whole engine, and how often.
    """

    rows: int
    whole_rows: int
    sets: int
    selections: int
    ticks: int
    sweep: tuple[int, ...]
    sweep_ticks: int
    crowd_rows: int
    fast_rows: int
    plain_rows: int
    repetitions: int


QUICK = Extent(3_000, 1_500, 1, 10, 24, (20, 100), 6, 41_000, 8_000, 120_000, 9)
FULL = Extent(
    12_000, 5_000, 4, 100, 36, (20, 50, 80, 100, 150, 200), 24, 201_000, 30_000, 120_000, 9
)


def run(*, quick: bool, data: Path | None, console: Console) -> Sections:
    """Run the sections one after the other; rows of one's own have those that need no engine."""
    extent = QUICK if quick else FULL
    report = SectionsAlone(NAME, quick, str(data) if data else "made up, and recorded if any")
    if data is not None:
        stores = [given(data, extent.rows)]
    else:
        stores = made_up(extent.rows)
        stores += [] if quick else list(recorded(extent.rows, report.skipped))
    report.about = f"{'quick: ' if quick else ''}{extent.rows:,} rows of each of two stores"
    wrong = _measured(report, stores, extent, console, whole=data is None)
    report.right = wrong == 0
    report.checked = (
        f"every output row checked: {wrong} that the exact answer has not, or not so often"
    )
    return report


def _measured(
    report: Sections, stores: Sequence[Stores], extent: Extent, console: Console, *, whole: bool
) -> int:
    warm()
    cases = [Case.of(one) for one in stores]
    n = extent.whole_rows
    few = [one for one in stores if one.skewed][: extent.sets] or list(stores[:1])
    short = [
        replace(one, sides=(one.sides[0].first(n), one.sides[1].first(n)))
        for one in stores
        if one.skewed
    ]
    sections: dict[str, Callable[[], int]] = {
        "joins, most output": lambda: most_output(report, cases),
        "joins, whole stream": lambda: freshest(report, short, 10),
        "joins, a faithful sample": lambda: faithful(report, cases),
        "joins, outliers": lambda: outliers(report, cases),
        "selections": lambda: selections(report, few, extent.selections, extent.ticks),
        "more and more selections": lambda: sweep(
            report, extent.sweep, extent.sweep_ticks, extent.crowd_rows
        ),
        "aggregates": lambda: aggregates(report, few, extent.selections, extent.ticks),
        "structures": lambda: structures(report, few[:1], extent.fast_rows),
    }
    if whole:
        sections["no overload"] = lambda: no_overload(report, extent.plain_rows, extent.repetitions)
    wrong = 0
    steps = Steps(console, len(sections))
    with steps.shown():
        for what, section in sections.items():
            with steps.step(what):
                wrong += section()
    return wrong
