"""EXPLAIN ANALYZE of promising queries: what each line says."""

from __future__ import annotations

import pytest

from streamgauge.execute.measured_promise import promising
from streamgauge.operators.aggregate import avg
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Costs, Prices
from streamgauge.promise.figures import EXACT, GUIDED, RAW, Figures
from streamgauge.promise.promise import Promise
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

pytestmark = pytest.mark.slow


def lines(
    seen: Figures,
    *,
    probes: int | None = None,
    cpu: float | None = None,
    capacity: int | None = None,
    queries: int = 1,
) -> dict[str, str]:
    """Lines of the first of some queries, by their titles."""
    registry = Registry(costs=Costs(aggregate=Prices(120.0, 250.0, 80.0)))
    schema = Schema.of(item="string", ts="time", price="float")
    registry.streams["sales"] = Stream("sales", schema, "ts", ("item",), (), capacity=capacity)
    promise = Promise("desc", (), probes=probes, cpu=cpu, summaries=(("sales", "items"),))
    for number in range(queries):
        query = Query(f"q{number}", "sales", avg("price"), promise=promise)
        registry.queries[query.name] = Standing(number, query)
    return dict(promising(registry, registry.queries["q0"], seen))


def test_a_query_that_kept_up() -> None:
    seen = Figures()
    for _ in range(3):
        seen.tick(probes=10, allowed=100)
    assert lines(seen, probes=100) == {
        "budget": "100 probes a tick",
        "overload": "0 of 3 ticks; now exact",
        "probes": "30 of 300 allowed (10%)",
        "regions": "100% processed on average, 100% at last",
        "not found": "about 0 rows at last",
        "summaries": "none in use",
    }


def test_a_query_that_did_not() -> None:
    seen = Figures(zones=24, nbytes=81_920, given_up=1_234)
    for mode, share in ((EXACT, 1.0), (RAW, 0.5), (GUIDED, 0.75)):
        seen.tick(probes=100, allowed=100, share=share, unseen=41.7, mode=mode)
    assert lines(seen, cpu=0.2) == {
        "budget": "800,000 probes a tick for 0.2 cores, at insert 120 ns, hit 250 ns, raw 80 ns",
        "overload": "2 of 3 ticks, at 1 of them rows were taken as they came; now summaries",
        "probes": "300 of 300 allowed (100%)",
        "regions": "75% processed on average, 75% at last; 1,234 given up",
        "not found": "about 41.7 rows at last",
        "summaries": "24 zones, 81,920 bytes",
    }


def test_shares_of_a_capacity_and_no_limit() -> None:
    seen = Figures()
    seen.tick(probes=10, allowed=None)
    assert lines(seen)["budget"] == "no limit"
    assert lines(seen)["probes"] == "as many as there were"
    shared = lines(seen, capacity=101, queries=2)["budget"]
    assert shared == "50.5 probes a tick, its share of the capacity"
