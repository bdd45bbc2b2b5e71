"""Streams as the reference for rows sees them: windows over elements, and the regular grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from streamgauge.kernel.time import Duration, Instant
from streamgauge.plan.nodes import Resampled
from streamgauge.windows.window import Window
from tests.oracles.expressions import Moment


@dataclass(frozen=True, slots=True)
class Element:
    """A row of a stream: the instant of its effect, its time, its place in the order of arrival."""

    at: Instant
    ts: Instant
    order: int
    cells: dict[str, Any]

    def with_cells(self, cells: dict[str, Any]) -> Element:
        """The same element with other columns."""
        return replace(self, cells=cells)


def content(
    window: Window, tick: Duration, elements: Sequence[Element], at: Instant
) -> Sequence[Element]:
    """The elements that a window holds at a tick, of those that have taken effect."""
    if window.kind == "now":
        return [item for item in elements if at - tick < item.ts <= at]
    if window.kind == "range":
        slide = window.slide or tick
        end = at // slide * slide
        return [item for item in elements if end - window.length < item.ts <= end]
    if window.kind == "landmark":
        return [item for item in elements if window.unbounded or window.start <= item.ts]
    in_time = sorted(elements, key=lambda item: (item.ts, item.order))
    if window.kind == "rows":
        return in_time[-window.rows :]
    by_key = _by_key(in_time, window.by).values()
    if window.kind == "partition":
        return [item for items in by_key for item in items[-window.rows :]]
    assert window.kind == "session", f"no rows in a window of kind {window.kind!r}"
    return [item for items in by_key for item in _session(items, window.length, tick, at)]


def _by_key(elements: Iterable[Element], by: tuple[str, ...]) -> dict[Any, list[Element]]:
    keyed: dict[Any, list[Element]] = {}
    for item in elements:
        keyed.setdefault(tuple(item.cells[name] for name in by), []).append(item)
    return keyed


def _session(items: list[Element], gap: Duration, tick: Duration, at: Instant) -> list[Element]:
    """The run that goes on: cut where neighbours are a gap apart, over a gap after its last."""
    cuts = [i for i, (one, other) in enumerate(pairwise(items), 1) if other.ts - one.ts >= gap]
    run = items[cuts[-1] if cuts else 0 :]
    return run if at < ceiling(run[-1].ts + gap, tick) else []


def regular(
    node: Resampled, elements: Sequence[Element], time: str, tick: Duration, upto: Instant
) -> Iterator[Element]:
    """A stream on the grid: what is known of each point at the tick at which it is first known.

    A row without a value in the column is passed over. At equal points, keys are in their order.
    """
    valued = [item for item in elements if item.cells[node.column] is not None]
    keyed = _by_key(valued, node.by)
    ranked = sorted(keyed, key=lambda key: [(cell is None, cell) for cell in key])
    for order, key in enumerate(ranked):
        items = keyed[key]
        first = ceiling(min(item.ts for item in items), node.period)
        for point in range(first, upto + 1, node.period):
            known = _known(node, items, point, tick, upto)
            if known is not None:
                at, value = known
                cells = dict(
                    zip((*node.by, time, node.column), (*key, Moment(point), value), strict=True)
                )
                yield Element(at, point, order, cells)


def _known(
    node: Resampled, items: Sequence[Element], point: Instant, tick: Duration, upto: Instant
) -> tuple[Instant, Any] | None:
    """The first tick, at or after a point of the grid, at which it has a value, and that value."""
    since = ceiling(point, tick)
    for at in sorted({since, *(item.at for item in items if item.at > since)}):
        if at > upto:
            return None
        seen = sorted((item for item in items if item.at <= at), key=lambda i: (i.ts, i.order))
        value = _filled(node, seen, point)
        if value is not None:
            return at, value
    return None


def _filled(node: Resampled, seen: Sequence[Element], point: Instant) -> Any:
    """The value at a point, from rows in the order of time; None while it is not known."""
    before = [item for item in seen if item.ts <= point]
    after = [item for item in seen if item.ts > point]
    if not before:
        return None
    left = before[-1].cells[node.column]
    if node.method == "last":
        return left
    assert node.method == "linear", f"no way to fill named {node.method!r}"
    if not after:
        return None
    share = (point - before[-1].ts) / (after[0].ts - before[-1].ts)
    return float(left + (after[0].cells[node.column] - left) * share)


def ceiling(instant: Instant, width: Duration) -> Instant:
    """The first whole multiple of a width at or after an instant."""
    return -(-instant // width) * width
