"""Expressions run on columns, with the three-valued logic of SQL.

A value that does not exist is null: a float that is not finite, a whole number beyond 64 bits, a
division by zero, a text that does not read as what it is cast to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.time import instant
from streamgauge.operators.arithmetic import float_arithmetic, int_arithmetic, negative, scaled
from streamgauge.operators.casts import cast
from streamgauge.operators.datum import BOOL, FORMS, Datum, finite, nothing, spread, truly
from streamgauge.operators.expression import ARITHMETIC, COMPARISONS, Expr
from streamgauge.operators.expression_types import (
    NUMBERS,
    column_type,
    compared_type,
    own_function,
    result_type,
    stands_for_time,
    type_of,
)
from streamgauge.operators.functions import Functions
from streamgauge.operators.own_functions import call_own
from streamgauge.operators.scalar_functions import SCALAR_FUNCTIONS
from streamgauge.streams.schema import TYPES, type_name

__all__ = ["evaluate", "type_of"]

_COMPARE: dict[str, Callable[[Datum, Datum], Datum]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True, slots=True)
class _Typed:
    """Values with the type they have in the language."""

    kind: str
    data: Datum


def evaluate(expr: Expr, rows: pa.Table, functions: Functions) -> pa.Array:
    """The value of an expression for each row of a table.

    A duration comes out as a column of whole microseconds, a bare NULL as a column of no type.

    >>> from streamgauge.operators.expression import column, literal
    >>> ticks = pa.table({"price": [10.0, None, 12.0], "size": [3, 4, 0]})
    >>> evaluate(Expr("/", (column("price"), column("size"))), ticks, {}).to_pylist()
    [3.3333333333333335, None, None]
    """
    result = _Evaluation(rows, functions).value(expr)
    column = spread(result.data, rows.num_rows)
    return column.cast(TYPES["time"]) if result.kind == "time" else column


@dataclass(frozen=True, slots=True)
class _Evaluation:
    rows: pa.Table
    functions: Functions

    def value(self, expr: Expr) -> _Typed:
        if expr.op == "column":
            return self._column(expr)
        args = [self.value(arg) for arg in expr.args]
        kind = result_type(expr, [arg.kind for arg in args], self.functions)
        if kind == "null":
            return _Typed(kind, nothing(FORMS["null"]))
        return _Typed(kind, self._run(expr, args, kind))

    def _column(self, expr: Expr) -> _Typed:
        # A column of no type holds nothing but nulls.
        kinds = {field.name: type_name(field.type) or "null" for field in self.rows.schema}
        kind = column_type(expr, kinds)
        column = self.rows[expr.value]
        chunk = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if kind == "null":
            return _Typed(kind, nothing(FORMS["null"]))
        if kind == "time":
            return _Typed(kind, chunk.cast(TYPES["time"], safe=False).cast(FORMS[kind]))
        data = chunk if chunk.type == FORMS[kind] else chunk.cast(FORMS[kind], safe=False)
        return _Typed(kind, finite(data) if kind == "float" else data)

    def _run(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        op, n = expr.op, self.rows.num_rows
        if op in ("literal", "duration", "instant"):
            data = pa.scalar(expr.value, FORMS[kind])
            return finite(data) if kind == "float" else data
        if op in ARITHMETIC:
            return self._arithmetic(op, args, kind)
        if op == "neg":
            return pc.negate(args[0].data) if kind == "float" else negative(args[0].data, n)
        if op in COMPARISONS:
            return self._compare(op, expr, args, 1)
        if op == "call":
            return self._call(expr, args, kind)
        if op == "cast":
            return cast(args[0].data, args[0].kind, kind, n)
        special: Callable[[Expr, list[_Typed], str], Datum] = getattr(self, _SPECIAL[op])
        return special(expr, args, kind)

    def _as(self, typed: _Typed, kind: str) -> Datum:
        return cast(typed.data, typed.kind, kind, self.rows.num_rows)

    def _arithmetic(self, op: str, args: list[_Typed], kind: str) -> Datum:
        left, right = args
        n = self.rows.num_rows
        if kind == "float":
            # Two durations divided are two counts of microseconds divided.
            sides = [_Typed("int", a.data) if a.kind == "duration" else a for a in args]
            return float_arithmetic(op, self._as(sides[0], kind), self._as(sides[1], kind), n)
        if kind == "duration" and (left.kind in NUMBERS or right.kind in NUMBERS):
            span, factor = (right, left) if left.kind in NUMBERS else (left, right)
            if factor.kind == "int" and op == "*":
                return int_arithmetic(op, span.data, factor.data, n)
            return scaled(span.data, self._as(factor, "float"), n, divide=op == "/")
        return int_arithmetic(op, left.data, right.data, n)

    def _compare(self, op: str, expr: Expr, args: list[_Typed], place: int) -> Datum:
        """Compare the first operand with another one."""
        left, right = args[0], args[place]
        if stands_for_time(expr.args[0], left.kind, right.kind):
            left = _instant_of(expr.args[0])
        elif stands_for_time(expr.args[place], right.kind, left.kind):
            right = _instant_of(expr.args[place])
        kind = compared_type(left.kind, right.kind)
        assert kind is not None, f"{expr} was checked"
        if "null" in (left.kind, right.kind):
            return nothing(BOOL)
        return _COMPARE[op](self._as(left, kind), self._as(right, kind))

    def _in(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        alike = [
            i for i in range(1, len(args))
            if args[i].kind == args[0].kind and isinstance(args[i].data, pa.Scalar)
            and args[i].data.is_valid
        ]  # fmt: skip
        found: Datum = pa.scalar(False)
        if alike:
            listed = pa.array([args[i].data.as_py() for i in alike], FORMS[args[0].kind])
            member = pc.is_in(args[0].data, value_set=listed)
            found = pc.if_else(pc.is_valid(args[0].data), member, nothing(BOOL))
        for place in range(1, len(args)):
            if place not in alike:
                found = pc.or_kleene(found, self._compare("=", expr, args, place))
        return found

    def _between(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        low, high = self._compare(">=", expr, args, 1), self._compare("<=", expr, args, 2)
        return pc.and_kleene(low, high)

    def _logic(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        sides = [self._as(arg, "bool") for arg in args]
        if expr.op == "not":
            return pc.invert(sides[0])
        return (pc.and_kleene if expr.op == "and" else pc.or_kleene)(*sides)

    def _is_null(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        return pc.is_null(args[0].data)

    def _joined(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        return pc.binary_join_element_wise(*(self._as(arg, "string") for arg in args), "")

    def _like(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        pattern = expr.args[1].value
        if pattern is None or args[0].kind == "null":
            return nothing(BOOL)
        # The kernel takes a backslash as an escape; here it is a character like any other.
        return pc.match_like(args[0].data, pattern.replace("\\", "\\\\"))

    def _case(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        result = self._as(args[-1], kind)
        for when, then in reversed(list(zip(args[:-1:2], args[1:-1:2], strict=True))):
            holds = truly(self._as(when, "bool"))
            result = pc.if_else(holds, self._as(then, kind), result)
        return result

    def _call(self, expr: Expr, args: list[_Typed], kind: str) -> Datum:
        name, n = str(expr.value).lower(), self.rows.num_rows
        own = own_function(name, self.functions)
        if own is not None:
            return call_own(own, [(arg.kind, spread(arg.data, n)) for arg in args])
        function = SCALAR_FUNCTIONS[name]
        data = [
            self._as(
                arg, kind if (takes := function.takes_at(place)) in ("any", "number") else takes
            )
            for place, arg in enumerate(args)
        ]
        return function.run(data, n)


def _instant_of(expr: Expr) -> _Typed:
    return _Typed("time", pa.scalar(instant(expr.value), FORMS["time"]))


_SPECIAL = {
    "in": "_in", "between": "_between", "and": "_logic", "or": "_logic", "not": "_logic",
    "is null": "_is_null", "||": "_joined", "like": "_like", "case": "_case",
}  # fmt: skip
