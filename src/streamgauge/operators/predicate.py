"""Predicates over columns: what a WHERE says, as plain frozen values.

Three-valued as in SQL: a comparison with null is unknown, and a row passes only when true.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import BindError
from streamgauge.streams.schema import Schema

Scalar: TypeAlias = float | int | str | bool
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Worded: TypeAlias = tuple[npt.NDArray[np.int32], list[Any]]
_COMPARE: dict[str, Any] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class NotTrueOrFalse:
    """Refuses what Python would decide now although it can only be decided for each row.

    Python cannot overload `and`, `or`, `not`, `in` and chained comparisons: it asks for the truth
    of one side and drops it.

    Examples
    --------
    >>> (col("k") == "a") and (col("v") > 3)
    Traceback (most recent call last):
    ...
    streamgauge.kernel.errors.BindError: condition k = 'a' is used as True or False
    ...
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        kind = "column" if isinstance(self, Column) else "condition"
        raise BindError(
            f"{kind} {_short(self)} is used as True or False",
            "Python's and, or, not, in, if and a < x < b ask for one truth value and would drop "
            "a part of the condition; it has one for each row",
            'write (col("k") == "a") & (col("v") > 3), | for or, ~(...) for not, '
            'col("k").isin("a", "b") for in, col("v").between(3, 10) for 3 <= v <= 10',
        )

    def __iter__(self) -> NoReturn:
        raise BindError(
            f"{_short(self)} is not a list of values",
            "a column has one value for each row, known only when rows arrive",
            'write col("k").isin("a", "b"), or name each column: col("k")',
        )

    def __contains__(self, value: object) -> NoReturn:
        raise BindError(
            f"{value!r} in {_short(self)} has no answer before rows arrive",
            "Python's in asks for one truth value; a column has one value for each row",
            f'write col("k") == {value!r}, or col("k").isin({value!r}) for several values',
        )


def _short(thing: object) -> str:
    return repr(thing.name) if isinstance(thing, Column) else str(thing)


def _condition(side: object, other: object) -> Predicate:
    """One side of & or |, which binds tighter than a comparison."""
    if isinstance(side, Predicate):
        return side
    shown = _short(side) if isinstance(side, Column) else repr(side)
    raise BindError(
        f"{shown} is not a condition, combined with {_short(other)}",
        "& and | bind tighter than ==, < and >",
        'put each comparison in parentheses: (col("k") == "a") & (col("v") > 3); '
        'a column of True and False is col("up") == True',
    )


