"""Expressions, evaluated row by row in plain Python: slow, and right by reading it.

The kernels of `operators/evaluate.py` must agree. Nulls are None. A time is a `Moment` and a
duration a `Span`, both whole microseconds, so that every value says what it is. Results of CASE and
of functions such as coalesce are taken as they are: a whole number beside floats stays one.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import DAY, HOUR, MINUTE, SECOND, duration, instant, instant_text
from streamgauge.operators.expression import ARITHMETIC, COMPARISONS, Expr
from streamgauge.operators.functions import Function, Functions


class Moment(int):
    """A time."""


class Span(int):
    """A duration."""


def value_of(expr: Expr, row: Mapping[str, Any], functions: Functions | None = None) -> Any:
    """The value of an expression for one row.

    >>> from streamgauge.operators.expression import column, literal
    >>> value_of(Expr("/", (column("a"), literal(2))), {"a": 3})
    1.5
    """
    op = expr.op
    if op == "column":
        return _cell(row[expr.value])
    if op == "literal":
        return _cell(expr.value)
    if op == "duration":
        return Span(expr.value)
    if op == "instant":
        return Moment(expr.value)
    args = [value_of(arg, row, functions) for arg in expr.args]
    if op == "call":
        return _call(expr, args, functions or {})
    if op in ARITHMETIC:
        return _fits(_arithmetic(op, *args))
    if op in COMPARISONS:
        return _compare(op, *args)
    if op == "cast":
        return _cast(args[0], str(expr.value).lower())
    return _OTHERS[op](args)


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return Moment(instant(value))
    return _fits(value)


def _fits(value: Any) -> Any:
    """None for what has no place in a column."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return value


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    spans = isinstance(left, Span) + isinstance(right, Span)
    moments = isinstance(left, Moment) + isinstance(right, Moment)
    if moments:
        return _kept(Span if moments == 2 else Moment, _number(op, int(left), int(right)))
    if spans == 2:
        result = _number(op, int(left), int(right))
        return result if op == "/" else _kept(Span, result)
    if spans == 1:
        if op == "*" and isinstance(left, int) and isinstance(right, int):
            return _kept(Span, int(left) * int(right))
        scaled = _fits(_number(op, float(left), float(right)))
        return None if scaled is None else _kept(Span, round(scaled))
    return _number(op, left, right)


def _kept(kind: type[int], value: int | None) -> int | None:
    value = _fits(value)
    return None if value is None else kind(value)


def _number(op: str, left: Any, right: Any) -> Any:
    mixed = isinstance(left, float) or isinstance(right, float) or op == "/"
    if mixed:
        left, right = float(left), float(right)
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if right == 0:
        return None
    if op == "/":
        return left / right
    if mixed:
        return math.fmod(left, right)
    return abs(left) % abs(right) * (1 if left >= 0 else -1)


def _compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, str) != isinstance(right, str):
        left, right = (instant(x) if isinstance(x, str) else x for x in (left, right))
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    holds: bool = _HOLDS[op](left, right)
    return holds


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _and(args: list[Any]) -> bool | None:
    if False in args:
        return False
    return None if None in args else True


def _not(args: list[Any]) -> bool | None:
    return None if args[0] is None else not args[0]


def _or(args: list[Any]) -> bool | None:
    if True in args:
        return True
    return None if None in args else False


def _in(args: list[Any]) -> bool | None:
    return _or([_compare("=", args[0], item) for item in args[1:]])


def _between(args: list[Any]) -> bool | None:
    return _and([_compare(">=", args[0], args[1]), _compare("<=", args[0], args[2])])


def _like(args: list[Any]) -> bool | None:
    text, pattern = args
    if text is None or pattern is None:
        return None
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _case(args: list[Any]) -> Any:
    for when, then in zip(args[:-1:2], args[1:-1:2], strict=True):
        if when is True:
            return then
    return args[-1]


def _negative(args: list[Any]) -> Any:
    value = args[0]
    if value is None:
        return None
    return _kept(Span, -value) if isinstance(value, Span) else _fits(-value)


_OTHERS: dict[str, Callable[[list[Any]], Any]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "in": _in,
    "between": _between,
    "like": _like,
    "case": _case,
    "neg": _negative,
    "is null": lambda args: args[0] is None,
    "||": lambda args: None if None in args else args[0] + args[1],
}


