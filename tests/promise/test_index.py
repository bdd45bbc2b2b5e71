"""The index of window rows: what is met, and what is let go."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.promise.index import ENTER, LEAVE, MINE, SERIAL, SIDE, Rows, WindowIndex

pytestmark = pytest.mark.slow


def rows(n: int, seed: int, *, keys: int = 6, length: int = 9, sides: int = 2) -> Rows:
    rng = np.random.default_rng(seed)
    facts = np.zeros((5, n), np.int64)
    facts[SIDE] = rng.integers(0, sides, n)
    facts[ENTER] = np.sort(rng.integers(0, 40, n))
    order = np.lexsort((facts[SIDE], facts[ENTER]))
    facts = facts[:, order]
    facts[LEAVE] = facts[ENTER] + rng.integers(0, length, n)
    facts[MINE] = rng.random(n) < 0.9
    for side in range(sides):
        own = facts[SIDE] == side
        facts[SERIAL, own] = np.arange(np.count_nonzero(own))
    return Rows(rng.integers(0, keys, n).astype(np.uint64), facts)


def met(given: Rows, row: int, first: int, last: int, now: int) -> set[tuple[int, int]]:
    """Pairs of a row with those of the other side between two positions, one by one."""
    facts, found = given.facts, set()
    for other in range(first, min(last, row)):
        same = given.key[other] == given.key[row] and facts[SIDE, other] != facts[SIDE, row]
        here = facts[ENTER, other] < facts[LEAVE, other] and facts[LEAVE, other] > now
        if same and here and facts[MINE, other] and facts[MINE, row]:
            pair = sorted((int(facts[SIDE, at]), int(facts[SERIAL, at])) for at in (row, other))
            found.add((pair[0][1], pair[1][1]))
    return found


@pytest.mark.parametrize("keys", [1, 6, 500])
def test_rows_look_up_any_span_of_those_before_them(keys: int) -> None:
    given = rows(400, 1, keys=keys)
    # Whether a key is somebody's does not change from row to row.
    given.facts[MINE] = given.key % np.uint64(5) != 3
    index = WindowIndex(2)
    index.append(given)
    rng = np.random.default_rng(2)
    for now in (10, 20, 39):
        here = int(np.searchsorted(given.facts[ENTER], now, side="right"))
        index.chain(here)
        index.settle(now)
        asked = rng.integers(0, here, 30)
        spans = np.sort(rng.integers(0, here, (2, 30)), axis=0)
        spans[1] = np.minimum(spans[1], asked)
        real = given.facts[LEAVE, asked] > given.facts[ENTER, asked]
        asked, spans = asked[real], spans[:, real]
        for row, span in zip(asked, spans.T, strict=True):
            other = np.array([1 - given.facts[SIDE, row]])
            found = index.probe(np.array([row]), span[:, None], other, now)
            pairs = {(int(a), int(b)) for a, b in found[:, :2]}
            assert pairs == met(given, int(row), int(span[0]), int(span[1]), now)
            assert len(pairs) == len(found)


def test_rows_that_left_are_let_go_and_nothing_else_changes() -> None:
    given = rows(3000, 3, keys=40)
    given.facts[MINE] = 1
    whole, cut = WindowIndex(2), WindowIndex(2)
    whole.append(given)
    expected = whole.join(3000)
    found = []
    for now in range(40):
        here = given.facts[ENTER] == now
        cut.append(given.some(here))
        found.append(cut.join(cut.size))
        cut, kept = cut.compacted(now)
        assert cut.size == len(kept)
        assert (cut.rows.facts[LEAVE] > now).all()
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert cut.nbytes < whole.nbytes


def test_the_oldest_row_in_a_window_is_known_for_each_side() -> None:
    facts = np.array([[1, 1, 2, 3], [3, 9, 4, 9], [0, 1, 0, 0], [0, 0, 1, 2], [1, 1, 1, 1]])
    index = WindowIndex(2)
    index.append(Rows(np.arange(4, dtype=np.uint64), facts))
    steps = ((1, 2, [0, 1]), (2, 3, [0, 1]), (3, 4, [2, 1]), (4, 4, [3, 1]), (9, 4, [4, 4]))
    for now, stop, floors in steps:
        index.chain(stop)
        index.settle(now)
        assert index.floors.tolist() == floors
    assert index.position(np.array([0, 1, 2, 7])).tolist() == [0, 2, 3, 4]
