"""Conditions and columns of queries of numbers, from expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamgauge.operators.evaluate import type_of
from streamgauge.operators.expression import COMPARISONS, FLIPPED, Expr
from streamgauge.operators.functions import Functions
from streamgauge.operators.predicate import Predicate
from streamgauge.streams.schema import Schema


@dataclass(slots=True)
class Derived:
    """Columns that a query computes itself, each named by its text.

    Parameters
    ----------
    schema, functions
        What expressions may read.
    columns
        The computed columns so far.

    Examples
    --------
    >>> from streamgauge.operators.expression import column, literal
    >>> derived = Derived(Schema.of(x="float"), {})
    >>> derived.column(column("x")), derived.column(Expr("*", (column("x"), literal(2))))
    ('x', 'x * 2')
    """

    schema: Schema
    functions: Functions
    columns: dict[str, Expr] = field(default_factory=dict)

    def column(self, expr: Expr) -> str:
        """Name of the column that holds an expression."""
        if expr.op == "column":
            return str(expr.value)
        self.columns[str(expr)] = expr
        return str(expr)

    def kind(self, expr: Expr) -> str:
        """Type of an expression."""
        return type_of(expr, self.schema, self.functions)

    def given(self) -> dict[str, Any]:
        """The argument of a query that says what is computed; nothing when nothing is."""
        return {"derived": tuple(self.columns.items())} if self.columns else {}


def predicate_of(where: tuple[Expr, ...], derived: Derived) -> Predicate | None:
    """Conditions as one predicate; what compares more than columns becomes a computed column."""
    whole: Predicate | None = None
    for part in where:
        one = _plain(part, derived.schema)
        if one is None:
            one = Predicate("=", derived.column(part), (True,))
        whole = one if whole is None else whole & one
    return whole


def _plain(part: Expr, schema: Schema) -> Predicate | None:
    """A condition of columns and constants; None when it has anything else."""
    if part.op in ("and", "or"):
        sides = [_plain(arg, schema) for arg in part.args]
        if sides[0] is None or sides[1] is None:
            return None
        return sides[0] & sides[1] if part.op == "and" else sides[0] | sides[1]
    if part.op == "not":
        inner = _plain(part.args[0], schema)
        return None if inner is None else ~inner
    if part.op == "column":
        return Predicate("=", part.value, (True,))
    if part.op == "between" and part.args[0].op == "column":
        low, high = (
            Expr(op, (part.args[0], arg))
            for op, arg in zip((">=", "<="), part.args[1:], strict=True)
        )
        return _plain(Expr("and", (low, high)), schema)
    return _compared(part, schema)


def _compared(part: Expr, schema: Schema) -> Predicate | None:
    op, args = part.op, part.args
    if op in COMPARISONS and args[0].op == "literal" and args[1].op == "column":
        op, args = FLIPPED[op], args[::-1]
    if op not in (*COMPARISONS, "in", "is null") or args[0].op != "column":
        return None
    kind = schema.type(args[0].value)
    values = tuple(arg.value for arg in args[1:] if arg.op == "literal" and arg.value is not None)
    # Times are compared as instants, which plain predicates do not know.
    if len(values) < len(args) - 1 or (kind == "time" and op != "is null"):
        return None
    if any(isinstance(value, str) != (kind == "string") for value in values):
        return None
    return Predicate(op, args[0].value, values)
