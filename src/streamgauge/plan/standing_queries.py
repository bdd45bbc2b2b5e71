"""Standing queries by name, with the names of those that the newest epoch has changed."""

from __future__ import annotations

from typing import Any

from streamgauge.plan.standing import Standing


class StandingQueries(dict[str, Standing]):
    """A dictionary of standing queries that notes which of them are set and deleted.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.plan.query import Query
    >>> queries = StandingQueries(heat=Standing(0, Query("heat", "plant", avg("v"))))
    >>> queries.changed
    set()
    >>> gone = queries.pop("heat", None), queries.pop("cold", None)
    >>> queries.changed
    {'heat'}
    """

    def __init__(self, *known: Any, **named: Standing) -> None:
        super().__init__(*known, **named)
        self.changed: set[str] = set()

    def __setitem__(self, name: str, standing: Standing) -> None:
        self.changed.add(name)
        super().__setitem__(name, standing)

    def __delitem__(self, name: str) -> None:
        self.changed.add(name)
        super().__delitem__(name)

    def pop(self, name: str, *default: Any) -> Any:
        """Delete a query and return it, or the default."""
        if name in self:
            self.changed.add(name)
        return super().pop(name, *default)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy begins without changes; its items are given whole.
        return type(self), (dict(self),)
