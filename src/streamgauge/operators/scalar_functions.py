"""Functions of a row that are built in: one table with what they take, give and do.

Each runs on columns. What does not exist, such as the logarithm of -1, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.time import DAY, HOUR, MINUTE, SECOND
from streamgauge.operators.arithmetic import float_arithmetic, int_arithmetic, negative
from streamgauge.operators.datum import (
    FLOAT,
    INT,
    Datum,
    finite,
    nothing,
    split,
    spread,
    to_float,
    truly,
    unite,
)

Run: TypeAlias = Callable[[Sequence[Datum], int], Datum]
_TAKEN: dict[str, tuple[str, ...]] = {
    "number": ("int", "float"),
    "float": ("int", "float"),
    "any": (),
}


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function of a row.

    Parameters
    ----------
    name
        Name in queries.
    takes
        Types of the arguments; `number` is int or float, `float` makes a float of both, `any` is
        any type.
    returns
        Type of the result; `common` is the one type of the arguments that are `any` or `number`.
    run
        What it does, on columns of the types it takes.
    summary
        One sentence for the documentation.
    optional
        How many of the last arguments may be left out.
    repeats
        Whether the last argument may be given many times.

    Examples
    --------
    >>> print(SCALAR_FUNCTIONS["round"].signature, SCALAR_FUNCTIONS["least"].signature)
    round(float[, int]) least(any, ...)
    """

    name: str
    takes: tuple[str, ...]
    returns: str
    run: Run
    summary: str
    optional: int = 0
    repeats: bool = False

    @property
    def signature(self) -> str:
        """How it is called, for people."""
        needed = len(self.takes) - self.optional
        inside = ", ".join(self.takes[:needed]) + (", ..." if self.repeats else "")
        return f"{self.name}({inside}{''.join(f'[, {kind}]' for kind in self.takes[needed:])})"

    def takes_at(self, place: int) -> str:
        """What the argument at a place is declared as."""
        return self.takes[min(place, len(self.takes) - 1)]

    def allowed(self, place: int) -> tuple[str, ...]:
        """Types an argument may have; none when it may have any."""
        kind = self.takes_at(place)
        return _TAKEN.get(kind, (kind,))

    def mixed(self, kinds: Sequence[str]) -> list[str]:
        """Types of those arguments that must agree."""
        return [k for i, k in enumerate(kinds) if self.takes_at(i) in ("any", "number")]


def _floats(kernel: Callable[[Datum], Datum]) -> Run:
    return lambda args, rows: finite(kernel(args[0]))


def _same(kernel: Callable[[Datum], Datum]) -> Run:
    """A kernel for floats that leaves whole numbers as they are."""
    return lambda args, rows: args[0] if args[0].type == INT else kernel(args[0])


def _absolute(args: Sequence[Datum], rows: int) -> Datum:
    value = args[0]
    if value.type == FLOAT:
        return pc.abs(value)
    return pc.if_else(pc.less(value, 0), negative(value, rows), value)


def _round(args: Sequence[Datum], rows: int) -> Datum:
    """Halves away from zero; digits beyond 15 either way are as 15."""
    column = spread(args[0], rows)
    values = np.asarray(pc.fill_null(column, 0.0))
    places = split(args[1], rows) if len(args) > 1 else (np.zeros(rows, np.int64), None)
    scale = _POWERS[np.abs(np.clip(places[0], -15, 15))]
    down = places[0] < 0
    shifted = np.where(down, values / scale, values * scale)
    cut = np.trunc(shifted)
    cut += np.sign(shifted) * (np.abs(shifted - cut) >= 0.5)
    known = np.asarray(column.is_valid())
    known = known if places[1] is None else known & places[1]
    return finite(unite(np.where(down, cut * scale, cut / scale), known, FLOAT))


_POWERS = np.array([10.0**i for i in range(16)])


def _sign(args: Sequence[Datum], rows: int) -> Datum:
    return pc.cast(pc.sign(args[0]), args[0].type)


def _power(args: Sequence[Datum], rows: int) -> Datum:
    return finite(pc.power(args[0], args[1]))


