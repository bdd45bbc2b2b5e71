"""Types of expressions: what each operation takes and gives.

Types are float, int, string, bool, time, duration and null, the type of a bare NULL. Int and float
mix freely; a bool is no number. A constant text stands for an instant where a time is compared
with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import instant
from streamgauge.operators.expression import ARITHMETIC, COMPARISONS, Expr
from streamgauge.operators.functions import Function, Functions
from streamgauge.operators.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction
from streamgauge.streams.schema import Schema

NUMBERS = ("int", "float")
INT_LIMIT = 2**63

CASTS: dict[str, tuple[str, ...]] = {
    "float": ("int", "float", "string", "bool"),
    "int": ("int", "float", "string", "bool", "duration"),
    "string": ("int", "float", "string", "bool", "time"),
    "bool": ("int", "float", "string", "bool"),
    "time": ("time", "string"),
    "duration": ("duration", "int", "string"),
}

_TIMES: dict[tuple[str, str, str], str] = {
    ("time", "-", "time"): "duration",
    ("time", "-", "duration"): "time",
    ("time", "+", "duration"): "time",
    ("duration", "+", "time"): "time",
    ("duration", "+", "duration"): "duration",
    ("duration", "-", "duration"): "duration",
    ("duration", "%", "duration"): "duration",
    ("duration", "/", "duration"): "float",
    **{("duration", op, number): "duration" for op in ("*", "/") for number in NUMBERS},
    **{(number, "*", "duration"): "duration" for number in NUMBERS},
}


def type_of(expr: Expr, schema: Schema, functions: Functions) -> str:
    """Type of an expression over the columns of a schema, or a BindError that says what is wrong.

    >>> from streamgauge.operators.expression import column, literal
    >>> ticks = Schema.of(price="float", size="int", ts="time")
    >>> type_of(Expr("*", (column("price"), column("size"))), ticks, {})
    'float'
    >>> type_of(Expr("-", (column("ts"), column("ts"))), ticks, {})
    'duration'
    """
    kinds = [type_of(arg, schema, functions) for arg in expr.args]
    if expr.op == "column":
        return column_type(expr, dict(schema.columns))
    return result_type(expr, kinds, functions)


def column_type(expr: Expr, columns: dict[str, str]) -> str:
    """Type of a column among those there are."""
    kind = columns.get(expr.value)
    if kind is None:
        raise BindError(
            f"unknown column {expr.value!r}",
            f"there are {', '.join(columns) or 'no columns'}",
            _nearest(expr.value, columns),
        )
    return kind


def result_type(expr: Expr, kinds: Sequence[str], functions: Functions) -> str:
    """Type of an operation, given the types of its operands; columns are not asked here."""
    op = expr.op
    if op == "literal":
        return _constant(expr)
    if op in _FIXED:
        return _FIXED[op]
    if op in ARITHMETIC:
        return _arithmetic(expr, kinds)
    if op == "neg":
        return _sole(expr, kinds, (*NUMBERS, "duration"))
    if op in COMPARISONS or op in ("in", "between"):
        return _comparison(expr, kinds)
    if op in ("and", "or", "not"):
        return _all(expr, kinds, "bool", "combine conditions, such as x > 1 AND y IS NULL")
    if op in ("||", "like"):
        return _text(expr, kinds)
    if op == "case":
        return _case(expr, kinds)
    if op == "cast":
        return _cast(expr, kinds[0])
    if op == "call":
        return _call(expr, kinds, functions)
    raise BindError(
        f"{expr} cannot be computed for one row",
        f"it is of the kind {op!r}",
        "use aggregates in the select list or in HAVING, and subqueries in FROM",
    )


def common_type(kinds: Sequence[str]) -> str | None:
    """The one type that all values have; int becomes float beside float; None when there is none.

    >>> common_type(["int", "null", "float"]), common_type(["int", "string"])
    ('float', None)
    """
    known = set(kinds) - {"null"}
    if not known:
        return "null"
    if known <= set(NUMBERS):
        return "float" if "float" in known else "int"
    return known.pop() if len(known) == 1 else None


def compared_type(left: str, right: str) -> str | None:
    """The type in which two values are compared, or None when they cannot be."""
    if {left, right} == {"int", "duration"}:
        return "duration"
    return common_type((left, right))


def stands_for_time(expr: Expr, kind: str, other: str) -> bool:
    """Whether a constant text is compared with a time, and so means an instant."""
    return other == "time" and kind == "string" and expr.op == "literal"


def own_function(name: str, functions: Functions) -> Function | None:
    """A function of the user's own; it goes before one of the same name that is built in."""
    return functions.get(name.lower())


