"""Costs: prices, what they buy, and shares of a capacity."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.operators.aggregate import avg
from streamgauge.plan.allowances import allowances, kind_of, tick_of
from streamgauge.plan.nodes import Join, Scan
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.view import View
from streamgauge.promise.costs import UNLIMITED, Allowance, Costs, Prices, Spent
from streamgauge.promise.figures import EXACT, GUIDED, RAW, Figures
from streamgauge.promise.promise import Promise
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

pytestmark = pytest.mark.slow

SCHEMA = Schema.of(item="string", ts="time", price="float")
SECOND = 1_000_000


def _promise(*, probes: int | None = None, cpu: float | None = None, sides: int = 1) -> Promise:
    summaries = tuple((f"s{side}", "items") for side in range(sides))
    return Promise("desc", (), probes=probes, cpu=cpu, summaries=summaries)


def _registry(*queries: Query | View, capacities: dict[str, int | None]) -> Registry:
    registry = Registry()
    for name, capacity in capacities.items():
        registry.streams[name] = Stream(name, SCHEMA, "ts", ("item",), (), capacity=capacity)
    for number, query in enumerate(queries):
        registry.queries[query.name] = Standing(number, query)
    return registry


def _mean(name: str, stream: str, promise: Promise | None) -> Query:
    return Query(name, stream, avg("price"), promise=promise)


class TestPrices:
    def test_a_budget_of_cores_buys_more_where_probes_are_cheaper(self) -> None:
        promise = _promise(cpu=0.5)
        bought = [Allowance.of(promise, Prices(hit=ns), SECOND).probes for ns in (250, 500, 1000)]
        assert bought == [2_000_000, 1_000_000, 500_000]

    def test_the_tighter_of_two_budgets_holds(self) -> None:
        both = _promise(cpu=0.5, probes=1000)
        assert Allowance.of(both, Prices(hit=500), SECOND).probes == 1000
        assert Allowance.of(both, Prices(hit=1e6), SECOND).probes == 500

    def test_probes_are_counted_alike_whatever_they_cost(self) -> None:
        assert Allowance.of(_promise(probes=7), Prices(1, 2, 3), SECOND) == Allowance(7)

    def test_they_are_read_back_from_json(self) -> None:
        costs = Costs(selection=Prices(1.0, 2.0, 3.0))
        assert Costs(**costs.as_dict()) == costs
        assert Costs(**costs.as_dict()).of("selection").hit == 2.0

    def test_the_registry_keeps_them(self) -> None:
        registry = Registry()
        new = Costs(join=Prices(1.0, 2.0, 3.0))
        assert registry.apply([{"do": "costs", "costs": new.as_dict()}], epoch=1) == []
        assert Registry.from_dict(registry.as_dict()).costs == new


class TestShares:
    @pytest.mark.parametrize(("capacity", "turns"), [(10, 3), (2, 5), (7, 7), (100, 1)])
    def test_at_every_tick_shares_add_up_to_the_capacity(self, capacity: int, turns: int) -> None:
        shares = [Allowance.shared(capacity, turns=turns, turn=turn) for turn in range(turns)]
        for number in (-3, 0, 1, 2, 12345):
            assert sum(share.at(number) or 0 for share in shares) == capacity

    def test_over_a_round_all_have_the_same(self) -> None:
        totals = [
            sum(Allowance.shared(11, turns=4, turn=turn).at(number) or 0 for number in range(4))
            for turn in range(4)
        ]
        assert totals == [11] * 4

    def test_many_ticks_at_once_are_the_ticks_one_by_one(self) -> None:
        share = Allowance.shared(11, turns=4, turn=2)
        numbers = np.arange(-9, 9)
        assert share.over(numbers).tolist() == [share.at(number) for number in numbers.tolist()]
        assert Allowance().over(numbers).tolist() == [UNLIMITED] * 18

    def test_queries_without_a_budget_share_what_the_stream_states(self) -> None:
        registry = _registry(
            _mean("own", "sales", _promise(probes=5)),
            _mean("one", "sales", _promise()),
            _mean("plain", "sales", None),
            _mean("two", "sales", _promise()),
            capacities={"sales": 101},
        )
        found = allowances(registry)
        assert sorted(found) == ["one", "own", "two"]
        assert found["own"] == Allowance(5)
        assert [found[name].at(0) for name in ("one", "two")] == [51, 50]
        assert [found[name].at(1) for name in ("one", "two")] == [50, 51]

    def test_a_join_has_the_tightest_of_its_shares(self) -> None:
        plan = Join((Scan("a", SCHEMA), Scan("b", SCHEMA)), ("a", "b"))
        registry = _registry(
            View("pairs", plan, promise=_promise(sides=2)),
            _mean("one", "a", _promise()),
            capacities={"a": 100, "b": 60},
        )
        assert allowances(registry)["pairs"].at(0) == 50

    def test_without_a_capacity_there_is_no_limit(self) -> None:
        registry = _registry(_mean("one", "sales", _promise()), capacities={"sales": None})
        assert allowances(registry)["one"] == Allowance()
        assert allowances(registry)["one"].at(3) is None

    def test_each_kind_pays_its_own_price(self) -> None:
        plan = Join((Scan("a", SCHEMA), Scan("b", SCHEMA)), ("a", "b"))
        registry = _registry(
            View("pairs", plan, promise=_promise(sides=2, cpu=1.0)),
            View("some", Scan("a", SCHEMA), promise=_promise(cpu=1.0)),
            _mean("one", "a", _promise(cpu=1.0)),
            capacities={"a": None, "b": None},
        )
        prices = {"join": 1000.0, "selection": 500.0, "aggregate": 250.0}
        registry.costs = Costs(**{kind: Prices(hit=ns) for kind, ns in prices.items()})
        asked = registry.queries.values()
        assert [kind_of(standing.asked) for standing in asked] == ["join", "selection", "aggregate"]
        assert {tick_of(registry, standing) for standing in asked} == {SECOND}
        bought = [found.probes for found in allowances(registry).values()]
        assert bought == [1_000_000, 2_000_000, 4_000_000]


class TestSpent:
    def test_each_block_is_added_to_its_part(self) -> None:
        times = iter([0, 5, 5, 12, 20, 21, 30, 39])
        spent = Spent(lambda: next(times))
        with spent.inserting(2):
            pass
        with spent.probing(3):
            pass
        with spent.probing_raw(4):
            pass
        with spent.giving():
            pass
        assert spent.take() == {
            "insert_ns": 5, "inserted": 2, "hit_ns": 7, "hits": 3, "raw_ns": 1, "raws": 4,
            "give_ns": 9, "insert_blocks": 1, "hit_blocks": 1, "raw_blocks": 1,
        }  # fmt: skip
        assert set(spent.take().values()) == {0}

    def test_time_counts_though_the_block_fails(self) -> None:
        times = iter([0, 5])
        spent = Spent(lambda: next(times))
        with pytest.raises(KeyError), spent.inserting(1):
            raise KeyError
        assert spent.insert_ns == 5

    def test_without_a_clock_nothing_is_measured(self) -> None:
        spent = Spent()
        with spent.probing(3):
            pass
        assert (spent.hit_ns, spent.hits) == (0, 3)


class TestFigures:
    def test_many_ticks_at_once_are_the_ticks_one_by_one(self) -> None:
        share, mode = np.array([1.0, 0.7, 0.3]), np.array([EXACT, GUIDED, RAW])
        probes, unseen = np.array([3, 9, 9]), np.array([0.0, 2.5, 8.0])
        allowed = np.array([9, 9, UNLIMITED])
        together, apart, alone = Figures(), Figures(), Figures()
        together.over(probes, allowed, share, unseen, mode)
        for cut in (slice(0, 1), slice(1, 1), slice(1, 3)):
            apart.over(probes[cut], allowed[cut], share[cut], unseen[cut], mode[cut])
        for i in range(3):
            limit = None if allowed[i] == UNLIMITED else int(allowed[i])
            alone.tick(
                probes=int(probes[i]), allowed=limit, share=float(share[i]),
                unseen=float(unseen[i]), mode=int(mode[i]),
            )  # fmt: skip
        assert together == apart == alone
        assert (together.overloaded, together.raw, together.allowed) == (2, 1, 18)
        assert together.mean_share == pytest.approx(2.0 / 3.0)
