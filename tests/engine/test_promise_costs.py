"""What promising queries cost: from the clocks of shards into the journal, and from there on."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from streamgauge.engine.catalog import registry_at
from streamgauge.engine.lander import Lander
from streamgauge.engine.operator import together
from streamgauge.kernel.files import write_json
from streamgauge.kernel.time import MINUTE
from streamgauge.log.home import Home
from streamgauge.log.inbox import submit
from streamgauge.log.journal import Journal
from streamgauge.operators.aggregate import avg
from streamgauge.operators.expression import Expr
from streamgauge.plan.allowances import allowances
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Costs, Prices, Spent
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Range
from streamgauge.work.promise.budget import measured
from streamgauge.work.promise.costs import (
    ENOUGH,
    EPOCHS,
    FEW,
    HOLD,
    LEAP,
    Meter,
)

pytestmark = pytest.mark.slow

MANY = 10 * ENOUGH
SCHEMA = Schema.of(item="string", ts="time", price="float")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path, shards=2)


def _registry(*, cpu: float | None = 0.1, probes: int | None = None) -> Registry:
    registry = Registry()
    registry.streams["sales"] = Stream("sales", SCHEMA, "ts", ("item",), ())
    promise = Promise("desc", (), cpu=cpu, probes=probes, summaries=(("sales", "items"),))
    registry.queries["mean"] = Standing(0, Query("mean", "sales", avg("price"), promise=promise))
    return registry


def _spent(insert: float, hit: float, raw: float, count: int = MANY) -> dict[str, int]:
    parts = {"insert_ns": insert, "hit_ns": hit, "raw_ns": raw}
    ns = {f"aggregate.{name}": round(each * count) for name, each in parts.items()}
    return {
        **ns,
        **dict.fromkeys(("aggregate.inserted", "aggregate.hits", "aggregate.raws"), count),
    }


def _committed(home: Home, epoch: int, spent: dict[str, int]) -> None:
    write_json(home.commit(epoch), {"epoch": epoch, "spent": spent})


def _run(home: Home, registry: Registry, epochs: list[dict[str, int]]) -> list[int]:
    """Commit epochs and compose the page after each; numbers of the pages with new prices."""
    meter, told = Meter(home), []
    for epoch, spent in enumerate(epochs, start=1):
        _committed(home, epoch, spent)
        change = meter.change(registry, epoch + 1)
        if change is not None:
            assert registry.apply([change], epoch=epoch + 1) == []
            told.append(epoch + 1)
    return told


class TestMeter:
    def test_the_first_measurement_is_told(self, home: Home) -> None:
        registry = _registry()
        assert _run(home, registry, [{}, _spent(110, 105, 52)]) == [3]
        assert registry.costs.aggregate == Prices(110.0, 105.0, 52.0)
        assert registry.costs.join == Costs().join

    def test_a_price_that_stays_is_told_once(self, home: Home) -> None:
        epochs = [_spent(100 + n % 7, 200 - n % 9, 50 + n % 5) for n in range(60)]
        assert len(_run(home, _registry(), epochs)) == 1

    def test_a_price_that_moves_for_good_is_told_again(self, home: Home) -> None:
        registry = _registry()
        epochs = [_spent(100, 200, 50)] * 20 + [_spent(100, 300, 50)] * 60
        told = _run(home, registry, epochs)
        assert 2 <= len(told) <= 3
        assert all(after - before >= HOLD for before, after in pairwise(told))
        assert registry.costs.aggregate.hit == pytest.approx(300.0, rel=0.25)

    def test_a_price_that_is_far_off_is_told_soon(self, home: Home) -> None:
        registry = _registry()
        _run(home, registry, [_spent(100, 1_500, 50)] * 8)
        assert registry.costs.aggregate.hit == pytest.approx(1_500.0, rel=0.25)

    def test_giving_what_was_found_is_part_of_a_probe(self, home: Home) -> None:
        registry = _registry()
        given = {"aggregate.give_ns": 60 * MANY}
        _run(home, registry, [{**_spent(110, 105, 52), **given}])
        assert registry.costs.aggregate == Prices(110.0, 135.0, 82.0)

    def test_time_that_no_probe_accounts_for_is_part_of_the_others(self, home: Home) -> None:
        registry = _registry()
        spent = _spent(110, 0, 60)
        del spent["aggregate.hits"]
        _run(home, registry, [{**spent, "aggregate.hit_ns": 15 * MANY}])
        assert registry.costs.aggregate == Prices(110.0, Costs().aggregate.hit, 75.0)

    def test_one_slow_epoch_moves_a_price_by_a_leap_at_most(self, home: Home) -> None:
        registry = _registry()
        _run(home, registry, [_spent(100, 100, 50), _spent(100, 10**9, 50)])
        assert registry.costs.aggregate.hit <= LEAP * Costs().aggregate.hit

    def test_a_first_epoch_that_compiles_tells_nothing(self, home: Home) -> None:
        registry = _registry()
        assert _run(home, registry, [_spent(10**9, 10**9, 10**9)]) == []
        _run(home, registry, [_spent(10**9, 10**9, 10**9), _spent(110, 120, 60)])
        assert registry.costs.aggregate == Prices(110.0, 120.0, 60.0)

    def test_few_rows_tell_nothing_until_they_are_enough(self, home: Home) -> None:
        few = [_spent(150, 150, 60, count=ENOUGH // 4)] * 12
        assert _run(home, _registry(), few) == [EPOCHS + 1]

    def test_small_blocks_do_not_make_rows_look_dear(self, home: Home) -> None:
        """A block takes 200 us by itself; what it buys must not dwindle."""
        registry, meter, bought = _registry(cpu=0.00005), Meter(home), []
        for epoch in range(1, 60):
            probes = allowances(registry)["mean"].probes
            assert probes is not None
            bought.append(probes)
            spent = {"hits": 5 * probes, "hit_ns": 5 * (200_000 + 80 * probes), "hit_blocks": 5}
            _committed(home, epoch, {f"aggregate.{name}": n for name, n in spent.items()})
            change = meter.change(registry, epoch + 1)
            registry.apply([change] if change else [], epoch=epoch + 1)
        assert min(bought) > FEW // 8

    def test_long_blocks_count_however_few_their_rows(self, home: Home) -> None:
        registry = _registry()
        slow = {"aggregate.hits": 100, "aggregate.hit_ns": 10**8, "aggregate.hit_blocks": 10}
        _run(home, registry, [slow] * 30)
        assert registry.costs.aggregate.hit == pytest.approx(10**6, rel=0.25)

    @pytest.mark.parametrize("more", [{"cpu": None, "probes": 10}, {"cpu": None}])
    def test_nobody_asks_the_clock_where_budgets_are_in_probes(
        self, home: Home, more: dict[str, Any]
    ) -> None:
        assert _run(home, _registry(**more), [_spent(900, 900, 900)] * 3) == []

    def test_a_new_lander_goes_on_from_the_newest_commits(self, home: Home) -> None:
        registry = _registry()
        told = _run(home, registry, [_spent(100, 200, 50)] * 30)
        assert told == [2]
        assert Meter(home).change(registry, 31) is None
        _committed(home, 31, _spent(100, 200, 50))
        fresh = Meter(home)
        assert fresh.change(registry, 32) is None
        assert fresh.read == 31


class TestGrants:
    def test_a_slower_machine_is_granted_fewer_probes(self, tmp_path: Path) -> None:
        bought = []
        for name, ns in (("fast", 50), ("slow", 200)):
            registry = _registry(cpu=0.1)
            _run(Home.open(tmp_path / name, shards=1), registry, [_spent(100, ns, 50)])
            bought.append(allowances(registry)["mean"].probes)
        assert bought == [2_000_000, 500_000]


class TestPages:
    """The lander puts prices into pages that it writes anyway."""

    def _lander(self, tmp_path: Path) -> tuple[Home, Lander]:
        home, folder = Home.open(tmp_path / "home", shards=1), tmp_path / "sales"
        folder.mkdir()
        source = {"kind": "files", "path": str(folder), "format": "csv"}
        stream = Stream("sales", SCHEMA, "ts", ("item",), tuple(sorted(source.items())))
        summary = Summary("items", "sales", "item", MINUTE)
        count = Expr("estimate", (Expr("column", value="item"),), "count")
        promise = Promise("weighted", (count,), cpu=0.1, summaries=(("sales", "items"),))
        query = Query("mean", "sales", avg("price"), window=Range("1 minute"), promise=promise)
        submit(home, {"do": "stream", "stream": stream.as_dict()})
        submit(home, {"do": "summary", "summary": summary.as_dict()})
        submit(home, {"do": "register", "queries": [query.as_dict()]})
        lander = Lander(home, max_rows=1000)
        assert lander.land() == 1
        assert not Journal(home).page(1).refused
        return home, lander

    def _rows(self, tmp_path: Path, number: int) -> None:
        text = f"item,ts,price\na,2026-01-01T00:00:{number:02d}Z,1.0\n"
        (tmp_path / "sales" / f"{number:02d}.csv").write_text(text)

    def test_prices_wait_for_a_page_that_has_something_else(self, tmp_path: Path) -> None:
        home, lander = self._lander(tmp_path)
        _committed(home, 1, _spent(100, 300, 50))
        assert lander.land() == 1
        self._rows(tmp_path, 1)
        assert lander.land() == 2
        (change,) = Journal(home).page(2).changes
        assert change["do"] == "costs"
        assert change["costs"]["aggregate"] == {"insert": 100.0, "hit": 300.0, "raw": 50.0}
        assert lander.registry.costs.aggregate.hit == 300.0

    def test_every_reader_of_the_journal_has_the_same_prices(self, tmp_path: Path) -> None:
        home, lander = self._lander(tmp_path)
        for number in range(1, 40):
            _committed(home, number, _spent(100, 300 if number < 20 else 900, 50))
            self._rows(tmp_path, number)
            assert lander.land() == number + 1
        told = [n for n in range(1, 41) if Journal(home).page(n).changes]
        assert told[:2] == [1, 2]
        assert 3 <= len(told) <= 5
        again = Lander(home, max_rows=1000)
        assert again.registry.costs == lander.registry.costs == registry_at(home, 40).costs
        granted = [allowances(r)["mean"] for r in (lander.registry, registry_at(home, 40))]
        assert granted[0] == granted[1]
        assert registry_at(home, 10).costs.aggregate.hit == 300.0


class TestSpent:
    def test_only_what_was_done_is_told(self) -> None:
        spent = Spent(time.thread_time_ns)
        with spent.inserting(3):
            sum(range(10_000))
        first = dict(measured("join", spent, []).spent)
        assert first.pop("join.insert_ns") > 0
        assert first == {"join.inserted": 3, "join.insert_blocks": 1}
        assert measured("join", spent, []).spent == {}

    def test_shards_add_up(self) -> None:
        assert together([{"a": 1}, {"b": 2, "a": 3}, {}]) == {"a": 4, "b": 2}