@dataclass(frozen=True, slots=True)
class Predicate(NotTrueOrFalse):
    """A condition on one row. Build it from `col`; combine with `&`, `|` and `~`.

    Examples
    --------
    >>> where = (col("price") > 10) & ~col("sector").isin("energy", "metals")
    >>> print(where)
    (price > 10) and (not (sector in ('energy', 'metals')))
    >>> where.columns()
    ('price', 'sector')
    >>> Predicate.from_dict(where.as_dict()) == where
    True
    """

    op: str
    column: str = ""
    values: tuple[Scalar, ...] = ()
    parts: tuple[Predicate, ...] = ()

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate("and", parts=(self, _condition(other, self)))

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate("or", parts=(self, _condition(other, self)))

    def __rand__(self, other: object) -> Predicate:
        return _condition(other, self) & self

    def __ror__(self, other: object) -> Predicate:
        return _condition(other, self) | self

    def __invert__(self) -> Predicate:
        return Predicate("not", parts=(self,))

    def columns(self) -> tuple[str, ...]:
        """Columns this condition reads, in order of first use."""
        own = (self.column,) if self.column else ()
        return tuple(dict.fromkeys(own + tuple(c for p in self.parts for c in p.columns())))

    def bind(self, schema: Schema) -> None:
        """Check that columns exist and literals fit their types."""
        for part in self.parts:
            part.bind(schema)
        if not self.column:
            return
        kind = schema.type(self.column)
        text = kind == "string"
        for value in self.values:
            if isinstance(value, str) != text and kind != "time":
                raise BindError(
                    f"column {self.column!r} is {kind}, compared with {value!r}",
                    f"in {self}",
                    "compare text with text and numbers with numbers",
                )

    def mask(self, numbers: Mapping[str, Floats], words: Mapping[str, Worded]) -> Mask:
        """Rows that pass; numbers use NaN for null, words are codes with their values."""
        return self._evaluate(numbers, words)[0]

    def _evaluate(
        self, numbers: Mapping[str, Floats], words: Mapping[str, Worded]
    ) -> tuple[Mask, Mask]:
        """Where the condition is surely true, and where it is surely false."""
        if self.op in ("and", "or"):
            sides = [part._evaluate(numbers, words) for part in self.parts]
            (one, not_one), (two, not_two) = sides
            if self.op == "and":
                return one & two, not_one | not_two
            return one | two, not_one & not_two
        if self.op == "not":
            true, false = self.parts[0]._evaluate(numbers, words)
            return false, true
        if self.column in words:
            return self._evaluate_words(words[self.column])
        column = numbers[self.column]
        known = ~np.isnan(column)
        if self.op == "is null":
            return ~known, known
        true = self._holds(column)
        return true & known, ~true & known

    def _evaluate_words(self, worded: Worded) -> tuple[Mask, Mask]:
        codes, values = worded
        if self.op == "is null":
            return codes < 0, codes >= 0
        table = np.array([bool(self._holds(value)) for value in values] + [False])
        known = codes >= 0
        true = table[codes]
        return true & known, ~true & known

    def _holds(self, left: Any) -> Any:
        if self.op == "in":
            parts = [left == value for value in self.values]
            return np.logical_or.reduce(parts) if parts else left != left
        return _COMPARE[self.op](left, self.values[0])

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        out: dict[str, Any] = {"op": self.op}
        if self.column:
            out["column"] = self.column
            out["values"] = list(self.values)
        if self.parts:
            out["parts"] = [part.as_dict() for part in self.parts]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Predicate:
        """Read the JSON form."""
        parts = tuple(cls.from_dict(part) for part in data.get("parts", ()))
        return cls(data["op"], data.get("column", ""), tuple(data.get("values", ())), parts)

    def __str__(self) -> str:
        if self.op in ("and", "or"):
            return f" {self.op} ".join(f"({part})" for part in self.parts)
        if self.op == "not":
            return f"not ({self.parts[0]})"
        if self.op == "is null":
            return f"{self.column} is null"
        if self.op == "in":
            return f"{self.column} in ({', '.join(map(repr, self.values))})"
        if self.op == "=" and self.values[0] is True:
            return self.column
        return f"{self.column} {self.op} {self.values[0]!r}"


@dataclass(frozen=True, slots=True, eq=False)
class Column(NotTrueOrFalse):
    """A column by name, to be compared; made by `col`."""

    name: str

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("=", value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: Scalar) -> Predicate:
        return self._compare("<", value)

    def __le__(self, value: Scalar) -> Predicate:
        return self._compare("<=", value)

    def __gt__(self, value: Scalar) -> Predicate:
        return self._compare(">", value)

    def __ge__(self, value: Scalar) -> Predicate:
        return self._compare(">=", value)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: object) -> Predicate:
        return _condition(self, other)

    __or__ = __rand__ = __ror__ = __and__

    def __invert__(self) -> Predicate:
        return _condition(self, "~")

    def isin(self, *values: Scalar) -> Predicate:
        """Whether the column equals one of the values."""
        return Predicate("in", self.name, tuple(values))

    def is_null(self) -> Predicate:
        """Whether the column is missing."""
        return Predicate("is null", self.name)

    def between(self, low: Scalar, high: Scalar) -> Predicate:
        """Whether the column lies in the closed interval."""
        return (self >= low) & (self <= high)

    def _compare(self, op: str, value: object) -> Predicate:
        if not isinstance(value, (float, int, str, bool)):
            raise BindError(
                f"column {self.name!r} compared with {value!r}",
                f"a {type(value).__name__} is not a plain value",
                'write col("price") > 10: a number, text or True/False; '
                "SQL compares columns with each other",
            )
        return Predicate(op, self.name, (value,))


def col(name: str) -> Column:
    """Name a column to compare, as in `col("price") > 10`."""
    return Column(name)
