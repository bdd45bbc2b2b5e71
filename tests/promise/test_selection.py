"""Selections: nothing twice, nothing untrue, the promising first, the same after a restart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from streamgauge.operators.expression import Expr
from streamgauge.promise.buckets import Bools, Floats, Ints, UInts64
from streamgauge.promise.costs import Allowance
from streamgauge.promise.figures import EXACT, GUIDED, RAW
from streamgauge.promise.promise import Promise
from streamgauge.promise.selection import PromisingSelection
from streamgauge.promise.summary import Summary

pytestmark = pytest.mark.slow

SECOND = 1_000_000
SUMMARY = Summary("prices", "sales", "price", 8 * SECOND, buckets=8)
SPANS = np.array([[20.0, 30.0]])


@dataclass
class Stream:
    """Rows tick by tick, with a predicate that counts what is asked of it."""

    columns: list[Floats]
    match: Bools
    asked: list[int] = field(default_factory=list)

    @classmethod
    def random(cls, ticks: int, rows: int, *, extra: float = 1.0, seed: int = 1) -> Stream:
        """Uniform prices; a match lies in the span, and a share `extra` of those does match."""
        rng = np.random.default_rng(seed)
        columns = [rng.uniform(0.0, 100.0, rows) for _ in range(ticks)]
        every = np.concatenate(columns)
        inside = (every >= 20.0) & (every <= 30.0)
        return cls(columns, inside & (rng.random(len(every)) < extra))

    def test(self, serials: Ints) -> Bools:
        assert (np.diff(serials) > 0).all()
        self.asked += serials.tolist()
        return self.match[serials]

    def run(
        self, query: PromisingSelection, allowance: Allowance, *, restart: bool = False
    ) -> list[tuple[list[int], float, float, int, int]]:
        """What is found at each tick."""
        told, serial = [], 0
        for number, column in enumerate(self.columns, start=1):
            at = number * SECOND
            query.take(at, np.arange(serial, serial + len(column)), column)
            serial += len(column)
            found = query.step(at, allowance, self.test)
            told.append((found.serials.tolist(), *found[1:]))
            if restart:
                query = PromisingSelection.from_arrays(
                    query.promise,
                    query.summary,
                    query.to_arrays(),
                    tick=query.tick,
                    spans=query.spans,
                    whole=query.whole,
                    window=query.window,
                )
        return told


def selection(
    order: str = "desc",
    *,
    spans: Floats | None = SPANS,
    whole: bool = False,
    window: int | None = None,
    exprs: tuple[Expr, ...] = (),
    fade: float = 1.0,
) -> PromisingSelection:
    promise = Promise(order, exprs, fade)
    return PromisingSelection(
        promise, SUMMARY, tick=SECOND, spans=spans, whole=whole, window=window
    )


def total(told: list[tuple[list[int], float, float, int, int]]) -> list[int]:
    return [serial for tick in told for serial in tick[0]]


@pytest.mark.parametrize("order", ["desc", "asc", "weighted"])
@pytest.mark.parametrize("budget", [1, 7, 30, 200])
def test_each_row_is_tested_once_within_the_budget_and_found_rows_are_true(
    order: str, budget: int
) -> None:
    stream = Stream.random(40, 100, extra=0.7)
    query = selection(order)
    told = stream.run(query, Allowance(budget))
    assert len(set(stream.asked)) == len(stream.asked)
    assert all(tick[3] <= budget for tick in told)
    assert sum(tick[3] for tick in told) == len(stream.asked)
    found = total(told)
    assert len(set(found)) == len(found)
    assert stream.match[found].all()
    assert sorted(found) == sorted(row for row in stream.asked if stream.match[row])


@pytest.mark.parametrize("allowance", [Allowance(), Allowance(100)])
def test_without_overload_all_is_found_at_once(allowance: Allowance) -> None:
    stream = Stream.random(20, 100, extra=0.5)
    query = selection()
    told = stream.run(query, allowance)
    assert sorted(total(told)) == np.flatnonzero(stream.match).tolist()
    assert all(tick[1:3] == (1.0, 0.0) and tick[4] == EXACT for tick in told)
    assert query.pending == 0
    assert query.floor() == 2000


@pytest.mark.parametrize("order", ["desc", "asc", "weighted"])
@pytest.mark.parametrize("window", [None, 3 * SECOND, 20 * SECOND])
def test_a_restart_between_any_two_ticks_changes_nothing(order: str, window: int | None) -> None:
    stream = Stream.random(30, 60, extra=0.6)
    runs = []
    for restart in (False, True):
        query = selection(order, window=window, fade=0.9)
        runs.append(stream.run(query, Allowance(9), restart=restart))
    assert runs[0] == runs[1]


def test_a_restart_between_ticks_of_many_rounds_changes_nothing() -> None:
    stream = Stream.random(6, 2000)
    runs = [
        stream.run(selection(spans=None), Allowance(300), restart=restart)
        for restart in (False, True)
    ]
    assert runs[0] == runs[1]


def test_ranges_that_cannot_match_cost_nothing() -> None:
    stream = Stream.random(30, 200)
    told = stream.run(selection(whole=True), Allowance(60))
    # A bucket is an eighth of the values; the span meets two or three of them.
    assert len(stream.asked) < 0.4 * 30 * 200
    assert sorted(total(told)) == np.flatnonzero(stream.match).tolist()
    assert told[-1][1] == 1.0


def test_desc_finds_more_than_rows_as_they_come() -> None:
    stream = Stream.random(60, 200, extra=0.8)
    found = len(total(stream.run(selection(), Allowance(20))))
    expected_at_random = stream.match.mean() * 20 * 60
    assert found > 3 * expected_at_random


def test_hits_are_learned_where_the_predicate_is_of_another_column() -> None:
    stream = Stream.random(80, 200, extra=0.9)
    found = len(total(stream.run(selection(spans=None), Allowance(20))))
    assert found > 2 * stream.match.mean() * 20 * 80


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_a_predicate_that_says_nothing_of_the_column_finds_no_less_than_rows_as_they_come(
    share: float,
) -> None:
    rng = np.random.default_rng(1)
    weight = 1.0 / np.arange(1.0, 201.0)
    items = rng.permutation(200)[rng.choice(200, 12_000, p=weight / weight.sum())].astype(float)
    columns, budget = np.split(items, 3), int(share * 4000)
    for low in range(0, 200, 25):
        stream = Stream(columns, (items >= low) & (items < low + 15))
        found = len(total(stream.run(selection(spans=None), Allowance(budget))))
        first = np.concatenate([np.arange(budget) + start for start in (0, 4000, 8000)])
        assert found > 1.5 * int(stream.match[first].sum())
        assert len(stream.asked) == 3 * budget


def test_where_nothing_is_known_buckets_are_tried_evenly() -> None:
    stream = Stream.random(1, 800)
    for budget in (8, 20):
        stream.asked.clear()
        stream.run(selection(spans=None), Allowance(budget))
        cuts = np.quantile(stream.columns[0], np.arange(1, 8) / 8)
        tested = np.bincount(np.searchsorted(cuts, stream.columns[0][stream.asked]), minlength=8)
        assert tested.min() >= budget // 8 - 1
        assert tested.max() <= budget // 8 + 2


@pytest.mark.parametrize("order", ["desc", "asc"])
def test_older_zones_fade(order: str) -> None:
    """By worth alone the older zone comes first; a fade below 2/3 outweighs that."""
    price = Expr("column", value="price")
    worth = Expr("*", (Expr("estimate", (price,), "count"), price))
    old, new = (90.0, 60.0) if order == "desc" else (60.0, 90.0)
    columns = [np.full(40, old), np.full(40, new)]
    older = []
    for fade in (1.0, 0.7, 0.6):
        stream = Stream(columns, np.ones(80, np.bool_))
        query = selection(order, spans=None, exprs=(worth,), fade=fade)
        query.take(SECOND, np.arange(40), columns[0])
        query.step(SECOND, Allowance(0), stream.test)
        query.take(2 * SECOND, np.arange(40, 80), columns[1])
        query.step(2 * SECOND, Allowance(3), stream.test)
        older.append(max(stream.asked) < 40)
    assert older == [True, True, False]


def test_weighted_shares_fade_with_the_zone() -> None:
    columns = [np.full(400, 10.0), np.full(400, 90.0)]
    for fade, expected in ((1.0, 50), (0.25, 20)):
        stream = Stream(columns, np.ones(800, np.bool_))
        query = selection("weighted", spans=None, fade=fade)
        query.buckets.renew(0, np.linspace(0.0, 100.0, 100))
        query.take(SECOND, np.arange(400), columns[0])
        query.step(SECOND, Allowance(0), stream.test)
        query.take(2 * SECOND, np.arange(400, 800), columns[1])
        query.step(2 * SECOND, Allowance(100), stream.test)
        assert sum(row < 400 for row in stream.asked) == pytest.approx(expected, abs=1)


def test_whole_numbers_that_doubles_cannot_tell_apart_are_tested() -> None:
    """As a double, the first whole number above 2**53 is 2**53."""
    whole = 2**53 + np.repeat([-8, -4, 0, 1], 20)
    match = whole > 2**53
    column = whole.astype(np.float64)
    spans = np.array([[np.nextafter(2.0**53, np.inf), np.inf]])
    query = selection(spans=spans, whole=True)
    query.take(SECOND, np.arange(80), column)
    found = query.step(SECOND, Allowance(79), lambda serials: match[serials])
    assert found.serials.tolist() == np.flatnonzero(match).tolist()


def test_what_is_infinite_is_tested() -> None:
    column = np.array([1.0, np.inf, 25.0, -np.inf, np.nan] * 10)
    asked: list[int] = []

    def test(serials: Ints) -> Bools:
        asked.extend(serials.tolist())
        found: Bools = column[serials] == 25.0
        return found

    query = selection(whole=True)
    query.take(SECOND, np.arange(50), column)
    found = query.step(SECOND, Allowance(45), test)
    assert found.serials.tolist() == np.flatnonzero(column == 25.0).tolist()
    assert sorted(asked) == np.flatnonzero(column != 1.0).tolist()


def test_asc_goes_to_where_little_is_expected_but_something() -> None:
    rng = np.random.default_rng(3)
    column = np.concatenate([rng.uniform(0, 10, 150), rng.uniform(50, 60, 50)])
    match = np.concatenate([np.ones(150, np.bool_), rng.random(50) < 0.2])
    tested = {}
    for order in ("asc", "desc"):
        stream = Stream([column] * 30, np.tile(match, 30))
        stream.run(selection(order, spans=None), Allowance(30))
        late = np.array(stream.asked[-600:]) % 200
        tested[order] = float((late >= 150).mean())
    assert tested["asc"] > 0.6
    assert tested["desc"] < 0.2


def test_weighted_tests_buckets_in_the_ratio_of_their_rows() -> None:
    rng = np.random.default_rng(4)
    columns = [rng.exponential(10.0, 160) for _ in range(40)]
    every = np.concatenate(columns)
    stream = Stream(columns, np.ones(len(every), np.bool_))
    stream.run(selection("weighted", spans=None), Allowance(16))
    cuts = np.quantile(every, np.arange(1, 8) / 8)
    tested = np.bincount(np.searchsorted(cuts, every[stream.asked]), minlength=8)
    assert tested.min() > 0.8 * len(stream.asked) / 8
    assert tested.max() < 1.2 * len(stream.asked) / 8


def test_what_leaves_untested_is_given_up_and_counted() -> None:
    stream = Stream.random(40, 100)
    query = selection(spans=None)
    told = stream.run(query, Allowance(10))
    assert query.given_up + query.pending + len(stream.asked) == 4000
    # Nine zones of a second at most are in the newest granularity.
    assert query.pending <= 9 * 100
    assert query.floor() >= 4000 - 900
    assert told[-1][1] == pytest.approx(0.1, abs=0.02)
    assert all(0.0 < tick[2] <= query.pending for tick in told)


def test_the_matches_among_rows_not_tested_are_estimated() -> None:
    stream = Stream.random(150, 100)
    query, told, missed = selection(), [], []
    for number, column in enumerate(stream.columns, start=1):
        query.take(number * SECOND, np.arange(number * 100 - 100, number * 100), column)
        told.append(query.step(number * SECOND, Allowance(8), stream.test).unseen)
        zones = query.cells.zones
        left = [part for zone in zones for chunks in zone.chunks for _, part in chunks]
        missed.append(sum(int(stream.match[part].sum()) for part in left))
    assert np.mean(told) == pytest.approx(np.mean(missed), rel=0.2)


def test_what_was_given_up_of_rows_that_stay_is_lacking_for_ever() -> None:
    stream = Stream.random(40, 100)
    ends = []
    for stays in (False, True):
        query = PromisingSelection(
            Promise("desc", ()), SUMMARY, tick=SECOND, spans=SPANS, stays=stays
        )
        told = stream.run(query, Allowance(8))
        found = sum(len(tick[0]) for tick in told)
        again = PromisingSelection.from_arrays(
            query.promise, SUMMARY, query.to_arrays(), tick=SECOND, spans=SPANS, stays=stays
        )
        assert again.status(40 * SECOND) == query.status(40 * SECOND)
        ends.append((told[-1][2], int(stream.match.sum()) - found))
    (forgotten, _), (unseen, truth) = ends
    assert forgotten < 0.5 * truth
    assert 0.6 * truth < unseen < 1.6 * truth


def test_rows_that_left_the_window_are_not_tested() -> None:
    stream = Stream.random(20, 100)
    serial, query = 0, selection(spans=None, window=2 * SECOND)
    for number, column in enumerate(stream.columns, start=1):
        query.take(number * SECOND, np.arange(serial, serial + 100), column)
        serial += 100
        before = len(stream.asked)
        query.step(number * SECOND, Allowance(50), stream.test)
        assert all(row >= serial - 200 for row in stream.asked[before:])
    assert query.pending <= 200


def test_leftovers_are_taken_up_when_there_is_time() -> None:
    stream = Stream.random(1, 300, extra=0.5)
    query = selection(spans=None)
    query.take(SECOND, np.arange(300), stream.columns[0])
    found = []
    for number in range(1, 5):
        step = query.step(number * SECOND, Allowance(100), stream.test)
        found += step.serials.tolist()
    assert sorted(found) == np.flatnonzero(stream.match).tolist()
    assert (step.share, step.unseen, step.probes, query.pending) == (1.0, 0.0, 0, 0)


def test_rows_seen_elsewhere_count_in_the_share() -> None:
    stream = Stream.random(1, 100)
    query = selection(spans=None)
    query.seen(SECOND, 100)
    query.take(2 * SECOND, np.arange(100), stream.columns[0])
    found = query.step(2 * SECOND, Allowance(50), stream.test)
    assert found.share == pytest.approx(0.75)
    assert query.status(2 * SECOND) == found[1:3]


def test_words_are_sought_where_their_hash_lies() -> None:
    rng = np.random.default_rng(6)
    names: UInts64 = rng.integers(0, 2**63, 50).astype(np.uint64) * np.uint64(2)
    stream_words = names[rng.integers(0, 50, 400)]
    promise = Promise("desc", ())
    query = PromisingSelection(promise, SUMMARY, tick=SECOND, words=names[:1], whole=True)
    query.take(SECOND, np.arange(400), stream_words)
    match = stream_words == names[0]
    found = query.step(SECOND, Allowance(120), lambda serials: match[serials])
    assert found.serials.tolist() == np.flatnonzero(match).tolist()
    assert found.share == 1.0


def test_the_preference_may_weigh_values() -> None:
    price = Expr("column", value="price")
    count = Expr("estimate", (price,), "count")
    stream = Stream.random(20, 100)
    stream.match[:] = True
    query = selection(spans=None, exprs=(Expr("*", (count, price)),))
    stream.run(query, Allowance(10))
    assert np.concatenate(stream.columns)[stream.asked[100:]].mean() > 80


def test_summarising_that_eats_the_budget_is_left_alone() -> None:
    stream = Stream.random(30, 200)
    query = selection()
    told = stream.run(query, Allowance(50, insert=1.0, raw=0.5))
    assert {tick[4] for tick in told} == {RAW}
    assert all(tick[3] == 100 for tick in told)
    assert query.given_up == 3000
    assert query.pending == 0
    assert told[-1][1] == 0.5


def test_matches_among_rows_given_up_untested_are_told_as_unseen() -> None:
    """Nothing is learned of rows as they come, so half of those given up are expected to match."""
    stream = Stream.random(3, 200)
    told = stream.run(selection(), Allowance(50, insert=1.0, raw=0.5))
    assert [tick[1:3] for tick in told] == [(0.5, 50.0), (0.5, 100.0), (0.5, 150.0)]


def test_inserting_is_paid_for() -> None:
    stream = Stream.random(30, 200)
    told = stream.run(selection(spans=None), Allowance(50, insert=0.1, raw=1.0))
    assert {tick[4] for tick in told} == {GUIDED}
    assert all(tick[3] == 30 for tick in told)
