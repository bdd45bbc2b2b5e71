"""Aggregates by name: what is asked of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.streams.schema import Schema
from streamgauge.synopses.correlated.compared import AGGREGATES, SIGNS, Compared
from streamgauge.synopses.questions import (
    Distinct,
    Frequency,
    JoinSize,
    Moment,
    Quantile,
    Question,
    TopK,
)

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
# Aggregates that a synopsis answers, exactly or within a contract.
SUMMARIES = (
    "quantile", "distinct", "frequency", "self_join", "top_k", "count_when", "sum_when",
    "set_size", "join_size",
)  # fmt: skip
# Between the parts of an item that is made of several columns.
BETWEEN = "\x1f"
# Summaries of several streams at once; the argument says how they are put together.
ACROSS = ("set_size", "join_size")
# Summaries of the rows that stand so to another aggregate of the same rows.
CORRELATED = ("count_when", "sum_when")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of one column, two for covariance and correlation.

    Parameters
    ----------
    name
        count, sum, avg, min, max, var, stddev (both of a sample), covar (of a sample), corr; and
        over windows quantile, distinct, frequency, self_join, top_k, count_when, sum_when.
    x, y
        Columns; `count` may have none, `covar` and `corr` have two. `count_when` and `sum_when`
        compare x; `sum_when` adds up y.
    weight
        Column of row weights for sum, avg, var and stddev over windows.
    argument
        The share of a quantile, the item of a frequency, the k of top_k; for count_when and
        sum_when a text of sign, factor, aggregate and offset, such as "> 1.5 avg 0.0".

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
    argument: float | str | None = None

    @property
    def code(self) -> int:
        """Number of the aggregate in the kernels."""
        return CODES[self.name]

    @property
    def summary(self) -> bool:
        """Whether a synopsis answers it."""
        return self.name in SUMMARIES

    @property
    def correlated(self) -> bool:
        """Whether rows are compared with another aggregate."""
        return self.name in CORRELATED

    def question(self) -> Question:
        """What a summary asks of its synopsis."""
        argument = self.argument
        if self.correlated:
            sign, factor, aggregate, offset = str(argument).split()
            of = "count" if self.name == "count_when" else "sum"
            return Compared(sign, aggregate, float(factor), float(offset), of)
        if self.name == "quantile":
            assert isinstance(argument, float)
            return Quantile(argument)
        if self.name == "top_k":
            assert isinstance(argument, int | float)
            return TopK(int(argument))
        if self.name == "frequency":
            return Frequency(argument)
        if self.name == "join_size":
            return JoinSize(None)
        return Distinct() if self.name in ("distinct", "set_size") else Moment(2.0)

    @property
    def paired(self) -> bool:
        """Whether it takes two columns."""
        return self.name in PAIRS

    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        return tuple(c for c in (self.x, self.y, self.weight) if c is not None)

    def bind(self, schema: Schema) -> None:
        """Check that its columns exist and are numbers."""
        if self.name in ACROSS:
            return
        if self.summary:
            self._bind_summary(schema)
            return
        if self.name not in CODES:
            raise BindError(
                f"unknown aggregate {self.name!r}",
                f"known are {', '.join((*CODES, *SUMMARIES))}",
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

    def _bind_summary(self, schema: Schema) -> None:
        """Check the column and the argument of a summary."""
        if self.correlated:
            self._bind_correlated(schema)
            return
        if self.x is None or self.y is not None or self.weight is not None:
            raise BindError(
                f"{self.name} takes one column and no weight",
                f"got x={self.x!r}, y={self.y!r}, weight={self.weight!r}",
                "write distinct('user') or quantile('latency', 0.95)",
            )
        kind, argument = schema.type(self.x), self.argument
        if self.name == "quantile" and not schema.numeric(self.x):
            raise BindError(
                f"column {self.x!r} is not a number",
                f"its type is {kind}, asked for {self}",
                "quantiles are of a float or int column",
            )
        numeric = isinstance(argument, int | float) and not isinstance(argument, bool)
        fits = {
            "quantile": numeric and 0.0 <= float(argument or 0.0) <= 1.0,
            "top_k": numeric and float(argument or 0.0) >= 1.0,
            "frequency": isinstance(argument, str) if kind == "string" else numeric,
        }.get(self.name, argument is None)
        if not fits:
            raise BindError(
                f"{self.name} of column {self.x!r} does not take {argument!r}",
                f"column {self.x!r} has type {kind}",
                "a quantile takes a share in [0, 1], top_k a number from 1, frequency an item",
            )

    def _bind_correlated(self, schema: Schema) -> None:
        """Check the columns and the comparison."""
        parts = str(self.argument).split()
        known = len(parts) == 4 and parts[0] in SIGNS and parts[2] in AGGREGATES
        if not known or self.x is None or (self.y is not None) != (self.name == "sum_when"):
            raise BindError(
                f"{self.name} does not take {self.argument!r}",
                f"signs are {', '.join(SIGNS)}, aggregates {', '.join(AGGREGATES)}",
                "write count_when('x', '>', 'avg', factor=1.5), sum_when('y', 'x', '<=', 'min')",
            )
        for column in self.columns():
            if not schema.numeric(column):
                raise BindError(
                    f"column {column!r} is not a number",
                    f"its type is {schema.type(column)}, asked for {self}",
                    "compare and sum float or int columns",
                )

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain = {"name": self.name, "x": self.x, "y": self.y, "weight": self.weight}
        return plain if self.argument is None else {**plain, "argument": self.argument}

    def __str__(self) -> str:
        if self.correlated:
            return self._correlated_text()
        if self.name in ACROSS:
            return f"{self.name}({self.argument})"
        if self.summary:
            asked = "" if self.argument is None else f", {self.argument!r}"
            return f"{self.name}({self.x}{asked})"
        inside = ", ".join(c for c in (self.x, self.y) if c is not None) or "*"
        return f"{self.name}({inside}{f' weighted by {self.weight}' if self.weight else ''})"

    def _correlated_text(self) -> str:
        sign, factor, aggregate, offset = str(self.argument).split()
        what = "count(*)" if self.name == "count_when" else f"sum({self.y})"
        times = "" if float(factor) == 1.0 else f"{float(factor):g} * "
        plus = "" if not float(offset) else f" + {float(offset):g}"
        return f"{what} when {self.x} {sign} {times}{aggregate}({self.x}){plus}"


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


def quantile(x: str, share: float) -> Aggregate:
    """The value at a share of the sorted rows: 0.95 is the 95th percentile."""
    return Aggregate("quantile", x, argument=float(share))


def median(x: str) -> Aggregate:
    """The value in the middle."""
    return quantile(x, 0.5)


def distinct(x: str) -> Aggregate:
    """How many different values there are."""
    return Aggregate("distinct", x)


def frequency(x: str, item: float | str) -> Aggregate:
    """How many rows hold one item."""
    return Aggregate("frequency", x, argument=item)


def self_join(x: str) -> Aggregate:
    """Pairs of rows that hold the same item: the second moment of the frequencies."""
    return Aggregate("self_join", x)


def top_k(x: str, k: int) -> Aggregate:
    """The k items that most rows hold; one answer for each, with the item added to the group."""
    return Aggregate("top_k", x, argument=int(k))


def count_when(
    x: str, sign: str, aggregate: str, *, factor: float = 1.0, offset: float = 0.0
) -> Aggregate:
    """How many rows have an x that stands so to an aggregate (avg, min, max) of all x.

    >>> print(count_when("load", ">", "avg", factor=1.5))
    count(*) when load > 1.5 * avg(load)
    """
    argument = f"{sign} {float(factor)!r} {aggregate} {float(offset)!r}"
    return Aggregate("count_when", x, argument=argument)


def sum_when(
    y: str, x: str, sign: str, aggregate: str, *, factor: float = 1.0, offset: float = 0.0
) -> Aggregate:
    """Sum of y over the rows whose x stands so to an aggregate (avg, min, max) of all x.

    >>> print(sum_when("cost", "load", "<=", "min", factor=2.0))
    sum(cost) when load <= 2 * min(load)
    """
    argument = f"{sign} {float(factor)!r} {aggregate} {float(offset)!r}"
    return Aggregate("sum_when", x, y, argument=argument)
