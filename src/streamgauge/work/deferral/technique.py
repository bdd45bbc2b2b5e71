"""Deferral: queries over latest values that are evaluated when a model of their drift says so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from streamgauge.contracts.causes import BY_TIMER, BY_WATCH
from streamgauge.contracts.contract import Contract
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.plan.distribution import Distribution, Replicated
from streamgauge.plan.explain_deferral import deferral_budget, deferral_lines
from streamgauge.plan.explaining import exact_budget, fed_explanation, shared_words
from streamgauge.plan.latest import deferred
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, Key, PlannedCharge, Technique
from streamgauge.streams.schema import Schema

STATE = "drift"
# Last answer, its tick, deadline, credit, hits, misses, drift and variance, as numbers.
CELL_BYTES = 8 * 8
# A row moves its series once for all queries; members are read when a cell is due, which for a
# timer on a random walk is at 2 to 25 ticks in 100.
ROW_COST = 0.25
ASSUMES = "fidelity over time: share of ticks with rows"


@dataclass(frozen=True, slots=True)
class DeferralKey(Key):
    """What deferred queries must agree in to share the model of each series."""

    x: str | None

    technique: ClassVar[str] = "deferral"

    @property
    def distribution(self) -> Distribution:
        """Models of series are shared by all cells, whichever shard has them."""
        return Replicated("models of movement follow every series")

    @property
    def keyed(self) -> bool:
        """Models are of series."""
        return True

    def text(self) -> str:
        """Name of the state of this operator."""
        return json.dumps([STATE, self.x])

    def reads(self, schema: Schema, queries: Sequence[Standing]) -> Columns:
        """Its column, and the attributes that series are grouped by."""
        return Columns(tuple(name for name in (self.x,) if name), self.fixed(queries))

    def fixed(self, queries: Sequence[Standing]) -> tuple[str, ...]:
        """The attributes that series are grouped by."""
        return tuple(dict.fromkeys(name for one in queries for name in one.query.group_by))


class Deferral(Technique):
    """Cells of latest values, each evaluated at a deadline or watched."""

    name = DeferralKey.technique
    operators = "streamgauge.work.deferral.opening"
    over_time = True
    reports: ClassVar[Mapping[str, str]] = {
        "deferrals": "streamgauge.work.deferral.report:deferrals",
        "deferral columns": "streamgauge.work.deferral.report:DEFERRALS",
    }

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """The width that is owed, over the share of ticks that is owed."""
        if not deferred(asked) or statistics.bounds:
            return Refusal(self.name)
        return _offer(asked.contract)

    def owed(self, query: Query) -> Contract:
        """The contract over time."""
        return query.contract

    def key(self, registry: Registry, standing: Standing) -> DeferralKey:
        """One operator for the queries over the same column."""
        return DeferralKey(standing.query.select.x)

    def owns(self, text: str) -> bool:
        """State of models and cells."""
        return bool(json.loads(text)[0] == STATE)

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The wait; a timer is watched until its series are known well enough."""
        contract = standing.query.contract
        if contract.tolerance == "exact":
            return ()
        watch = PlannedCharge(BY_WATCH, 1.0 - contract.confidence, contract.within)
        if standing.query.regime == "watch":
            return (watch,)
        return watch, replace(watch, by=BY_TIMER, instead=BY_WATCH)

    def confidence(self, registry: Registry, standing: Standing) -> float:
        """The share of ticks that is owed."""
        return standing.query.contract.confidence

    def awaits(self, standing: Standing) -> str:
        """Silence is not looked at."""
        return "it is evaluated when the next row arrives"

    def sees_silence(self, registry: Registry, standing: Standing) -> bool:
        """A silent series may have moved."""
        return True

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """What is put off, how far, and which cells it has."""
        query, key = standing.query, self.key(registry, standing)
        stream = registry.stream(query.stream)
        shared = shared_words(registry, standing, key)
        steps = deferral_lines(standing, shared, stream.capacity)
        read = (*stream.key, *query.group_by, stream.time, key.x)
        exact = query.contract.tolerance == "exact"
        budget = exact_budget(standing) if exact else deferral_budget(query)
        return fed_explanation(registry, standing, steps, read, [budget])


@lru_cache(maxsize=256)
def _offer(contract: Contract) -> Offer:
    """The offer for a contract, which thousands of queries may share."""
    law = fidelity(contract)
    spends = (
        "nothing" if law is EXACT else f"{contract.words(over_time=True)}, over ticks with rows"
    )
    return Offer(Deferral.name, law, CELL_BYTES, ROW_COST, spends)


def fidelity(contract: Contract) -> Guarantee:
    """The law of a deferred query, over the ticks at which its stream has rows.

    Examples
    --------
    >>> fidelity(Contract.relative(0.01, confidence=0.9)).assumes
    ('fidelity over time: share of ticks with rows',)
    """
    if contract.tolerance == "exact":
        return EXACT
    law = contract.tolerance
    chance = round(1.0 - contract.confidence, 12)
    return Guarantee(law, contract.within, chance, assumes=(ASSUMES,))


TECHNIQUE = Deferral()