def _cast(value: Any, target: str) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return value if target == "string" else _read(value.strip(), target)
    if target == "string":
        return _written(value)
    if target == "bool":
        return value != 0
    if target == "float":
        return float(value)
    if target == "int":
        return _fits(int(value))
    return Span(value) if target == "duration" else Moment(value)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return instant_text(value) if isinstance(value, Moment) else repr(value)


def _read(text: str, target: str) -> Any:
    if target == "float":
        number = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
        return _fits(float(text)) if re.fullmatch(number, text) else None
    if target == "int":
        return _fits(int(text)) if re.fullmatch("[+-]?[0-9]+", text) else None
    if target == "bool":
        words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
        return words.get(text.lower())
    try:
        return Moment(instant(text)) if target == "time" else Span(duration(text))
    except BindError:
        return None


def _call(expr: Expr, args: list[Any], functions: Functions) -> Any:
    name = str(expr.value).lower()
    if name in functions:
        return _call_own(name, args, functions)
    if name in _TAKES_NULL:
        return _TAKES_NULL[name](args)
    if None in args:
        return None
    try:
        return _fits(_FUNCTIONS[name](*args))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def loaded(function: Function) -> Callable[..., Any]:
    """A function in this process: the reference serves tests, which choose what they import."""
    if (given := function.given()) is not None:
        return given
    module, _, name = function.target.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def _call_own(name: str, args: list[Any], functions: Functions) -> Any:
    columns = [
        np.array([arg], object) if isinstance(arg, str) else
        np.array([math.nan if arg is None else float(arg)])
        for arg in args
    ]  # fmt: skip
    result = np.asarray(loaded(functions[name])(*columns)).tolist()[0]
    kind = functions[name].returns
    if result is None or (isinstance(result, float) and not math.isfinite(result)):
        return None
    makers: dict[str, Callable[[Any], Any]] = {
        "float": float, "int": int, "bool": bool, "string": str, "time": Moment,
    }  # fmt: skip
    return makers[kind](result)


def _least(args: list[Any]) -> Any:
    return min((arg for arg in args if arg is not None), default=None)


def _greatest(args: list[Any]) -> Any:
    return max((arg for arg in args if arg is not None), default=None)


_TAKES_NULL: dict[str, Callable[[list[Any]], Any]] = {
    "least": _least,
    "greatest": _greatest,
    "coalesce": lambda args: next((arg for arg in args if arg is not None), None),
    "nullif": lambda args: None if _compare("=", *args) else args[0],
    "if": lambda args: args[1] if args[0] is True else args[2],
    "concat": lambda args: "".join(arg for arg in args if arg is not None),
}


def _round(x: float, digits: int = 0) -> float:
    digits = max(-15, min(15, digits))
    scale = 10.0 ** abs(digits)
    shifted = x / scale if digits < 0 else x * scale
    if math.isinf(shifted):
        raise OverflowError
    cut = math.trunc(shifted)
    if abs(shifted - cut) >= 0.5:
        cut += 1 if shifted > 0 else -1
    return cut * scale if digits < 0 else cut / scale


def _substring(text: str, start: int, length: int | None = None) -> str:
    places = range(1, len(text) + 1)
    end = len(text) + 1 if length is None else start + length
    return "".join(text[place - 1] for place in places if start <= place < end)


def _bucket(ts: int, width: int) -> Moment | None:
    return Moment(ts - ts % width) if width > 0 else None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "round": lambda x, *digits: _round(float(x), *digits),
    "floor": lambda x: type(x)(math.floor(x)),
    "ceil": lambda x: type(x)(math.ceil(x)),
    "sqrt": math.sqrt,
    "ln": math.log,
    "log10": math.log10,
    "exp": math.exp,
    "power": math.pow,
    "sign": lambda x: type(x)((x > 0) - (x < 0)),
    "length": len,
    "lower": str.lower,
    "upper": str.upper,
    "trim": str.strip,
    "substr": _substring,
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
    "starts_with": str.startswith,
    "contains": operator.contains,
    "second": lambda ts: ts // SECOND % 60,
    "minute": lambda ts: ts // MINUTE % 60,
    "hour": lambda ts: ts // HOUR % 24,
    "day": lambda ts: datetime.fromisoformat(instant_text(ts // DAY * DAY)).day,
    "getminute": lambda ts: ts // MINUTE,
    "epoch": lambda ts: ts / 1e6,
    "bucket": _bucket,
}
