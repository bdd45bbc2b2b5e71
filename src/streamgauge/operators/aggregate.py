"""Aggregates by name: what is asked of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.streams.schema import Schema

# The number of an aggregate is part of the compiled kernels and of nothing that is stored.
CODES = {
    "count": 0,
    "sum": 1,
    "avg": 2,
    "min": 3,
    "max": 4,
    "var": 5,
    "stddev": 6,
    "covar": 7,
    "corr": 8,
}
PAIRS = ("covar", "corr")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of one column, two for covariance and correlation.

    Parameters
    ----------
    name
        count, sum, avg, min, max, var, stddev (both of a sample), covar (of a sample), corr.
    x, y
        Columns; `count` may have none, `covar` and `corr` have two.
    weight
        Column of row weights for sum, avg, var and stddev over windows.

    Examples
    --------
    >>> print(avg("price", weight="volume")), print(corr("bid", "ask")), print(count())
    avg(price weighted by volume)
    corr(bid, ask)
    count(*)
    (None, None, None)
    """

    name: str
    x: str | None = None
    y: str | None = None
    weight: str | None = None

    @property
    def code(self) -> int:
        """Number of the aggregate in the kernels."""
        return CODES[self.name]

    @property
    def paired(self) -> bool:
        """Whether it takes two columns."""
        return self.name in PAIRS

    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        return tuple(c for c in (self.x, self.y, self.weight) if c is not None)

    def bind(self, schema: Schema) -> None:
        """Check that its columns exist and are numbers."""
        if self.name not in CODES:
            raise BindError(
                f"unknown aggregate {self.name!r}",
                f"known are {', '.join(CODES)}",
                "write avg('value'), for example",
            )
        if (self.x is None and self.name != "count") or self.paired != (self.y is not None):
            raise BindError(
                f"wrong number of columns for {self.name}",
                f"got x={self.x!r}, y={self.y!r}",
                "avg takes one column, covar and corr take two",
            )
        if self.weight is not None and self.name not in ("sum", "avg", "var", "stddev"):
            raise BindError(
                f"{self.name} takes no weight",
                f"got weight={self.weight!r}",
                "weights go with sum, avg, var and stddev",
            )
        for column in self.columns():
            if not schema.numeric(column) and self.name != "count":
                raise BindError(
                    f"column {column!r} is not a number",
                    f"its type is {schema.type(column)}, asked for {self}",
                    "aggregate a float or int column, or count()",
                )

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"name": self.name, "x": self.x, "y": self.y, "weight": self.weight}

    def __str__(self) -> str:
        inside = ", ".join(c for c in (self.x, self.y) if c is not None) or "*"
        return f"{self.name}({inside}{f' weighted by {self.weight}' if self.weight else ''})"


def count(x: str | None = None) -> Aggregate:
    """Count rows, or rows where a column has a value."""
    return Aggregate("count", x)


def total(x: str, *, weight: str | None = None) -> Aggregate:
    """Sum of a column (the name `sum` is Python's own)."""
    return Aggregate("sum", x, weight=weight)


def avg(x: str, *, weight: str | None = None) -> Aggregate:
    """Average of a column."""
    return Aggregate("avg", x, weight=weight)


def minimum(x: str) -> Aggregate:
    """Smallest value."""
    return Aggregate("min", x)


def maximum(x: str) -> Aggregate:
    """Largest value."""
    return Aggregate("max", x)


def var(x: str, *, weight: str | None = None) -> Aggregate:
    """Sample variance."""
    return Aggregate("var", x, weight=weight)


def stddev(x: str, *, weight: str | None = None) -> Aggregate:
    """Sample standard deviation."""
    return Aggregate("stddev", x, weight=weight)


def covar(x: str, y: str) -> Aggregate:
    """Sample covariance of two columns."""
    return Aggregate("covar", x, y)


def corr(x: str, y: str) -> Aggregate:
    """Correlation of two columns."""
    return Aggregate("corr", x, y)
