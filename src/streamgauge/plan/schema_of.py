"""The columns of a plan: names and types of what each node gives."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.operators.evaluate import type_of
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Function, Functions
from streamgauge.plan.nodes import (
    ONE_SIDED,
    Combined,
    Grouped,
    Join,
    Node,
    Numbers,
    Project,
    Resampled,
    Scan,
    Stored,
)
from streamgauge.streams.schema import TYPES, Schema

# Number of arguments and the types they may have; a result of "same" is that of the argument.
_NUMBERS = ("float", "int", "null")
_ANY = (*TYPES, "duration", "null")
_SIGNATURES: dict[str, tuple[int, tuple[str, ...], str]] = {
    "sum": (1, (*_NUMBERS, "duration"), "same"),
    "avg": (1, _NUMBERS, "float"),
    "var": (1, _NUMBERS, "float"),
    "stddev": (1, _NUMBERS, "float"),
    "median": (1, _NUMBERS, "float"),
    "approx_median": (1, _NUMBERS, "float"),
    "quantile": (2, _NUMBERS, "float"),
    "approx_quantile": (2, _NUMBERS, "float"),
    "covar": (2, _NUMBERS, "float"),
    "corr": (2, _NUMBERS, "float"),
    "min": (1, _ANY, "same"),
    "max": (1, _ANY, "same"),
    "first": (2, _ANY, "same"),
    "last": (2, _ANY, "same"),
    "approx_count_distinct": (1, _ANY, "int"),
    "f2": (1, _ANY, "int"),
    "top_k": (2, _ANY, "same"),
    "frequency": (2, _ANY, "int"),
    "join_size": (2, _ANY, "int"),
}
# Without a second argument these go by when rows came.
_LEAST = {"first": 1, "last": 1}
_WEIGHTED = ("sum", "avg", "var", "stddev")


def schema_of(node: Node, functions: Functions) -> Schema:
    """Names and types of the columns that a node gives.

    >>> from streamgauge.operators.expression import column
    >>> scan = Scan("s", Schema.of(room="string", ts="time", v="float"))
    >>> total = (("n", Expr("aggregate", value="count")),)
    >>> schema_of(Grouped(scan, (("room", column("room")),), total), {}).columns
    (('room', 'string'), ('n', 'int'))
    """
    if isinstance(node, (Scan, Stored, Numbers)):
        return node.schema
    given = tuple(functions.values())
    found = _KEPT.get(id(node))
    if found is not None and found[0] is node and found[1] == given:
        return found[2]
    schema = _schema(node, functions)
    if len(_KEPT) >= MOST_KEPT:
        _KEPT.clear()
    _KEPT[id(node)] = (node, given, schema)
    return schema


# By identity: to hash a plan takes as long as to find its schema. A kept node keeps its number.
_KEPT: dict[int, tuple[Node, tuple[Function, ...], Schema]] = {}
MOST_KEPT = 8192


def _schema(node: Node, known: Functions) -> Schema:
    below = [schema_of(part, known) for part in node.inputs()]
    if isinstance(node, Project):
        return _named(node.items, below[0], known)
    if isinstance(node, Grouped):
        keys = _named(node.by, below[0], known).columns
        sums = tuple((name, aggregate_type(e, below[0], known)) for name, e in node.aggregates)
        return Schema(keys + sums)
    if isinstance(node, Join):
        shown = below[:1] if node.kind in ONE_SIDED else below
        pairs = zip(node.names, shown, strict=node.kind not in ONE_SIDED)
        return Schema(
            tuple(
                (f"{name}.{column}" if name else column, kind)
                for name, schema in pairs
                for column, kind in schema.columns
            )
        )
    if isinstance(node, Combined):
        return _combined(node, *below)
    if isinstance(node, Resampled) and node.method == "linear":
        return Schema(
            tuple((n, "float" if n == node.column else kind) for n, kind in below[0].columns)
        )
    return below[0]


def _named(items: tuple[tuple[str, Expr], ...], schema: Schema, functions: Functions) -> Schema:
    return Schema(tuple((name, _stored(type_of(e, schema, functions))) for name, e in items))


def _stored(kind: str) -> str:
    """The type of the column that a value of some type is kept in."""
    return {"duration": "int", "null": "float"}.get(kind, kind)


def _combined(node: Combined, left: Schema, right: Schema) -> Schema:
    if len(left.columns) != len(right.columns):
        raise BindError(
            f"the sides of {node.kind.upper()} have different numbers of columns",
            f"{len(left.columns)} on the left, {len(right.columns)} on the right",
            "select as many columns on both sides",
        )
    columns = []
    for (name, one), (other, two) in zip(left.columns, right.columns, strict=True):
        if one != two and {one, two} != {"int", "float"}:
            raise BindError(
                f"columns {name!r} and {other!r} of {node.kind.upper()} have different types",
                f"{one} on the left, {two} on the right",
                "cast one of them",
            )
        columns.append((name, one if one == two else "float"))
    return Schema(tuple(columns))


def aggregate_type(expr: Expr, schema: Schema, functions: Functions) -> str:
    """Type of an aggregate over rows of a schema; a BindError when its arguments do not fit."""
    if expr.op == "filter":
        _condition(expr.args[1], schema, functions)
        return aggregate_type(expr.args[0], schema, functions)
    if expr.op == "when":
        return aggregate_type(expr.args[0], schema, functions)
    if expr.op == "call":
        for arg in expr.args:
            type_of(arg, schema, functions)
        return functions[expr.value].returns
    args = [arg for arg in expr.args if arg.op != "weight"]
    weights = [arg for arg in expr.args if arg.op == "weight"]
    if weights:
        _check_weight(expr, weights[0], schema, functions)
    if expr.value == "count":
        return _count(expr, args, schema, functions)
    if any(arg.op == "distinct" for arg in args):
        raise BindError(
            f"{expr.value} takes no DISTINCT", f"in {expr}", "only COUNT takes DISTINCT"
        )
    return _by_signature(expr, args, schema, functions)


def _by_signature(expr: Expr, args: list[Expr], schema: Schema, functions: Functions) -> str:
    if expr.value not in _SIGNATURES:
        raise BindError(
            f"unknown aggregate {expr.value!r}",
            f"known are count, {', '.join(_SIGNATURES)}",
            "write AVG(value), for example",
        )
    n_args, allowed, result = _SIGNATURES[expr.value]
    if not _LEAST.get(expr.value, n_args) <= len(args) <= n_args:
        raise BindError(
            f"{expr.value} takes {n_args} argument{'s' if n_args > 1 else ''}",
            f"got {len(args)} in {expr}",
            "write AVG(value), CORR(x, y) or QUANTILE(value, 0.95)",
        )
    kind = type_of(args[0], schema, functions)
    other = type_of(args[1], schema, functions) if len(args) > 1 else kind
    pair = other if expr.value in ("covar", "corr") else kind
    for found in (kind, pair):
        if found not in allowed:
            raise BindError(
                f"{expr.value} needs numbers, not {found}",
                f"in {expr}",
                "aggregate a number, or count rows with COUNT(*)",
            )
    if len(args) > 1:
        _check_second(expr, args[1], kind)
    return _stored(kind) if result == "same" else result


def _check_second(expr: Expr, given: Expr, kind: str) -> None:
    """What else an aggregate is told must be a constant that fits."""
    number = isinstance(given.value, (int, float)) and not isinstance(given.value, bool)
    constant = given.op == "literal" and number
    if expr.value in ("quantile", "approx_quantile"):
        fits = constant and 0.0 <= given.value <= 1.0
        wanted = "a share from 0 to 1, as in QUANTILE(value, 0.95)"
    elif expr.value == "top_k":
        fits = constant and isinstance(given.value, int) and given.value >= 1
        wanted = "a whole number from 1, as in TOP_K(item, 10)"
    elif expr.value == "frequency":
        same = isinstance(given.value, str) if kind == "string" else given.value is not None
        fits, wanted = given.op == "literal" and same, "an item, as in FREQUENCY(name, 'A')"
    else:
        return
    if not fits:
        raise BindError(f"{expr.value} does not take {given}", f"in {expr}", f"write {wanted}")


def _count(expr: Expr, args: list[Expr], schema: Schema, functions: Functions) -> str:
    if len(args) > 1:
        raise BindError(
            "count takes one argument", f"got {len(args)} in {expr}", "write COUNT(*) or COUNT(x)"
        )
    for arg in args:
        inner = arg.args[0] if arg.op == "distinct" else arg
        if inner.op != "star":
            type_of(inner, schema, functions)
    return "int"


def _check_weight(expr: Expr, weight: Expr, schema: Schema, functions: Functions) -> None:
    kind = type_of(weight.args[0], schema, functions)
    if expr.value not in _WEIGHTED or kind not in _NUMBERS:
        raise BindError(
            f"{expr.value} does not take this weight",
            f"{weight.args[0]} is {kind}",
            "weights are numbers and go with sum, avg, var and stddev",
        )


def _condition(where: Expr, schema: Schema, functions: Functions) -> None:
    kind = type_of(where, schema, functions)
    if kind not in ("bool", "null"):
        raise BindError(
            "a condition must be true or false", f"{where} is {kind}", "compare it with something"
        )