def _extreme(better: Callable[[Datum, Datum], Datum]) -> Run:
    def run(args: Sequence[Datum], rows: int) -> Datum:
        best = args[0]
        for value in args[1:]:
            take = pc.or_(truly(better(value, best)), pc.is_null(best))
            best = pc.if_else(take, value, best)
        return best

    return run


def _null_if(args: Sequence[Datum], rows: int) -> Datum:
    equal = truly(pc.equal(args[0], args[1]))
    return pc.if_else(equal, nothing(args[0].type), args[0])


def _if(args: Sequence[Datum], rows: int) -> Datum:
    return pc.if_else(truly(args[0]), args[1], args[2])


def _length(args: Sequence[Datum], rows: int) -> Datum:
    return pc.cast(pc.utf8_length(args[0]), INT)


def _text(kernel: Callable[[Datum], Datum]) -> Run:
    return lambda args, rows: kernel(args[0])


def _with_constants(kernel: Callable[..., pa.Array], form: pa.DataType) -> Run:
    """Run a kernel whose other arguments are constants, once for each set of them."""

    def run(args: Sequence[Datum], rows: int) -> Datum:
        if all(isinstance(arg, pa.Scalar) for arg in args[1:]):
            return _once(kernel, args[0], tuple(arg.as_py() for arg in args[1:]), form)
        names = [str(place) for place in range(1, len(args))]
        others = pa.table([spread(arg, rows) for arg in args[1:]], names)
        return _each(kernel, spread(args[0], rows), others, form)

    return run


def _once(
    kernel: Callable[..., Any], text: Datum, constants: tuple[Any, ...], form: pa.DataType
) -> Datum:
    if any(constant is None for constant in constants):
        return nothing(form)
    return kernel(text, *constants)


def _each(
    kernel: Callable[..., Any], text: pa.Array, others: pa.Table, form: pa.DataType
) -> pa.Array:
    places = others.append_column("place", pa.array(np.arange(len(text))))
    sets = places.group_by(others.column_names, use_threads=False).aggregate([("place", "list")])
    parts, order = [], []
    for row in sets.to_pylist():
        where = pa.array(row["place_list"], INT)
        constants = tuple(row[name] for name in others.column_names)
        part = _once(kernel, text.take(where), constants, form)
        parts.append(spread(part, len(where)))
        order.append(where)
    if not parts:
        return pa.array([], form)
    return pa.concat_arrays(parts).take(pc.sort_indices(pa.concat_arrays(order)))


def _substring(text: Datum, start: int, length: int | None = None) -> Datum:
    first = min(max(start, 1) - 1, _FAR)
    if length is None:
        return pc.utf8_slice_codeunits(text, first)
    end = min(max(start + length - 1, first), _FAR)
    return pc.utf8_slice_codeunits(text, first, stop=end)


_FAR = 2**31 - 2


def _replace(text: Datum, old: str, new: str) -> Datum:
    return pc.replace_substring(text, old, new) if old else text


def _concat(args: Sequence[Datum], rows: int) -> Datum:
    # The kernel's own way to skip nulls loses rows that have nothing else.
    return pc.binary_join_element_wise(*(pc.fill_null(arg, "") for arg in args), "")


