"""Members: a family of queries that a table spells out, one for each of its keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import BindError, QueryNotFound
from streamgauge.operators.predicate import Predicate
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table

# What tells one cell from another has values that can be named.
NAMED = ("string", "int", "bool")


@dataclass(frozen=True, slots=True)
class Members:
    """Which series belong to which cell, and with what weight, as the rows of a stored table.

    Parameters
    ----------
    table
        Name of the table.
    series
        Its column that names a series of the stream.
    by
        Its columns that tell cells apart; none: all its rows are one cell.
    weight
        Its column of weights; None: each row counts once.
    where
        Condition on its rows; None: all of them.

    Examples
    --------
    >>> held = Members("holdings", "symbol", ("portfolio",), "shares")
    >>> print(held)
    symbol of holdings weighted by shares by portfolio
    >>> Members.from_dict(held.as_dict()) == held
    True
    """

    table: str
    series: str
    by: tuple[str, ...] = ()
    weight: str | None = None
    where: Predicate | None = None

    def __post_init__(self) -> None:
        given: str | Iterable[str] = self.by
        object.__setattr__(self, "by", (given,) if isinstance(given, str) else tuple(given))

    def bind(self, stream: Stream, tables: Mapping[str, Table]) -> None:
        """Check the members against the stream and the table; raise what a user can act on."""
        if len(stream.key) != 1:
            raise BindError(
                f"series of stream {stream.name!r} have no single name",
                f"its key is {', '.join(stream.key) or 'not declared'}",
                "members name series by one column: declare KEY with one column",
            )
        if self.table not in tables:
            raise QueryNotFound(
                f"no table named {self.table!r}",
                f"there are {', '.join(sorted(tables)) or 'none'}",
                f"create it first: CREATE TABLE {self.table} FROM 'file.csv'",
            )
        types = dict(tables[self.table].schema.columns)
        used = [self.series, *self.by, *(() if self.weight is None else (self.weight,))]
        for name in (*used, *(() if self.where is None else self.where.columns())):
            if name not in types:
                raise BindError(
                    f"table {self.table!r} has no column {name!r}",
                    f"its columns are {', '.join(types)}",
                    "check the spelling, or read the table again",
                )
        key = stream.schema.type(stream.key[0])
        if types[self.series] != key:
            raise BindError(
                f"column {self.series!r} of table {self.table!r} cannot name series",
                f"it is {types[self.series]}, the key of stream {stream.name!r} is {key}",
                "name the column that holds what the key holds",
            )
        if self.weight is not None and types[self.weight] not in ("float", "int"):
            raise BindError(
                f"column {self.weight!r} of table {self.table!r} is no weight",
                f"its type is {types[self.weight]}",
                "weights are numbers",
            )
        check_named(self.by, types, f"table {self.table!r}")
        if self.where is not None:
            self.where.bind(tables[self.table].schema)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        out: dict[str, Any] = {"table": self.table, "series": self.series, "by": list(self.by)}
        if self.weight is not None:
            out["weight"] = self.weight
        if self.where is not None:
            out["where"] = self.where.as_dict()
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Members:
        """Read the JSON form."""
        where = Predicate.from_dict(data["where"]) if "where" in data else None
        return cls(data["table"], data["series"], tuple(data["by"]), data.get("weight"), where)

    def __str__(self) -> str:
        weight = f" weighted by {self.weight}" if self.weight else ""
        by = f" by {', '.join(self.by)}" if self.by else ""
        where = "" if self.where is None else f" where {self.where}"
        return f"{self.series} of {self.table}{where}{weight}{by}"


def check_named(by: tuple[str, ...], types: Mapping[str, str], what: str) -> None:
    """Raise unless cells can be told apart by columns of these types."""
    for name in by:
        if types[name] not in NAMED:
            raise BindError(
                f"column {name!r} of {what} cannot tell cells apart",
                f"its type is {types[name]}",
                f"group by a column of {', '.join(NAMED)}",
            )