# Aggregates, so that one that is misspelled is not taken for an unknown function.
AGGREGATE_NAMES = (
    "count", "sum", "avg", "min", "max", "var", "stddev", "covar", "corr", "median", "quantile",
    "approx_count_distinct", "approx_median", "approx_quantile", "top_k", "frequency", "f2",
    "join_size", "first", "last",
)  # fmt: skip
_MEANT = {
    **dict.fromkeys(("average", "mean"), "write avg"),
    **dict.fromkeys(("variance", "var_samp"), "write var"),
    **dict.fromkeys(("std", "stdev", "stddev_samp"), "write stddev"),
    **dict.fromkeys(("log", "logarithm"), "write ln or log10"),
    **dict.fromkeys(("pow",), "write power"),
    **dict.fromkeys(("percentile", "percentile_cont"), "write quantile"),
    **dict.fromkeys(
        ("tumble", "tumble_start", "tumble_end", "tumbling"),
        "write the window after the stream: FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]",
    ),
    **dict.fromkeys(
        ("hop", "hop_start", "hop_end", "sliding"),
        "write the window after the stream: FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE]",
    ),
    **dict.fromkeys(
        ("session", "session_start", "session_end"),
        "write the window after the stream: FROM s [SESSION 30 MINUTES]",
    ),
    **dict.fromkeys(("date_trunc", "time_bucket"), "write bucket(ts, INTERVAL 1 MINUTE)"),
}
_FIXED = {"duration": "duration", "instant": "time", "is null": "bool"}


def _constant(expr: Expr) -> str:
    value = expr.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if not -INT_LIMIT <= value < INT_LIMIT:
            raise BindError(
                f"{value} is too large for a whole number",
                f"the largest is {INT_LIMIT - 1}",
                f"write {value}.0",
            )
        return "int"
    return "float" if isinstance(value, float) else "string"


def _arithmetic(expr: Expr, kinds: Sequence[str]) -> str:
    left, right = kinds
    if "null" in kinds and "string" not in kinds and "bool" not in kinds:
        return "null"
    if left in NUMBERS and right in NUMBERS:
        return "float" if expr.op == "/" or "float" in kinds else "int"
    result = _TIMES.get((left, expr.op, right))
    if result is None:
        raise BindError(
            f"cannot compute {left} {expr.op} {right}",
            f"in {expr}",
            "use numbers on both sides, or convert: CAST(x AS FLOAT)",
        )
    return result


def _sole(expr: Expr, kinds: Sequence[str], allowed: tuple[str, ...]) -> str:
    if kinds[0] not in (*allowed, "null"):
        raise BindError(
            f"cannot negate a {kinds[0]}",
            f"in {expr}",
            f"use one of {', '.join(allowed)}, or convert: CAST(x AS FLOAT)",
        )
    return kinds[0]


def _comparison(expr: Expr, kinds: Sequence[str]) -> str:
    first = kinds[0]
    for arg, kind in zip(expr.args[1:], kinds[1:], strict=True):
        if stands_for_time(arg, kind, first):
            instant(arg.value)
        elif stands_for_time(expr.args[0], first, kind):
            instant(expr.args[0].value)
        elif compared_type(first, kind) is None:
            raise BindError(
                f"cannot compare {first} with {kind}",
                f"in {expr}",
                "compare values of one type, or convert one: CAST(x AS FLOAT)",
            )
    return "bool"


def _all(expr: Expr, kinds: Sequence[str], wanted: str, hint: str) -> str:
    for arg, kind in zip(expr.args, kinds, strict=True):
        if kind not in (wanted, "null"):
            raise BindError(f"{arg} is {kind}, not {wanted}", f"in {expr}", hint)
    return wanted