def _part_of_time(width: int, around: int | None) -> Run:
    """How many whole widths a time has, counted anew in each of the larger ones."""

    def run(args: Sequence[Datum], rows: int) -> Datum:
        values, known = split(args[0], rows)
        parts = values // width
        return unite(parts if around is None else parts % (around // width), known)

    return run


def _day(args: Sequence[Datum], rows: int) -> Datum:
    values, known = split(args[0], rows)
    days = (values // DAY).astype("datetime64[D]")
    return unite((days - days.astype("datetime64[M]")).astype(np.int64) + 1, known)


def _bucket(args: Sequence[Datum], rows: int) -> Datum:
    (values, known), (width, sure) = split(args[0], rows), split(args[1], rows)
    usable = width > 0
    safe = np.where(usable, width, 1)
    past = pa.array(np.mod(values, safe))
    return int_arithmetic("-", unite(values, known & sure & usable), past, rows)


def _epoch(args: Sequence[Datum], rows: int) -> Datum:
    return float_arithmetic("/", to_float(args[0]), pa.scalar(float(SECOND)), rows)


_LISTED = (
    ScalarFunction("abs", ("number",), "common", _absolute, "The distance from 0."),
    ScalarFunction(
        "round", ("float", "int"), "float", _round,
        "The nearest number with this many decimals, 0 unless given; halves away from 0.", 1,
    ),
    ScalarFunction("floor", ("number",), "common", _same(pc.floor), "The next whole number below."),
    ScalarFunction("ceil", ("number",), "common", _same(pc.ceil), "The next whole number above."),
    ScalarFunction("sqrt", ("float",), "float", _floats(pc.sqrt), "The square root."),
    ScalarFunction("ln", ("float",), "float", _floats(pc.ln), "The natural logarithm."),
    ScalarFunction("log10", ("float",), "float", _floats(pc.log10), "The logarithm to base 10."),
    ScalarFunction("exp", ("float",), "float", _floats(pc.exp), "e to this power."),
    ScalarFunction("power", ("float", "float"), "float", _power, "The first to the second power."),
    ScalarFunction("sign", ("number",), "common", _sign, "-1, 0 or 1."),
    ScalarFunction(
        "least", ("any",), "common", _extreme(pc.less), "The smallest that is not null.",
        repeats=True,
    ),
    ScalarFunction(
        "greatest", ("any",), "common", _extreme(pc.greater), "The largest that is not null.",
        repeats=True,
    ),
    ScalarFunction(
        "coalesce", ("any",), "common", lambda args, rows: pc.coalesce(*args),
        "The first that is not null.", repeats=True,
    ),
    ScalarFunction("nullif", ("any", "any"), "common", _null_if, "The first; null if equal."),
    ScalarFunction(
        "if", ("bool", "any", "any"), "common", _if,
        "The second if the condition is true, else the third.",
    ),
    ScalarFunction("length", ("string",), "int", _length, "How many characters a text has."),
    ScalarFunction("lower", ("string",), "string", _text(pc.utf8_lower), "The text in lower case."),
    ScalarFunction("upper", ("string",), "string", _text(pc.utf8_upper), "The text in upper case."),
    ScalarFunction(
        "trim", ("string",), "string", _text(pc.utf8_trim_whitespace),
        "The text without white space at its ends.",
    ),
    ScalarFunction(
        "substr", ("string", "int", "int"), "string",
        _with_constants(_substring, pa.string()),
        "The text from a place on, the first is 1, of at most this length.", 1,
    ),
    ScalarFunction(
        "replace", ("string", "string", "string"), "string",
        _with_constants(_replace, pa.string()),
        "The text with the third wherever the second was.",
    ),
    ScalarFunction(
        "concat", ("string",), "string", _concat, "The texts joined; null is no text.", repeats=True
    ),
    ScalarFunction(
        "starts_with", ("string", "string"), "bool",
        _with_constants(pc.starts_with, pa.bool_()), "Whether the first begins with the second.",
    ),
    ScalarFunction(
        "contains", ("string", "string"), "bool",
        _with_constants(pc.match_substring, pa.bool_()), "Whether the second is in the first.",
    ),
    ScalarFunction(
        "second", ("time",), "int", _part_of_time(SECOND, MINUTE), "Second of the minute, from 0."
    ),
    ScalarFunction(
        "minute", ("time",), "int", _part_of_time(MINUTE, HOUR), "Minute of the hour, from 0."
    ),
    ScalarFunction("hour", ("time",), "int", _part_of_time(HOUR, DAY), "Hour of the day, from 0."),
    ScalarFunction("day", ("time",), "int", _day, "Day of the month, from 1."),
    ScalarFunction(
        "getminute", ("time",), "int", _part_of_time(MINUTE, None), "Whole minutes since 1970."
    ),
    ScalarFunction("epoch", ("time",), "float", _epoch, "Seconds since 1970."),
    ScalarFunction(
        "bucket", ("time", "duration"), "time", _bucket,
        "The time rounded down to a whole number of durations since 1970.",
    ),
)  # fmt: skip

SCALAR_FUNCTIONS: dict[str, ScalarFunction] = {item.name: item for item in _LISTED}
