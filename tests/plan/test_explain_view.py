"""EXPLAIN of views as golden text."""

from __future__ import annotations

import pytest

from streamgauge.plan.explain_view import explain_view
from streamgauge.plan.registry import Registry
from tests.goldens import assert_golden
from tests.plan.market import market
from tests.plan.market import view_of as lowered

TEXTS = {
    "pick": "SELECT sym, price FROM trades WHERE price > 10",
    "match": "SELECT t.sym, q.bid FROM trades [RANGE 1 MINUTE] t, "
    "quotes [PARTITION BY sym ROWS 1] q WHERE t.sym = q.sym AND t.price > q.ask EVERY 10 SECONDS",
    "busy": "SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym "
    "HAVING COUNT(*) > 10 EMIT STORE FROM NOW",
    "known": "SELECT RSTREAM(t.sym, s.sector) FROM trades [NOW] t, symbols s WHERE t.sym = s.sym",
    "busier": "SELECT sym FROM (SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] "
    "GROUP BY sym) x WHERE n > 20",
}


def _registered() -> Registry:
    registry = market()
    for epoch, (name, text) in enumerate(TEXTS.items(), 1):
        view = {**lowered(text, registry).as_dict(), "name": name}
        assert not registry.apply([{"do": "register", "queries": [view]}], epoch=epoch)
    return registry


@pytest.mark.parametrize("name", TEXTS)
def test_the_plan_of_a_view_is_on_file(name: str) -> None:
    registry = _registered()
    text = explain_view(registry.query(name).view, registry, shards=4, epoch=9)
    assert_golden(f"cql/explain/{name}.txt", f"{TEXTS[name]}\n\n{text}\n")


def test_a_view_that_is_not_registered_can_be_explained() -> None:
    registry = _registered()
    text = explain_view(lowered(TEXTS["busier"], registry), registry, shards=4, epoch=9)
    assert text.startswith("q, not registered\n")
    assert "shared by 2 queries" in text
