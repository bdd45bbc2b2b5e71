"""What is refused, and what the message says to do."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.kernel.errors import BindError
from streamgauge.operators.evaluate import type_of
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.operators.functions import Function
from streamgauge.streams.schema import Schema

SCHEMA = Schema.of(price="float", size="int", name="string", open="bool", ts="time")
MINUTE = Expr("duration", value=60_000_000)
OWN = {
    "fair": Function("fair", "numpy:sqrt"),
    "spread": Function("spread", "numpy:ptp", aggregate=True),
}


def op(name: str, *args: Any, value: Any = None) -> Expr:
    return Expr(name, tuple(a if isinstance(a, Expr) else column(a) for a in args), value)


@pytest.mark.parametrize(
    ("expr", "kind"),
    [
        (op("+", "size", "size"), "int"),
        (op("/", "size", "size"), "float"),
        (op("*", "size", "price"), "float"),
        (op("-", "ts", MINUTE), "time"),
        (op("+", MINUTE, "ts"), "time"),
        (op("*", "price", MINUTE), "duration"),
        (op("/", MINUTE, MINUTE), "float"),
        (op("+", "price", literal(None)), "null"),
        (op("<", "ts", literal("2026-01-01")), "bool"),
        (op("<", "size", MINUTE), "bool"),
        (op("case", "open", "size", literal(None), "price", literal(1)), "float"),
        (call("coalesce", column("size"), literal(0.5)), "float"),
        (call("abs", column("size")), "int"),
        (call("ROUND", column("size")), "float"),
        (call("fair", column("price")), "float"),
        (op("cast", "name", value="INT"), "int"),
    ],
)
def test_types(expr: Expr, kind: str) -> None:
    assert type_of(expr, SCHEMA, OWN) == kind


@pytest.mark.parametrize(
    ("expr", "what", "hint"),
    [
        (column("pric"), "unknown column 'pric'", "write price"),
        (call("rond", column("price")), "unknown function 'rond'", "write round"),
        (call("fairr", column("price")), "unknown function 'fairr'", "write fair"),
        (op("=", "name", "price"), "cannot compare string with float", "CAST"),
        (op("<", "open", "size"), "cannot compare bool with int", "CAST"),
        (op("in", "price", literal("a")), "cannot compare float with string", "CAST"),
        (op("<", "ts", literal("noon")), "not an instant: 'noon'", "ISO 8601"),
        (op("+", "name", "size"), "cannot compute string + int", "CAST"),
        (op("+", "open", "size"), "cannot compute bool + int", "CAST"),
        (op("+", "ts", "ts"), "cannot compute time + time", "numbers"),
        (op("neg", "name"), "cannot negate a string", "CAST"),
        (op("and", "open", "price"), "price is float, not bool", "conditions"),
        (op("||", "name", "size"), "size is int, not string", "CAST"),
        (op("like", "name", "name"), "the pattern of LIKE must be a constant", "starts_with"),
        (op("case", "size", "size", "size"), "size is int, not bool", "WHEN"),
        (op("case", "open", "size", "name"), "the results of CASE have different types", "CAST"),
        (op("cast", "ts", value="int"), "cannot convert time to int", "epoch(ts)"),
        (op("cast", "ts", value="flot"), "unknown type 'flot'", "write float"),
        (call("ln"), "wrong number of arguments of ln", "ln(float)"),
        (call("substr", column("name")), "wrong number of arguments of substr", "[, int]"),
        (call("least"), "wrong number of arguments of least", "least(any, ...)"),
        (call("ln", column("name")), "ln cannot take name, a string", "ln(float)"),
        (call("if", column("open"), column("size"), column("name")),
         "the arguments of if have different types", "CAST"),
        (call("spread", column("price")), "spread is an aggregate", "HAVING"),
        (call("fair"), "fair has no arguments", "column"),
        (op("aggregate", "price", value="sum"), "cannot be computed for one row", "HAVING"),
        (literal(2**63), "too large for a whole number", "9223372036854775808.0"),
    ],
)  # fmt: skip
def test_mistakes(expr: Expr, what: str, hint: str) -> None:
    with pytest.raises(BindError) as raised:
        type_of(expr, SCHEMA, OWN)
    assert what in raised.value.what
    assert hint in raised.value.hint
