"""Sketches over windows: aggregates answered from one sketch for each group and pane."""

from __future__ import annotations

from typing import ClassVar

from streamgauge.kernel.loading import load
from streamgauge.kernel.time import duration_text
from streamgauge.plan.explaining import (
    Step,
    begin_words,
    by_groups,
    exact_budget,
    fed_explanation,
    read_by_table,
    shared_words,
    where_steps,
    window_step,
)
from streamgauge.plan.memory import growth
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.planned_charges import of_sketch
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.plan.table_key import TableKey, owns_table
from streamgauge.plan.technique import Explanation, PlannedCharge, Technique
from streamgauge.streams.schema import Schema
from streamgauge.synopses import choose
from streamgauge.work.summaries.offers import kept_values, synopsis

CODES = "streamgauge.work.summaries.names:counts_numbers"
WINDOWS = {"now": "panes", "range": "panes", "landmark": "landmark"}


class SketchKey(TableKey):
    """What queries must agree in to share sketches."""

    __slots__ = ()
    technique: ClassVar[str] = "sketches over windows"

    def lasting(self, schema: Schema) -> tuple[str, ...]:
        """Groups, and the items of sketches that count numbers of names."""
        coded = self.x and load(CODES)(self.model(), schema.type(self.x))
        return (*self.group_by, *self.by, *((self.x,) if coded and self.x else ()))


class Summaries(Technique):
    """Aggregates within a contract, from sketches, samples or histograms."""

    name = SketchKey.technique
    operators = "streamgauge.work.summaries.opening"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Every value kept where answers are to be exact, else the smallest sketch that does."""
        if statistics.window_of(asked) not in WINDOWS or not asked.select.summary:
            return Refusal(self.name)
        if asked.contract.tolerance == "exact":
            return kept_values(self.name, asked, statistics)
        return synopsis(self.name, asked, statistics)

    def key(self, registry: Registry, standing: Standing) -> SketchKey:
        """One table for all lengths and questions to the same sketch."""
        window = registry.window_of(standing.query)
        assert window is not None, "served"
        return SketchKey.of(registry, standing, WINDOWS[window.kind])

    def owns(self, text: str) -> bool:
        """State of panes of sketches."""
        return owns_table(text, tuple(WINDOWS.values()), synopsis=True)

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The error of the sketch."""
        return of_sketch(standing)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The aggregate, its sketch, its window and its filter."""
        key, query = self.key(registry, standing), standing.query
        shared = shared_words(registry, standing, key)
        note = f"spends 0, one pane, {shared}"
        if key.kind == "panes":
            note = f"spends 0, panes of {duration_text(key.width)}, {begin_words(key)}, {shared}"
        steps = [
            _sketch_step(standing, key, shards),
            window_step(registry, query, note),
            *where_steps(key),
        ]
        read = read_by_table(registry.stream(query.stream), key)
        return fed_explanation(registry, standing, steps, read, [self._budget(registry, standing)])

    def _budget(self, registry: Registry, standing: Standing) -> str:
        """What is left of the error that is owed, and what else was thought of."""
        contract = standing.query.contract
        if contract.tolerance == "exact":
            return exact_budget(standing)
        guarantee = named_model(standing.model).guarantee
        chance = max(0.0, round(1.0 - contract.confidence - guarantee.delta, 9))
        kept, left = max(0.0, contract.within - guarantee.epsilon), 100.0 * chance
        lines = [f"kept back {kept:.3g} of {contract.within:g}, {left:.3g}% of the chance to fail"]
        others = self._others(registry, standing.query)
        return "\n".join([*lines, *(f"not {other.name}: {other.reason}" for other in others)])

    def _others(self, registry: Registry, query: Query) -> list[choose.Refusal]:
        """Sketches that would hold the contract too, and why another was chosen."""
        bid = self.offer(query, Statistics.of(registry, query))
        refused = bid.others if isinstance(bid, Offer) else ()
        return [other for other in refused if other.reason.startswith("takes")]


def _sketch_step(standing: Standing, key: SketchKey, shards: int) -> Step:
    model, query = key.model(), standing.query
    size = f"{choose.full_bytes(model):,} bytes a group and pane"
    if model.guarantee.law == "exact":
        size = "every value kept"
        if key.kind == "landmark":
            size += f", state {growth((query.stream,))}"
    text = f"Summarise {query.select}{by_groups(key)} in {model!r}"
    return text, f"spends {model.guarantee}, {size}, {key.place(shards)}"


TECHNIQUE = Summaries()
