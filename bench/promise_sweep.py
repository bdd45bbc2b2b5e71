"""More and more selections for the same processor time: from how many on ours gives more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.deferral_report import Sections, percent
from bench.promise_data import Stores, zipf
from bench.promise_fed import Fed
from bench.promise_selections import Selected, promising, shared, simple

# So many selections have all the time they need; of more, rows are lost.
FILLED = 50
# Hundreds of rows in a tick where many come.
CROWD = 200


@dataclass(frozen=True, slots=True)
class Form:
    """What selections are like: rows of a tick in hundreds, and whether a test is dear."""

    key: str
    title: str
    crowd: int
    dear: bool
    parts: tuple[float, ...]


FORMS = (
    Form("", "a hundred rows a tick, ranges", 1, False, (0.02, 0.1)),
    Form("_crowd", "20,000 rows a tick, ranges", CROWD, False, (0.001, 0.02, 0.1)),
    Form("_dear", "20,000 rows a tick, regular expressions", CROWD, True, (0.001, 0.02, 0.1, 0.4)),
)


def sweep(report: Sections, counts: Sequence[int], ticks: int, crowd_rows: int) -> int:
    """Output for equal processor time as selections become more; where ours is more."""
    wrong = 0
    crowd = zipf(crowd_rows, items=200, power=1.0)
    for form in FORMS:
        few = form.crowd > 1
        wrong += _swept(
            report,
            crowd,
            form,
            counts[:: max(1, len(counts) // 3)] if few else counts,
            max(1, crowd_rows // (100 * CROWD)) if few else ticks,
        )
    return wrong


def _swept(report: Sections, stores: Stores, form: Form, counts: Sequence[int], ticks: int) -> int:
    def fed_to(queries: int) -> Fed:
        return Fed.of(stores, queries, ticks, crowd=form.crowd, dear=form.dear)

    half = fed_to(FILLED)
    filled = _quickest(lambda: simple(half, None)).cpu
    rows, wrong, crossing = [], 0, None
    for queries in counts:
        fed = fed_to(queries)
        each = len(fed.item) / fed.ticks
        plain, index = _whole(fed)
        curve = [promising(fed, max(1, round(part * each))) for part in form.parts]
        wrong += plain.wrong + sum(one.wrong for one in curve)
        got, usual = _bought(filled, curve), min(1.0, filled / plain.cpu)
        if crossing is None and got > usual:
            crossing = queries
        shown = ["", ""] if index is None else [
            percent(min(1.0, filled / index.cpu)), f"{1e3 * index.cpu:.1f}",
        ]  # fmt: skip
        rows.append([
            str(queries), percent(got), percent(usual), shown[0],
            f"{1e3 * curve[0].cpu:.0f}", f"{1e3 * plain.cpu:.1f}", shown[1],
        ])  # fmt: skip
        report.cells.append({
            "section": "sweep", "form": form.title, "selections": queries,
            "share": [got, usual], "cpu_ms": [1e3 * curve[0].cpu, 1e3 * plain.cpu],
        })  # fmt: skip
    report.table(
        f"selections in the time of {FILLED} simple ones, {form.title}: output in %",
        ["selections", "ours", "simple", "shared index", "least ms", "simple ms", "index ms"],
        rows,
    )
    report.figures[f"selection_crossing{form.key}"] = (
        crossing,
        f"selections from which ours gives more, {form.title}; the paper has 80",
    )
    tests = len(half.item) * FILLED
    report.figures[f"selection_test{form.key}"] = (1e9 * filled / tests, "ns a simple test")
    return wrong


def _whole(fed: Fed) -> tuple[Selected, Selected | None]:
    """All rows for all selections: one by one, and by the shared index where it has them."""
    plain = _quickest(lambda: simple(fed, None))
    return plain, None if fed.text is not None else _quickest(lambda: shared(fed))


def _quickest(run: Callable[[], Selected]) -> Selected:
    """The quicker of two runs that find the same."""
    return min((run() for _ in range(2)), key=lambda found: found.cpu)


def _bought(seconds: float, curve: Sequence[Selected]) -> float:
    """Output share that so much processor time buys, between measured budgets.

    Below the least of them work is left out tick by tick, so that output falls with it.
    """
    cpu = np.array([0.0, *(one.cpu for one in curve)])
    shares = np.array([0.0, *(one.share for one in curve)])
    order = np.argsort(cpu)
    return float(np.interp(seconds, cpu[order], np.maximum.accumulate(shares[order])))
