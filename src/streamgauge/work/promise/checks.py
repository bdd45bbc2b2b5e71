"""Checks of an aggregate whose rows were all looked at: many windows in one compiled call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import empty_answers, give_bars

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def window_values(numbers: Ints, panes: Floats, edges: Ints, kind: str) -> Floats:
    """Value of a count, a sum or a mean in each of some windows; not a number without rows.

    Parameters
    ----------
    numbers
        Numbers of the panes, ascending.
    panes
        For each pane the rows that match, and their sum.
    edges
        First and last pane of each window.
    kind
        count, sum or avg.

    Examples
    --------
    >>> panes = np.array([[2.0, 10.0], [1.0, 3.0]])
    >>> window_values(np.array([4, 6]), panes, np.array([[3, 5], [4, 6], [7, 8]]), "avg")
    array([5.        , 4.33333333,        nan])
    """
    start = np.searchsorted(numbers, edges[:, 0])
    stop = np.searchsorted(numbers, edges[:, 1], side="right")
    totals = np.zeros((len(edges), 2))
    _add_up(np.ascontiguousarray(panes), start, stop, totals)
    if kind == "count":
        return np.ascontiguousarray(totals[:, 0])
    total = np.where(totals[:, 0] > 0.0, totals[:, 1], np.nan)
    return total / np.maximum(1.0, totals[:, 0]) if kind == "avg" else total


@compiled
def _add_up(panes: Floats, start: Ints, stop: Ints, totals: Floats) -> None:
    """Sums over stretches of panes, each by itself and compensated, so that cuts do not show."""
    for window in range(len(start)):
        for column in range(2):
            total, lost = 0.0, 0.0
            for pane in range(start[window], stop[window]):
                more = panes[pane, column]
                both = total + more
                lost += (total - both) + more if abs(total) >= abs(more) else (more - both) + total
                total = both
            totals[window, column] = total + lost


def give_exact(
    memory: Floats,
    query: int,
    cadence: tuple[int, float],
    ticks: Ints,
    epoch: int,
    values: Floats,
    counts: Ints,
    coverage: Floats,
) -> Floats:
    """Answers that are owed at some checks for values without a bar."""
    bars = np.stack((values, values, values, *np.zeros((4, len(values)))), axis=1)
    out, n_out = _give(
        memory, empty_answers(), np.int64(query), np.int64(cadence[0]), float(cadence[1]), ticks,
        np.int64(epoch), bars, counts, coverage,
    )  # fmt: skip
    given: Floats = out[:n_out]
    return given


@compiled
def _give(memory, out, query, cadence, by, ticks, epoch, bars, counts, coverage):  # type: ignore[no-untyped-def]
    n_out = np.int64(0)
    for i in range(len(ticks)):
        out, n_out = give_bars(
            memory, out, n_out, query, cadence, by, ticks[i], epoch, bars[i : i + 1],
            counts[i : i + 1], coverage[i], False,
        )  # fmt: skip
    return out, n_out


def reached(edges: Ints, span: int, vouched: int) -> Floats:
    """Share of each window that lies after an instant.

    Examples
    --------
    >>> reached(np.array([10, 20, 40]), 20, 10)
    array([0. , 0.5, 1. ])
    """
    share: Floats = np.clip((edges - float(vouched)) / span, 0.0, 1.0)
    return share
