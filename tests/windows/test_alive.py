"""When rows enter and leave windows, against the definition of what a window holds at a tick."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.errors import UnsupportedWindow
from streamgauge.windows.alive import NEVER, alive, needed
from streamgauge.windows.window import Decay, Landmark, Now, Partition, Rows, Window

pytestmark = pytest.mark.slow

TICK = 10
TICKS = range(-60, 160, TICK)
few = settings(max_examples=50)

Row = tuple[int, int, int]  # time, effective time, key


@st.composite
def streams(draw: st.DrawFn, late: bool = True) -> list[Row]:
    """Rows in the order in which they take effect; some turned up late."""
    times = draw(st.lists(st.integers(-45, 95), max_size=14))
    arrived = []
    peak = -(10**9)
    for ts in times if late else sorted(times):
        arrived.append((ts, max(ts, peak), draw(st.integers(0, 2))))
        peak = max(peak, ts)
    return sorted(arrived, key=lambda row: row[1])


def windows() -> st.SearchStrategy[Window]:
    micros = st.sampled_from([10, 20, 30, 50])
    return st.one_of(
        st.just(Now()),
        st.builds(lambda length, slide: Window("range", length, slide), micros, st.none() | micros),
        st.builds(Landmark, st.sampled_from([-20, 0, 13])),
        st.builds(Rows, st.integers(1, 4)),
        st.builds(lambda n: Partition("key", n), st.integers(1, 3)),
        st.builds(
            lambda gap, by: Window("session", gap, by=by), micros, st.sampled_from([(), ("key",)])
        ),
    )


def up(instant: int, step: int) -> int:
    return -(-instant // step) * step


def content(window: Window, rows: list[Row], at: int) -> set[int]:
    """Numbers of the rows a window holds at a tick, as the semantics say."""
    effective = [i for i, (_, eff, _) in enumerate(rows) if up(eff, TICK) <= at]
    ts = [row[0] for row in rows]
    if window.kind == "now":
        return {i for i in effective if at - TICK < ts[i] <= at}
    if window.kind == "range":
        end = at // (window.slide or TICK) * (window.slide or TICK)
        return {i for i in effective if end - window.length < ts[i] <= end}
    if window.kind == "landmark":
        return {i for i in effective if window.start <= ts[i] <= at}
    by_key = defaultdict(list)
    for i in sorted(effective, key=lambda i: (ts[i], i)):
        by_key[rows[i][2] if window.by else 0].append(i)
    if window.kind in ("rows", "partition"):
        return {i for items in by_key.values() for i in items[-window.rows :]}
    return {i for items in by_key.values() for i in run(items, ts, window.length, at)}


def run(items: list[int], ts: list[int], gap: int, at: int) -> list[int]:
    """The run at the end, unless it is over."""
    start = len(items) - 1
    while start > 0 and ts[items[start]] - ts[items[start - 1]] < gap:
        start -= 1
    return items[start:] if at < up(ts[items[-1]] + gap, TICK) else []


def arrays(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def keys_of(rows: list[Row], which: list[int]) -> np.ndarray:
    return np.array([rows[i][2] for i in which], np.int64)


def held(window: Window, rows: list[Row], at: int) -> set[int]:
    ts, eff, keys = arrays(rows)
    enter, leave = alive(window, TICK, ts, eff, keys)
    assert not (enter % TICK).any()
    assert not (leave[leave < NEVER] % TICK).any()
    return set(np.flatnonzero((enter <= at) & (at < leave)).tolist())


@few
@given(windows().filter(lambda window: window.kind != "session"), streams())
def test_rows_are_alive_while_the_window_holds_them(window: Window, rows: list[Row]) -> None:
    for at in TICKS:
        assert held(window, rows, at) == content(window, rows, at)


@few
@given(windows(), streams(late=False))
def test_rows_on_time(window: Window, rows: list[Row]) -> None:
    for at in TICKS:
        assert held(window, rows, at) == content(window, rows, at)


@few
@given(windows(), streams(late=False))
def test_rows_to_come_change_nothing_before_them(window: Window, rows: list[Row]) -> None:
    for at in TICKS:
        known = [row for row in rows if up(row[1], TICK) <= at]
        assert held(window, known, at) == content(window, rows, at)


@few
@given(windows(), streams(late=False), st.sampled_from(TICKS))
def test_rows_let_go_are_not_missed(window: Window, rows: list[Row], now: int) -> None:
    ts, eff, keys = arrays(rows)
    kept = np.flatnonzero(needed(window, TICK, ts, eff, now, keys))
    rest = [rows[i] for i in kept]
    for at in (at for at in TICKS if at > now):
        assert {int(kept[i]) for i in held(window, rest, at)} == content(window, rows, at)


@few
@given(windows(), streams(), st.lists(st.sampled_from(TICKS), max_size=3))
def test_pages_do_not_matter(window: Window, rows: list[Row], cuts: list[int]) -> None:
    """Rows are asked for page by page, and let go in between, late ones or not."""
    kept: list[int] = []
    edges = [-1000, *sorted(cuts), 1000]
    for low, high in pairwise(edges):
        kept += [i for i, row in enumerate(rows) if low < up(row[1], TICK) <= high]
        for at in (at for at in TICKS if low < at <= high):
            found = {kept[i] for i in held(window, [rows[i] for i in kept], at)}
            assert found == held(window, rows, at)
        which = needed(
            window, TICK, *arrays([rows[i] for i in kept])[:2], high, keys_of(rows, kept)
        )
        kept = [i for i, keep in zip(kept, which, strict=True) if keep]


def test_a_late_row_joins_a_run_that_goes_on_and_wakes_none() -> None:
    rows = [(10, 10, 0), (50, 50, 0), (45, 50, 0), (29, 50, 0)]
    ts, eff, _ = arrays(rows)
    enter, leave = alive(Window("session", 20), TICK, ts, eff)
    assert leave.tolist() == [30, 70, 70, 70]
    assert enter.tolist() == [10, 50, 50, 50]
    older = [(10, 10, 0), (50, 50, 0), (12, 50, 0)]
    enter, leave = alive(Window("session", 20), TICK, *arrays(older)[:2])
    assert (enter < leave).tolist() == [True, True, False]


def test_a_row_that_turns_up_late_among_newer_ones_is_never_in() -> None:
    rows = [(1, 1, 0), (12, 12, 0), (3, 12, 0)]
    enter, leave = alive(Rows(1), TICK, *arrays(rows)[:2])
    assert (enter >= leave).tolist() == [False, False, True]
    assert leave.tolist()[0] == 20


def test_a_decay_holds_no_rows() -> None:
    with pytest.raises(UnsupportedWindow, match="weighs rows and holds none"):
        alive(Decay("1 s"), TICK, *arrays([(1, 1, 0)])[:2])


def test_a_range_shorter_than_its_slide_skips_rows() -> None:
    ts = np.array([5, 38])
    enter, leave = alive(Window("range", 10, 40), TICK, ts, ts)
    assert (enter < leave).tolist() == [False, True]
