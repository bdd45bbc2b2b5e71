"""Table keys: what queries over windows must agree in to share panes, rings or fading sums."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from streamgauge.kernel.hashing import stable_hash
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.distribution import Distribution, HashBy, Merged, Replicated, Singleton
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.plan.technique import Columns, Key
from streamgauge.streams.schema import Schema
from streamgauge.synopses.synopsis import Synopsis

# Windows whose rows lie in panes, or in one pane that lasts.
PANED = ("now", "range", "landmark", "decay")


@dataclass(frozen=True, slots=True)
class TableKey(Key):
    """What queries over windows must agree in, whatever their lengths and aggregates.

    A table is `exact` when counts, exact sums and extremes are all it keeps: then its rows may be
    added in any order and by anybody. The kinds that a technique has are in `kinds`.
    """

    kind: str
    width: int
    start: int
    rows: int
    by: tuple[str, ...]
    where: str
    group_by: tuple[str, ...]
    x: str | None
    y: str | None
    weight: str | None
    born: int
    synopsis: str = ""
    exact: bool = False

    kinds: ClassVar[tuple[str, ...]] = ()

    def text(self) -> str:
        """Name of the state of this table."""
        parts = [getattr(self, item.name) for item in fields(self)][:-2]
        if self.exact:
            return json.dumps([*parts, self.synopsis, True])
        return json.dumps([*parts, self.synopsis] if self.synopsis else parts)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the name of a state back."""
        parts: list[Any] = [tuple(p) if isinstance(p, list) else p for p in json.loads(text)]
        return cls(*parts)

    @property
    def merges(self) -> bool:
        """Rows of an exact table that have no birth to mind may come as sums."""
        return self.exact and not self.born

    @property
    def distribution(self) -> Distribution:
        """Rows go by their group; where there is none, exact sums go to one shard.

        The newest rows of a stream are those of all groups; the newest of each key can be told
        from the rows of its group alone where a key lies in one group.
        """
        if not self.group_by:
            return Merged() if self.exact else Singleton(self._alone())
        if self.kind == "ring" and not set(self.group_by) <= set(self.by):
            return Replicated(f"the newest {self.rows} rows are those of all groups")
        return Merged(self.group_by) if self.merges else HashBy(self.group_by)

    def _alone(self) -> str:
        """Why rows without groups cannot be split."""
        if self.kind == "ring":
            return "the newest rows are those of the whole stream"
        if self.synopsis:
            return "one sketch takes all rows in order"
        return "rounded sums depend on the order of all rows"

    def place(self, shards: int) -> str:
        """Where the table is kept, in words."""
        if not self.group_by:
            return f"shard {self.owner(shards)}"
        return f"groups over {shards} shards"

    def predicate(self) -> Predicate | None:
        """The filter as a value."""
        return Predicate.from_dict(json.loads(self.where)) if self.where else None

    def model(self) -> Synopsis:
        """The empty synopsis that this table keeps for each group."""
        return named_model(self.synopsis)

    def owner(self, shards: int) -> int:
        """The shard of an ungrouped table, the same whether its sums are exact or not."""
        return stable_hash(replace(self, exact=False).text()) % shards

    def lives_on(self, shard: int, shards: int) -> bool:
        """Groups are everywhere; a table without groups is on one shard."""
        return bool(self.group_by) or self.owner(shards) == shard

    def lasting(self, schema: Schema) -> tuple[str, ...]:
        """Groups and keys."""
        return (*self.group_by, *self.by)

    def filtered(self) -> tuple[str, ...]:
        """Columns of the filter."""
        predicate = self.predicate()
        return () if predicate is None else predicate.columns()

    def reads(self, schema: Schema, queries: Sequence[Standing]) -> Columns:
        """Values as numbers; groups, keys, text in filters and in sketches as names."""
        used = [name for name in (self.x, self.y, self.weight) if name]
        worded = {name for name in used if self.synopsis and is_word(schema, name)}
        filtered = self.filtered()
        numbers = [name for name in used if name not in worded]
        numbers += [name for name in filtered if not is_word(schema, name)]
        words = [*self.group_by, *self.by, *(name for name in (self.x,) if name in worded)]
        words += [name for name in filtered if is_word(schema, name)]
        return Columns(tuple(dict.fromkeys(numbers)), tuple(dict.fromkeys(words)))

    @classmethod
    def of(cls, registry: Registry, standing: Standing, kind: str, *, exact: bool = False) -> Self:
        """The table that a query over a window belongs to."""
        query, window, select = standing.query, registry.window_of(standing.query), None
        assert window is not None, "a query without a window is no table's"
        select, stream = query.select, registry.stream(query.stream)
        paned = window.kind in PANED
        where = query.where
        return cls(
            kind=kind,
            width=window.pane_width(stream.tick, query.answer.period or None) if paned else 0,
            start=window.start,
            rows=window.rows,
            by=window.by,
            where=json.dumps(where.as_dict(), sort_keys=True) if where is not None else "",
            group_by=query.group_by,
            x=select.x,
            y=select.y,
            weight=select.weight,
            # A query FROM NOW must not see panes begun before it; those born together share.
            born=0 if query.history or not paned else standing.born,
            synopsis=standing.model,
            exact=exact,
        )


def is_word(schema: Schema, column: str) -> bool:
    """Whether a column is read as names."""
    return schema.type(column) in ("string", "bool")


def owns_table(text: str, kinds: tuple[str, ...], *, synopsis: bool) -> bool:
    """Whether a name of state is that of a table of some kinds, with or without sketches."""
    parts = json.loads(text)
    return parts[0] in kinds and bool(len(parts) > 11 and parts[11]) == synopsis
