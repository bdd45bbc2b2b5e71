"""How much of the windows of a view is kept: rows older than what a stream keeps are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from streamgauge.engine.progress import StreamRun
from streamgauge.engine.row_answers import RowsGiven
from streamgauge.engine.store import Store
from streamgauge.operators.codes import row_codes
from streamgauge.plan.keeping import scan_of
from streamgauge.plan.nodes import Node, Windowed
from streamgauge.plan.view import View
from streamgauge.windows.window import BEGINNING

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Step(Protocol):
    """A step of a plan, which knows when rows enter and leave a window."""

    def lifetimes(self, node: Windowed, since: int, *, used: bool) -> tuple[Store, Ints, Ints]:
        """Rows, and the instants at which each enters and leaves."""


def windows_of(plan: Node) -> list[Windowed]:
    """The windows of a plan, each once."""
    return list(dict.fromkeys(node for node in plan.walk() if isinstance(node, Windowed)))


def coverage_at(
    view: View, whole: Mapping[str, int], first: int, at: Ints, step: Step | None = None
) -> Floats:
    """Share of the windows of a view from which no row is missing, at some instants; the least.

    `whole` has for each stream the instant after which no row is missing, `first` is the one before
    the first row. A view FROM NOW asks for no earlier rows; only ranges have to fill up. Windows of
    rows are looked at in a step.
    """
    found = np.ones(len(at))
    for node in windows_of(view.plan):
        name, window = scan_of(node).stream, node.window
        since = whole.get(name, BEGINNING)
        if since == BEGINNING or not len(at):
            continue
        if window.kind in ("range", "session"):
            end = at // window.slide * window.slide if window.slide else at
            found = np.minimum(found, np.clip((end - since) / window.length, 0.0, 1.0))
        elif not view.history:
            continue
        elif window.kind == "landmark" and window.start <= since:
            start = max(window.start, first)
            found = np.minimum(found, np.clip((at - since) / np.maximum(at - start, 1), 0.0, 1.0))
        elif window.kind in ("rows", "partition") and step is not None:
            found = np.minimum(found, _filled(step, node, at))
    return found


def _filled(step: Step, node: Windowed, at: Ints) -> Floats:
    """Share of the rows that a window of rows is to hold that it holds, over the keys it has."""
    part, enter, leave = step.lifetimes(node, BEGINNING, used=True)
    lives = enter < leave
    if not lives.any():
        return np.zeros(len(at))
    part, enter, leave = part.take(lives), enter[lives], leave[lives]
    keys = np.zeros(len(part), np.int64)
    if node.window.by:
        keys = row_codes([part.rows.select(list(node.window.by))])[0]
    times, who = np.concatenate((enter, leave)), np.concatenate((keys, keys))
    sign = np.repeat([1, -1], len(part))
    order = np.lexsort((-sign, times, who))
    times, who, sign = times[order], who[order], sign[order]
    # Rows that a key holds after each event: of all keys, less what those before it came to.
    held = np.cumsum(sign)
    begins = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
    base = np.repeat(np.append(0, held[begins[1:] - 1]), np.diff(np.append(begins, len(who))))
    held -= base
    there = (held > 0).astype(np.int64)
    change = np.diff(there, prepend=0)
    change[begins] = there[begins]
    by_time = np.argsort(times, kind="stable")
    place = np.searchsorted(times[by_time], at, side="right")
    rows = np.append(0, np.cumsum(sign[by_time]))[place]
    known = np.append(0, np.cumsum(change[by_time]))[place]
    full = rows / np.maximum(known * node.window.rows, 1)
    return np.where(known > 0, np.minimum(full, 1.0), 0.0)


def with_coverage(
    given: RowsGiven | None, whole: dict[str, int], runs: Mapping[str, StreamRun]
) -> RowsGiven | None:
    """The same with the share of the windows that is kept; not met where that is not all."""
    if given is None:
        return None
    read = [runs[name] for name in given.standing.view.streams]
    first = min((run.state.first - 1) * run.stream.tick for run in read)
    coverage = coverage_at(given.standing.view, whole, first, given.delta.at)
    return replace(given, met=given.met & (coverage == 1.0), coverage=coverage)
