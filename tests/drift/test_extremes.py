"""Extremes against the plain maximum of a list, and where their entries lie."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.checks.trials import ALPHA
from streamgauge.drift.extremes import (
    LANDMARK,
    Extremes,
    fresh,
    pack,
    phi1,
    push,
    run,
    take,
    top,
    unpack,
)

pytestmark = pytest.mark.slow

Floats = npt.NDArray[np.float64]
Rows = list[tuple[int, float]]

# Few distinct numbers, so that ties are common; both zeros and what is no number.
SOME = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, math.inf, math.nan])
VALUES = st.one_of(SOME, st.floats(-100.0, 100.0))
WINDOWS = st.one_of(st.integers(1, 12), st.integers(20, 200), st.just(LANDMARK))


@st.composite
def rows(draw: st.DrawFn, most: int = 60) -> Rows:
    """Values at ticks that rise, with gaps."""
    values = draw(st.lists(VALUES, min_size=1, max_size=most))
    gaps = draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    first = draw(st.integers(-50, 50))
    return list(zip((first + np.cumsum(gaps)).tolist(), values, strict=True))


def naive(seen: Rows, now: int, window: int) -> float:
    """The maximum of what is in the window; of equals the newest."""
    best = math.nan
    for tick, value in seen:
        if now - window < tick <= now and (value >= best or math.isnan(best)):
            best = value
    return best


def columns(block: Rows) -> tuple[npt.NDArray[np.int64], Floats]:
    return (
        np.array([tick for tick, _ in block], np.int64),
        np.array([value for _, value in block], np.float64),
    )


def given_to(extremes: Extremes, cell: int, block: Rows, window: int) -> tuple[Extremes, Floats]:
    out = np.full(len(block), -777.0)
    return run(extremes, cell, *columns(block), window, out), out


def entries(extremes: Extremes, cell: int) -> Rows:
    packed = pack(take(extremes, np.array([cell])))
    return list(zip(packed.tick.tolist(), packed.value.tolist(), strict=True))


def validate(extremes: Extremes) -> None:
    """Pieces lie apart below the end, entries rise in tick and fall in value."""
    pieces = sorted(zip(extremes.start, extremes.room, extremes.length, strict=True))
    edge = 0
    for start, room, length in pieces:
        assert 0 <= length <= room
        assert room & (room - 1) == 0, "a ring whose room is no power of two"
        assert start >= edge or room == 0
        edge = max(edge, start + room)
    assert edge <= extremes.end[0] <= len(extremes.tick) == len(extremes.value)
    assert 2 * extremes.room.sum() >= extremes.end[0], "more than half of the pool is waste"
    for cell in range(len(extremes.length)):
        held = entries(extremes, cell)
        assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(held)), held


def same(one: Extremes, other: Extremes) -> bool:
    """Whether packed bytes agree."""
    return all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(pack(one), pack(other), strict=True)
    )


def same_bits(one: Floats, other: list[float]) -> bool:
    return one.tobytes() == np.array(other).tobytes()


@given(rows(), WINDOWS)
def test_maxima_are_those_of_the_rows_in_the_window(given_rows: Rows, window: int) -> None:
    extremes, out = given_to(fresh(1), 0, given_rows, window)
    expected = [naive(given_rows[: i + 1], tick, window) for i, (tick, _) in enumerate(given_rows)]
    assert same_bits(out, expected)
    validate(extremes)


@given(rows(), WINDOWS, st.lists(st.integers(1, 20), max_size=10))
def test_cuts_into_blocks_do_not_show(given_rows: Rows, window: int, cuts: list[int]) -> None:
    whole, expected = given_to(fresh(1), 0, given_rows, window)
    extremes, parts, place = fresh(1), [np.empty(0)], 0
    for size in [*cuts, len(given_rows)]:
        extremes, out = given_to(extremes, 0, given_rows[place : place + size], window)
        parts.append(out)
        place += size
    assert np.concatenate(parts).tobytes() == expected.tobytes()
    assert same(extremes, whole)


@given(rows(), WINDOWS)
def test_a_block_is_a_push_and_a_top_for_each_tick(given_rows: Rows, window: int) -> None:
    whole, expected = given_to(fresh(1), 0, given_rows, window)
    extremes, found = fresh(1), []
    for tick, value in given_rows:
        extremes = push(extremes, 0, tick, value, window)
        found.append(top(extremes, 0, tick, window))
    assert same_bits(expected, found)
    assert same(extremes, whole)
    validate(extremes)


@given(rows(), WINDOWS, st.integers(0, 250))
def test_the_top_later_is_what_is_still_in_the_window(
    given_rows: Rows, window: int, later: int
) -> None:
    extremes, _ = given_to(fresh(1), 0, given_rows, window)
    now = given_rows[-1][0] + later
    assert same_bits(np.array([top(extremes, 0, now, window)]), [naive(given_rows, now, window)])
    assert all(tick > now - window for tick, _ in entries(extremes, 0))


@given(st.data())
def test_many_cells_come_go_and_are_packed(data: st.DataObject) -> None:
    """Blocks to cells in turn, each with its window, among packing and taking of cells."""
    extremes, known = fresh(0), dict[int, tuple[int, Rows]]()
    names: list[int] = []
    for step in range(data.draw(st.integers(1, 12))):
        action = data.draw(st.sampled_from(["take", "pack", "run", "run", "run"]))
        if action == "take" or not names:
            kept = [name for name in names if data.draw(st.booleans())]
            order = data.draw(st.permutations([*kept, -1 - step]))
            cells = [names.index(name) if name in names else -1 for name in order]
            extremes, names = take(extremes, np.array(cells, np.int64)), order
            known[-1 - step] = (data.draw(WINDOWS), [])
        elif action == "pack":
            extremes = unpack(*pack(extremes))
        else:
            cell = data.draw(st.integers(0, len(names) - 1))
            window, before = known[names[cell]]
            shift = before[-1][0] + 60 if before else 0
            block = [(tick + shift, value) for tick, value in data.draw(rows(most=30))]
            extremes, out = given_to(extremes, cell, block, window)
            before += block
            assert same_bits(out, [naive(before, tick, window) for tick, _ in block])
        validate(extremes)


def phi1_by_hand(seen: Rows, now: int, window: int, eps: float) -> int:
    """Move the trailing edge tick by tick until what is left is low enough."""
    maximum = naive(seen, now, window)
    if math.isnan(maximum) or window == LANDMARK:
        return window
    last = max(tick for tick, value in seen if value == maximum)
    for ticks in range(last + window - now, window):
        left = naive([row for row in seen if row[0] <= now], now + ticks, window)
        if math.isnan(left):
            break
        if left <= maximum - eps:
            return ticks
    return window


@given(rows(), WINDOWS, st.integers(0, 40), st.sampled_from([0.0, 0.5, 1.0, 3.0, 40.0, 250.0]))
def test_phi1_is_when_the_trailing_edge_has_passed_all_high_values(
    given_rows: Rows, window: int, later: int, eps: float
) -> None:
    extremes, _ = given_to(fresh(1), 0, given_rows, window)
    now = given_rows[-1][0] + later
    assert phi1(extremes, 0, now, window, eps) == phi1_by_hand(given_rows, now, window, eps)


def test_phi1_worked_out() -> None:
    given_rows = [(1, 9.0), (4, 8.0), (6, 3.0), (8, 2.0)]
    extremes, _ = given_to(fresh(2), 0, given_rows, 10)
    assert phi1(extremes, 0, 8, 10, 0.5) == 3, "9 leaves at 11, and 8 is low enough"
    assert phi1(extremes, 0, 8, 10, 1.0) == 3, "just as low as the bound is low enough"
    assert phi1(extremes, 0, 8, 10, 0.0) == 3, "the maximum itself has to leave"
    assert phi1(extremes, 0, 8, 10, 2.0) == 6, "8 leaves at 14, and 3 is low enough"
    assert phi1(extremes, 0, 8, 10, 6.5) == 8, "3 leaves at 16, and 2 is low enough"
    assert phi1(extremes, 0, 8, 10, 7.5) == 10, "the newest stays above the bound"
    assert phi1(extremes, 1, 8, 10, 0.5) == 10, "nothing can leave"


def test_falling_values_are_all_kept_for_a_window() -> None:
    ticks = np.arange(5000)
    extremes, out = fresh(3), np.empty(5000)
    for cell in range(3):
        extremes = run(extremes, cell, ticks, -ticks.astype(float), 700, out)
        assert (out == np.minimum(0, 699 - ticks)).all()
    assert (extremes.length == 700).all()
    validate(extremes)


def test_the_pool_grows_and_every_cell_keeps_its_entries() -> None:
    """Sizes from nothing to thousands, interleaved, so that rings wrap when they move."""
    n, window = 40, 3000
    rng = np.random.default_rng(7)
    extremes, given_rows = fresh(n), [Rows() for _ in range(n)]
    pools = {id(extremes.tick)}
    for block in range(12):
        for cell in rng.permutation(n).tolist():
            ticks = block * 400 + np.sort(rng.choice(400, 4 * cell + 1, replace=False))
            values = rng.normal(size=len(ticks)) - 0.1 * cell * np.arange(len(ticks))
            rows_of_block = list(zip(ticks.tolist(), values.tolist(), strict=True))
            extremes, _ = given_to(extremes, cell, rows_of_block, window)
            given_rows[cell] += rows_of_block
            pools.add(id(extremes.tick))
        validate(extremes)
    assert len(pools) > 3
    for cell in range(n):
        last = given_rows[cell][-1][0]
        alive = [row for row in given_rows[cell] if row[0] > last - window]
        assert entries(extremes, cell) == [
            row for i, row in enumerate(alive) if all(row[1] > new for _, new in alive[i + 1 :])
        ]


def test_a_cell_that_was_long_gives_its_room_back_when_moved() -> None:
    ticks = np.arange(4000)
    extremes = run(fresh(1), 0, ticks, -ticks.astype(float), 4000, np.empty(4000))
    assert extremes.room[0] == 4096
    extremes = push(extremes, 0, 4000, 1.0, 4000)
    moved = take(extremes, np.array([0]))
    assert moved.room[0] == 8
    assert len(moved.tick) < 32
    assert same(moved, extremes)


def test_of_equals_the_newest_is_kept() -> None:
    extremes, out = given_to(fresh(2), 0, [(1, 5.0), (2, 5.0), (3, 4.0), (4, 4.0)], 10)
    assert out.tolist() == [5.0, 5.0, 5.0, 5.0]
    assert entries(extremes, 0) == [(2, 5.0), (4, 4.0)]
    extremes = push(extremes, 0, 6, 5.0, 10)
    assert entries(extremes, 0) == [(6, 5.0)]


def test_a_landmark_keeps_one_entry() -> None:
    rng = np.random.default_rng(5)
    values = np.cumsum(rng.normal(size=1000))
    extremes, out = fresh(1), np.empty(1000)
    extremes = run(extremes, 0, np.arange(1000), values, LANDMARK, out)
    assert (out == np.maximum.accumulate(values)).all()
    assert entries(extremes, 0) == [(int(values.argmax()), float(values.max()))]
    assert extremes.room[0] == 1
    assert top(extremes, 0, 2**61, LANDMARK) == values.max()


def test_no_number_lets_time_pass() -> None:
    extremes, out = given_to(fresh(1), 0, [(1, math.nan), (2, 3.0), (5, math.nan)], 3)
    assert same_bits(out, [math.nan, 3.0, math.nan])
    assert entries(extremes, 0) == []


def test_an_empty_block_changes_nothing() -> None:
    extremes = push(fresh(1), 0, 1, 2.0, 5)
    after, out = given_to(extremes, 0, [], 5)
    assert len(out) == 0
    assert same(after, extremes)


def test_a_store_without_cells_is_packed_and_taken() -> None:
    assert len(pack(fresh(0)).length) == 0
    assert len(unpack(*pack(fresh(0))).length) == 0
    assert take(fresh(0), np.array([-1, -1])).length.tolist() == [0, 0]


def test_taken_cells_share_nothing() -> None:
    extremes = push(fresh(1), 0, 1, 2.0, 5)
    twice = take(extremes, np.array([0, 0]))
    twice = push(twice, 0, 2, 7.0, 5)
    assert (top(twice, 0, 2, 5), top(twice, 1, 2, 5), top(extremes, 0, 2, 5)) == (7.0, 2.0, 2.0)


def test_packed_arrays_can_be_read_only() -> None:
    packed = pack(push(fresh(2), 1, 1, 2.0, 5))
    for array in packed:
        array.flags.writeable = False
    extremes = push(unpack(*packed), 1, 2, 1.0, 5)
    assert entries(extremes, 1) == [(1, 2.0), (2, 1.0)]


def test_lengths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(AssertionError, match="disagree"):
        unpack(np.array([2]), np.array([1]), np.array([1.0]))


def test_a_random_walk_is_held_in_less_than_a_kibibyte() -> None:
    """Entries of a walk are its records seen from now: 2 sqrt(w / pi) of w on average.

    The mean over independent walks may be off by what chance alone exceeds once in a million.
    """
    n, window = 2000, 1800
    rng = np.random.default_rng(11)
    extremes, out, ticks = fresh(n), np.empty(window), np.arange(window)
    for cell in range(n):
        walk = np.cumsum(rng.normal(size=window))
        extremes = run(extremes, cell, ticks, walk, window, out)
    error = extremes.length.std(ddof=1) / math.sqrt(n)
    expected = 2 * math.sqrt(window / math.pi)
    assert abs(extremes.length.mean() - expected) <= stats.norm.isf(ALPHA / 2) * error
    assert sum(array.nbytes for array in pack(extremes)) < 1024 * n
