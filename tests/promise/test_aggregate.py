"""Aggregates: exact when there is time, else bars; the same after a restart; probes well spent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr
from streamgauge.promise.aggregate import Asked, PromisingAggregate
from streamgauge.promise.buckets import Bools, Floats, Ints, UInts64
from streamgauge.promise.interval import ROWS, TAKEN, Bar
from streamgauge.promise.promise import Promise
from streamgauge.promise.strata import Predicate, apportioned
from streamgauge.promise.summary import Summary

pytestmark = pytest.mark.slow

SUMMARY = Summary("prices", "sales", "price", 60_000_000, buckets=8)
PRICE = Expr("column", value="price")
COUNT = Expr("estimate", (PRICE,), "count")
KINDS = ("count", "sum", "avg", "quantile")


@dataclass
class Window:
    """Rows of some panes, with what is true of them."""

    column: Floats
    x: Floats
    match: Bools
    rank: UInts64
    panes: int

    @classmethod
    def random(cls, panes: int, rows: int, *, seed: int = 1) -> Window:
        rng = np.random.default_rng(seed)
        size = panes * rows
        column = rng.exponential(10.0, size)
        match = (column >= 5.0) & (rng.random(size) < 0.5)
        return cls(column, column.round(3), match, ranks(seed, size), panes)

    def run(
        self, query: PromisingAggregate, budget: int | None, *, restart: bool = False
    ) -> list[Bar]:
        """Bars of all panes so far, after each."""
        bars, rows = [], len(self.column) // self.panes
        for pane in range(self.panes):
            serial = np.arange(pane * rows, (pane + 1) * rows)
            x = None if query.asked.kind == "count" else self.x[serial]
            query.take(pane, serial, self.column[serial], x, self.rank[serial])
            if restart:
                query = again(query)
            used = query.step(pane, budget, self.test)
            assert budget is None or used <= budget
            if restart:
                query = again(query)
            bars.append(query.answer(0, pane))
        return bars

    def test(self, serials: Ints) -> Bools:
        assert (np.diff(serials) > 0).all()
        return self.match[serials]

    def truth(self, kind: str, phi: float = 0.5) -> float:
        items = self.x[self.match]
        if kind == "quantile":
            return float(np.sort(items)[max(1, math.ceil(phi * len(items))) - 1])
        found = {"count": len(items), "sum": items.sum(), "avg": items.mean()}
        return float(found[kind])


def ranks(seed: int, size: int) -> UInts64:
    return np.random.default_rng([seed, 7]).integers(0, 2**63, size).astype(np.uint64)


def again(query: PromisingAggregate) -> PromisingAggregate:
    arrays = query.to_arrays()
    return PromisingAggregate.from_arrays(query.asked, query.promise, query.summary, arrays)


def aggregate(
    kind: str,
    order: str = "weighted",
    exprs: tuple[Expr, ...] = (),
    *,
    predicate: Predicate | None = None,
    contract: Contract | None = None,
    panes: int = 1,
) -> PromisingAggregate:
    asked = Asked(
        kind,
        x="price",
        predicate=predicate or Predicate(),
        contract=contract or Contract.best(confidence=0.95),
        panes=panes,
    )
    return PromisingAggregate(asked, Promise(order, exprs), SUMMARY)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", [None, 500])
def test_without_overload_answers_are_exact(kind: str, budget: int | None) -> None:
    window = Window.random(3, 500)
    bar = window.run(aggregate(kind), budget)[-1]
    assert bar == pytest.approx((window.truth(kind),) * 3 + (1.0,))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["asc", "desc", "weighted"])
def test_bars_hold_and_a_restart_changes_nothing(kind: str, order: str) -> None:
    window = Window.random(4, 400)
    for exprs in ((), (Expr("*", (COUNT, PRICE)),)):
        runs = [window.run(aggregate(kind, order, exprs), 100, restart=r) for r in (False, True)]
        assert runs[0] == runs[1]
        bar = runs[0][-1]
        assert bar.low <= window.truth(kind) <= bar.high
        assert bar.low <= bar.value <= bar.high
        assert bar.share == pytest.approx(0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_spans_need_few_looks(kind: str) -> None:
    window = Window.random(3, 800)
    window.match = (window.column >= 5.0) & (window.column <= 20.0)
    predicate = Predicate(np.array([[5.0, 20.0]]), whole=True)
    sure = window.run(aggregate(kind, predicate=predicate), 100)[-1]
    blind = window.run(aggregate(kind), 100)[-1]
    truth = window.truth(kind)
    assert sure.low <= truth <= sure.high
    assert sure.share > 0.6 if kind != "quantile" else sure.share > 0.3
    assert sure.high - sure.low < 0.7 * (blind.high - blind.low)


@pytest.mark.parametrize("kind", ["count", "sum", "avg"])
def test_without_a_predicate_summaries_answer(kind: str) -> None:
    window = Window.random(2, 300)
    window.match[:] = True
    query = aggregate(kind, predicate=Predicate(None, whole=True))
    bar = window.run(query, 1)[-1]
    assert bar == pytest.approx((window.truth(kind),) * 3 + (1.0,))


def test_a_quantile_without_a_predicate_is_sampled_and_never_tested() -> None:
    window = Window.random(2, 300)
    window.match[:] = True
    query = aggregate("quantile", predicate=Predicate(None, whole=True))
    window.match = np.empty(0, np.bool_)
    bar = window.run(query, 100)[-1]
    window.match = np.ones(600, np.bool_)
    assert bar.low <= window.truth("quantile") <= bar.high
    assert bar.share == pytest.approx(1 / 3)


def test_what_is_left_goes_on_with_older_panes() -> None:
    window = Window.random(2, 400)
    query = aggregate("sum")
    window.run(query, 100)
    assert query.pending == 600
    assert query.step(5, 350, window.test) == 350
    # The newer pane comes first.
    assert [(pane.number, pane.left) for pane in query.panes] == [(0, 250)]
    assert query.floor() == 0
    assert query.step(6, None, window.test) == 250
    assert query.answer(0, 6) == pytest.approx((window.truth("sum"),) * 3 + (1.0,))
    assert query.floor() == 800


def test_rows_that_come_late_are_a_part_of_their_pane() -> None:
    window = Window.random(2, 400)
    query = aggregate("count")
    window.run(query, 100)
    late = np.arange(800, 803)
    window.match = np.concatenate([window.match, [True, False, True]])
    query.take(0, late, np.full(3, 7.0), None, ranks(5, 3))
    query = again(query)
    query.step(1, None, window.test)
    assert query.rows(0, 0) == 403
    assert query.answer(0, 1).value == window.match.sum()
    query.forget(1)
    assert query.rows(0, 5) == 400


@pytest.mark.parametrize("kind", KINDS)
def test_rows_tested_elsewhere_are_as_good(kind: str) -> None:
    window = Window.random(5, 40)
    window.x[::7] = np.nan
    one, two = aggregate(kind), aggregate(kind)
    for pane in range(5):
        at = np.arange(pane * 40, pane * 40 + 40)
        one.take(pane, at, window.column[at], window.x[at], window.rank[at])
        one.step(pane, 40, window.test)
    two.examined(np.arange(200) // 40, window.x, window.match)
    for first, last in ((0, 4), (1, 3), (4, 9), (7, 9)):
        assert two.answer(first, last) == pytest.approx(one.answer(first, last), nan_ok=True)
        assert two.rows(first, last) == one.rows(first, last)
    if kind != "quantile":
        assert all((two.to_arrays()[key] == one.to_arrays()[key]).all() for key in ("known",))


def test_missing_x_is_left_out() -> None:
    query = aggregate("sum")
    x = np.array([1.0, np.nan, 3.0])
    query.take(0, np.arange(3), x, x, ranks(1, 3))
    query.step(0, None, lambda serials: np.ones(len(serials), np.bool_))
    assert query.answer(0, 0) == (4.0, 4.0, 4.0, 1.0)
    assert query.rows(0, 0) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", [None, 60])
def test_infinite_x_is_no_value(kind: str, budget: int | None) -> None:
    window = Window.random(2, 200)
    window.x = np.concatenate([window.x, np.array([np.inf, -np.inf] * 30)])
    window.column = np.concatenate([window.column, np.full(60, 7.0)])
    window.match = np.concatenate([window.match, np.ones(60, np.bool_)])
    window.rank = ranks(2, len(window.x))
    order = np.random.default_rng(3).permutation(len(window.x))
    for name in ("x", "column", "match"):
        setattr(window, name, getattr(window, name)[order])
    query = aggregate(kind)
    for pane in range(2):
        serial = np.arange(pane * 230, pane * 230 + 230)
        query.take(pane, serial, window.column[serial], window.x[serial], window.rank[serial])
        query.step(pane, budget, window.test)
    bar = query.answer(0, 1)
    finite = window.match & np.isfinite(window.x)
    window.x, window.match = window.x[finite], window.match[finite]
    truth = window.truth(kind)
    assert query.rows(0, 1) == 400
    assert math.isfinite(bar.low)
    assert math.isfinite(bar.high)
    # A bar may fail one time in twenty; on these rows, which are fixed, none does.
    assert bar.low - 1e-9 <= truth <= bar.high + 1e-9


@pytest.mark.parametrize("order", ["asc", "desc", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_where_doubles_end_nothing_is_claimed(kind: str, order: str) -> None:
    window = Window.random(3, 100)
    window.x = np.where(np.arange(300) % 2 == 0, 1e308, -1e308)
    window.x[:100] = 1e308
    for budget in (30, 200):
        bar = window.run(aggregate(kind, order=order), budget)[-1]
        if kind in ("sum", "avg") and bar.share == 1.0:
            assert math.isnan(bar.value)
        elif kind == "sum":
            assert math.isnan(bar.value)
            assert (bar.low, bar.high) == (-math.inf, math.inf)
        else:
            assert bar.low <= bar.value <= bar.high


def test_whole_numbers_that_doubles_cannot_tell_apart_are_tested() -> None:
    """`column >= 2**53 + 1`, which as a double is 2**53."""
    whole = 2**53 + np.tile([0, 1], 200)
    query = PromisingAggregate(
        Asked("count", predicate=Predicate(np.array([[2.0**53, np.inf]]), whole=True)),
        Promise("desc", ()),
        SUMMARY,
    )
    query.take(0, np.arange(400), whole.astype(np.float64), None, ranks(1, 400))
    used = query.step(0, 100, lambda serials: whole[serials] > 2**53)
    bar = query.answer(0, 0)
    assert used == 100
    assert bar.low <= 200 <= bar.high < 400


@pytest.mark.parametrize(("kind", "value"), [("count", 0.0), ("sum", math.nan), ("avg", math.nan)])
def test_nothing_is_an_answer(kind: str, value: float) -> None:
    query = aggregate(kind)
    assert query.answer(0, 3).value == pytest.approx(value, nan_ok=True)
    query.take(0, np.arange(3), np.arange(3.0), np.arange(3.0), ranks(1, 3))
    query.step(0, None, lambda serials: np.zeros(len(serials), np.bool_))
    assert query.answer(0, 0).value == pytest.approx(value, nan_ok=True)


def test_words_make_strata_by_hash() -> None:
    rng = np.random.default_rng(2)
    names: UInts64 = rng.integers(0, 2**63, 20).astype(np.uint64) * np.uint64(2)
    words = names[rng.integers(0, 20, 500)]
    x = rng.uniform(0, 5, 500)
    match = words == names[3]
    query = aggregate("sum")
    query.take(0, np.arange(500), words, x, ranks(2, 500))
    assert query.step(0, 100, lambda serials: match[serials]) == 100
    bar = again(query).answer(0, 0)
    assert bar.low <= x[match].sum() <= bar.high


def test_looks_are_shared_by_preference() -> None:
    rng = np.random.default_rng(9)
    column = np.concatenate([np.full(800, 1.0), rng.uniform(90, 110, 200)])
    given = {}
    for order, exprs in (("weighted", (COUNT,)), ("desc", (Expr("*", (COUNT, PRICE)),))):
        query = aggregate("sum", order, exprs)
        query.take(0, np.arange(1000), column, column, ranks(3, 1000))
        query.step(0, 100, lambda serials: serials % 2 == 0)
        lines = query.panes[0].lines
        cheap = lines[:, 6] < 50
        given[order] = lines[cheap, TAKEN].sum()
        assert (lines[lines[:, ROWS] > 0, TAKEN] >= 1).all()
    assert given["weighted"] == pytest.approx(80, abs=3)
    assert given["desc"] == pytest.approx(100 * 800 / (800 + 200 * 100), abs=5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_width_that_is_kept_stops_the_work(kind: str) -> None:
    window = Window.random(4, 2000)
    contract = Contract.absolute({"count": 1200.0, "sum": 60_000.0}.get(kind, 5.0), confidence=0.9)
    if kind == "quantile":
        contract = Contract.rank(0.2, confidence=0.9)
    query = aggregate(kind, contract=contract, panes=4)
    bar = window.run(query, 1500)[-1]
    looked = sum(float(pane.lines[:, TAKEN].sum()) for pane in query.panes[1:])
    assert looked < 0.9 * 3 * 1500
    assert bar.low <= window.truth(kind) <= bar.high
    if contract.tolerance == "absolute":
        assert max(bar.high - bar.value, bar.value - bar.low) <= contract.within * 1.05


def test_certainty_is_what_ranges_allow() -> None:
    assert Asked("sum", contract=Contract.exact()).delta == pytest.approx(0.05)
    window = Window.random(1, 400)
    window.x[:] = np.tile([0.0, 1.0], 200)
    query = aggregate("sum", contract=Contract.absolute(1.0))
    bar = window.run(query, 100)[-1]
    seen = sum(pane.lines[:, 3].sum() + pane.lines[:, 5] @ pane.lines[:, 2] for pane in query.panes)
    assert (bar.low, bar.high) == pytest.approx((seen, seen + 300))


@pytest.mark.parametrize(("kind", "most"), [("sum", 0.6), ("avg", 0.85)])
def test_a_skewed_stream_is_told_better_than_by_random_dropping(kind: str, most: float) -> None:
    rows, budget = 2000, 100
    rng = np.random.default_rng(12)
    column = rng.lognormal(0.0, 1.0, rows)
    match = rng.random(rows) < 0.6
    truth = column[match].sum() if kind == "sum" else column[match].mean()
    order, exprs = ("desc", (Expr("*", (COUNT, PRICE)),)) if kind == "sum" else ("weighted", ())
    errors, dropping = [], []
    for seed in range(400):
        query = aggregate(kind, order, exprs)
        query.take(0, np.arange(rows), column, column, ranks(seed, rows))
        query.step(0, budget, match.__getitem__)
        errors.append(query.answer(0, 0).value - truth)
        kept = rng.permutation(rows)[:budget]
        hits = column[kept][match[kept]]
        guess = hits.sum() * rows / budget if kind == "sum" else hits.mean()
        dropping.append(guess - truth)
    assert np.square(errors).mean() < most * np.square(dropping).mean()


def test_shares_are_whole_and_fit() -> None:
    room = np.array([5, 0, 50, 50])
    shares = apportioned(np.array([100.0, 9.0, 1.0, 0.0]), room, 60)
    assert shares.tolist() == [5, 0, 50, 5]
    assert apportioned(np.zeros(4), room, 1000).tolist() == room.tolist()
    thirds = apportioned(np.ones(3), np.full(3, 10), 10)
    assert thirds.tolist() == [4, 3, 3]


def test_other_aggregates_are_refused() -> None:
    with pytest.raises(BindError, match="count, sum, avg or quantile"):
        Asked("max")
