"""Selections: views that pick rows of one stream as they come; all share one index."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.plan.distribution import Distribution, Local
from streamgauge.plan.offer import Bid, Refusal, Statistics, row_offer
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import selection_of
from streamgauge.plan.technique import Columns, NamedKey, Technique
from streamgauge.plan.view import View


class Selections(Technique):
    """Rows that meet conditions, given as they come."""

    name = "selections"
    operators = "streamgauge.work.selections.operator"
    fed = False
    rows = True

    def offer(self, asked: View, statistics: Statistics) -> Bid:
        """Views that need no memory."""
        return Refusal(self.name) if selection_of(asked) is None else row_offer(self.name)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """One index for each stream."""
        selection = selection_of(standing.view)
        assert selection is not None, "served"
        return NamedKey(selection.stream)

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """The columns of its conditions, and those that are given."""
        selection = selection_of(standing.view)
        assert selection is not None, "served"
        exprs = [*selection.where, *(expr for _, expr in selection.items)]
        used = {name for expr in exprs for name in expr.columns()}
        return {selection.stream: Columns(words=tuple(sorted(used)))}

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """No memory: it does not matter where a row is looked at."""
        return dict.fromkeys(standing.view.streams, Local())

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Selections share an index."""
        return [f"placed on all of {shards} shards, in the index of selections"]


TECHNIQUE = Selections()