def _text(expr: Expr, kinds: Sequence[str]) -> str:
    _all(expr, kinds, "string", "convert to text first: CAST(x AS STRING)")
    if expr.op == "||":
        return "string"
    if expr.args[1].op != "literal":
        raise BindError(
            "the pattern of LIKE must be a constant",
            f"in {expr}",
            "write x LIKE 'abc%', or use starts_with(x, y) or contains(x, y)",
        )
    return "bool"


def _case(expr: Expr, kinds: Sequence[str]) -> str:
    for arg, kind in zip(expr.args[:-1:2], kinds[:-1:2], strict=True):
        if kind not in ("bool", "null"):
            raise BindError(
                f"{arg} is {kind}, not bool", f"in {expr}", "write a condition after WHEN"
            )
    results = (*kinds[1:-1:2], kinds[-1])
    result = common_type(results)
    if result is None:
        raise BindError(
            "the results of CASE have different types",
            f"{', '.join(results)} in {expr}",
            "convert them to one type: CAST(x AS STRING)",
        )
    return result


def _cast(expr: Expr, kind: str) -> str:
    target = str(expr.value).lower()
    if target not in CASTS:
        raise BindError(
            f"unknown type {expr.value!r}", f"types are {', '.join(CASTS)}", _nearest(target, CASTS)
        )
    if kind not in (*CASTS[target], "null"):
        raise BindError(
            f"cannot convert {kind} to {target}",
            f"{target} can be made of {', '.join(CASTS[target])}",
            "for the number of seconds in a time write epoch(ts)",
        )
    return target


def _call(expr: Expr, kinds: Sequence[str], functions: Functions) -> str:
    name = str(expr.value).lower()
    own = own_function(name, functions)
    if own is not None:
        if own.aggregate:
            raise BindError(
                f"{name} is an aggregate", f"in {expr}", "use it in the select list or in HAVING"
            )
        if not kinds:
            raise BindError(
                f"{name} has no arguments",
                f"in {expr}",
                "give it a column, so that it knows the rows",
            )
        return own.returns
    built_in = SCALAR_FUNCTIONS.get(name)
    if built_in is None:
        raise BindError(
            f"unknown function {name!r}",
            f"there are {len(SCALAR_FUNCTIONS)} built in and {len(functions)} of your own",
            _MEANT.get(name) or _nearest(name, (*SCALAR_FUNCTIONS, *AGGREGATE_NAMES, *functions)),
        )
    return _built_in(expr, kinds, built_in)


def _built_in(expr: Expr, kinds: Sequence[str], function: ScalarFunction) -> str:
    most = None if function.repeats else len(function.takes)
    least = len(function.takes) - function.optional
    if len(kinds) < least or (most is not None and len(kinds) > most):
        wanted = f"{least}" if most == least else f"{least} to {most}" if most else f"{least} up"
        raise BindError(
            f"wrong number of arguments of {function.name}",
            f"it takes {wanted}, not {len(kinds)}, in {expr}",
            f"write {function.signature}",
        )
    for place, (arg, kind) in enumerate(zip(expr.args, kinds, strict=True)):
        allowed = function.allowed(place)
        if allowed and kind not in (*allowed, "null"):
            raise BindError(
                f"{function.name} cannot take {arg}, a {kind}",
                f"argument {place + 1} is {' or '.join(allowed)}",
                f"write {function.signature}, or convert: CAST(x AS {allowed[-1].upper()})",
            )
    if function.returns != "common":
        return function.returns
    return _matching(expr, function.mixed(kinds), function)


def _matching(expr: Expr, kinds: Sequence[str], function: ScalarFunction) -> str:
    result = common_type(kinds)
    if result is None:
        raise BindError(
            f"the arguments of {function.name} have different types",
            f"{', '.join(kinds)} in {expr}",
            "convert them to one type: CAST(x AS STRING)",
        )
    return result


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(str(name), list(known), n=1, cutoff=0.7)
    return f"write {close[0]}" if close else "check the spelling"
