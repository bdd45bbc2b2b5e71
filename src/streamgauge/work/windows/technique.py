"""Windows of time: exact aggregates from panes that all windows over the same rows share."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from streamgauge.kernel.time import duration_text
from streamgauge.operators.accumulate import MAX
from streamgauge.operators.aggregate import Aggregate
from streamgauge.plan.explaining import (
    aggregate_step,
    begin_words,
    exact_budget,
    fed_explanation,
    read_by_table,
    shared_words,
    where_steps,
    window_step,
)
from streamgauge.plan.offer import Bid, Refusal, Statistics, exact_offer
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.table_key import TableKey, owns_table
from streamgauge.plan.technique import Explanation, Technique

WINDOWS = {"now": "panes", "range": "panes", "landmark": "landmark"}


class PaneKey(TableKey):
    """What queries must agree in to share panes."""

    __slots__ = ()
    technique: ClassVar[str] = "windows of time"

    def former(self) -> str:
        """Sums of an earlier release were rounded."""
        return replace(self, exact=False).text() if self.exact else ""


class Windows(Technique):
    """Exact aggregates of windows of time."""

    name = PaneKey.technique
    operators = "streamgauge.work.windows.operator"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Exact answers of aggregates over windows of time that an accumulator gives."""
        if statistics.window_of(asked) not in WINDOWS or asked.select.summary:
            return Refusal(self.name)
        return exact_offer(self.name, asked)

    def key(self, registry: Registry, standing: Standing) -> PaneKey:
        """One table for all lengths and aggregates."""
        window = registry.window_of(standing.query)
        assert window is not None, "served"
        exact = _adds(standing.query.select)
        return PaneKey.of(registry, standing, WINDOWS[window.kind], exact=exact)

    def owns(self, text: str) -> bool:
        """State of panes without sketches."""
        return owns_table(text, tuple(WINDOWS.values()), synopsis=False)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The aggregate, its window and its filter."""
        key = self.key(registry, standing)
        shared = shared_words(registry, standing, key)
        note = f"spends 0, one pane, {shared}"
        if key.kind == "panes":
            note = f"spends 0, panes of {duration_text(key.width)}, {begin_words(key)}, {shared}"
        steps = [
            aggregate_step(standing, key, shards),
            window_step(registry, standing.query, note),
            *where_steps(key),
        ]
        read = read_by_table(registry.stream(standing.query.stream), key)
        return fed_explanation(registry, standing, steps, read, [exact_budget(standing)])


def _adds(select: Aggregate) -> bool:
    """Whether an aggregate follows from a count, a sum and the extremes of one column."""
    return select.code <= MAX and select.y is None and select.weight is None


TECHNIQUE = Windows()
