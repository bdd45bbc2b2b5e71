"""Expressions on columns: against worked examples and against the row-by-row reference."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamgauge.operators.evaluate import evaluate, type_of
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.streams.schema import TYPES, Schema
from tests.kit.expressions import (
    FLOATS,
    INTS,
    KINDS,
    MOMENTS,
    START,
    WORDS,
    typed_expressions,
)
from tests.oracles.expressions import value_of
from tests.profile import examples

pytestmark = pytest.mark.slow

SCHEMA = Schema.of(x="float", y="float", i="int", j="int", s="string", b="bool", ts="time")
CELLS = st.fixed_dictionaries(
    {
        "x": st.sampled_from((*FLOATS, None, math.nan, math.inf)),
        "y": st.sampled_from((*FLOATS, None)),
        "i": st.sampled_from((*INTS, None)),
        "j": st.sampled_from((0, 1, 2, -3, None)),
        "s": st.sampled_from((*WORDS, None)),
        "b": st.sampled_from((True, False, None)),
        "ts": st.sampled_from(MOMENTS),
    }
)
NULL = literal(None)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    arrow = SCHEMA.to_arrow()
    columns = [pa.array([row[f.name] for row in rows], f.type) for f in arrow]
    return pa.Table.from_arrays(columns, schema=arrow)


def plain(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.to_pylist())


def run(expr: Expr, **cells: Any) -> Any:
    rows = pa.table({"row": [0], **{name: pa.array([cell]) for name, cell in cells.items()}})
    return plain(evaluate(expr, rows, {}))[0]


def op(name: str, *args: Any) -> Expr:
    return Expr(name, tuple(a if isinstance(a, Expr) else literal(a) for a in args))


def cast(value: Any, kind: str) -> Expr:
    return Expr("cast", (value if isinstance(value, Expr) else literal(value),), kind)


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS), rows=st.lists(CELLS, min_size=1, max_size=6))
def test_columns_agree_with_rows(data: st.DataObject, kind: str, rows: list[Any]) -> None:
    expr = data.draw(typed_expressions(SCHEMA, kind))
    assert type_of(expr, SCHEMA, {}) == kind
    column = evaluate(expr, table(rows), {})
    assert column.type == (pa.int64() if kind == "duration" else TYPES[kind])
    assert plain(column) == [value_of(expr, moment(row)) for row in rows]


def moment(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "ts": table([row])["ts"][0].as_py()}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS), rows=st.lists(CELLS, min_size=2, max_size=6))
def test_the_cut_of_rows_does_not_matter(data: st.DataObject, kind: str, rows: list[Any]) -> None:
    expr = data.draw(typed_expressions(SCHEMA, kind))
    cut = data.draw(st.integers(0, len(rows)))
    whole = evaluate(expr, table(rows), {})
    parts = [evaluate(expr, table(part), {}) for part in (rows[:cut], rows[cut:])]
    assert pa.concat_arrays(parts).equals(whole)
    chunked = pa.concat_tables([table(rows[:cut]), table(rows[cut:])])
    assert evaluate(expr, chunked, {}).equals(whole)


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (op("/", 7, 2), 3.5),
        (op("/", 7, 0), None),
        (op("%", -7, 3), -1),
        (op("%", 7.5, -2), 1.5),
        (op("%", 7, 0), None),
        (op("+", 2**62, 2**62), None),
        (op("*", 2**32, -(2**31)), -(2**63)),
        (op("*", -1, -(2**63)), None),
        (op("%", -(2**63), -1), 0),
        (op("neg", -(2**63)), None),
        (op("*", 1e300, 1e300), None),
        (op("+", 1, NULL), None),
        (op("and", False, NULL), False),
        (op("and", True, NULL), None),
        (op("or", True, NULL), True),
        (op("not", NULL), None),
        (op("=", NULL, NULL), None),
        (op("is null", NULL), True),
        (op("in", 1, 2, NULL), None),
        (op("in", 2, 2, NULL), True),
        (op("in", 1, 2, 3), False),
        (op("between", 2, 1, NULL), None),
        (op("between", 0, 1, NULL), False),
        (op("like", "a%b", "a%"), True),
        (op("like", "ab", "a"), False),
        (op("like", "a\nb", "a_b"), True),
        (op("like", "a\\b", "a\\_"), True),
        (op("||", "a", "b"), "ab"),
        (op("||", "a", NULL), None),
        (op("case", NULL, 1, True, 2, 3), 2),
        (op("case", False, 1, 2.5), 2.5),
        (cast("1e2", "float"), 100.0),
        (cast(" -.5 ", "float"), -0.5),
        (cast("inf", "float"), None),
        (cast("1e999", "float"), None),
        (cast("+007", "int"), 7),
        (cast("9223372036854775808", "int"), None),
        (cast("-9223372036854775808", "int"), -(2**63)),
        (cast("1.5", "int"), None),
        (cast(-1.9, "int"), -1),
        (cast(1e19, "int"), None),
        (cast("T", "bool"), True),
        (cast("yes", "bool"), None),
        (cast(1.0, "string"), "1.0"),
        (cast(True, "string"), "true"),
        (cast(Expr("instant", value=1_500_000), "string"), "1970-01-01T00:00:01.500000Z"),
        (cast("1970-01-01T00:00:01Z", "time"), 1_000_000),
        (cast("noon", "time"), None),
        (cast("2 minutes", "duration"), 120_000_000),
        (call("ln", literal(-1)), None),
        (call("sqrt", literal(-1)), None),
        (call("round", literal(2.5)), 3.0),
        (call("round", literal(-2.345), literal(2)), -2.35),
        (call("round", literal(1234), literal(-2)), 1200.0),
        (call("abs", literal(-(2**63))), None),
        (call("power", literal(0), literal(-1)), None),
        (call("least", literal(3), NULL, literal(1.5)), 1.5),
        (call("nullif", literal(1), literal(1)), None),
        (call("coalesce", NULL, literal(2)), 2),
        (call("concat", literal("a"), NULL, literal("b")), "ab"),
        (call("substr", literal("stream"), literal(3), literal(2)), "re"),
        (call("substr", literal("stream"), literal(0), literal(2)), "s"),
        (call("replace", literal("aa"), literal(""), literal("x")), "aa"),
        (call("UPPER", literal("a")), "A"),
        (call("day", Expr("instant", value=START + 40 * 86_400_000_000)), 10),
        (call("hour", Expr("instant", value=-1)), 23),
        (call("epoch", Expr("instant", value=1_500_000)), 1.5),
        (call("bucket", Expr("instant", value=-1), Expr("duration", value=60)), -60),
        (call("bucket", Expr("instant", value=1), Expr("duration", value=0)), None),
    ],
)  # fmt: skip
def test_worked_examples(expr: Expr, value: Any) -> None:
    assert run(expr) == value
    assert value_of(expr, {}) == value


def test_a_time_is_compared_with_text() -> None:
    rows = table([dict.fromkeys(SCHEMA.names) | {"ts": START}])
    later = Expr("<", (literal("2025-12-31"), column("ts")))
    assert evaluate(later, rows, {}).to_pylist() == [True]
    assert evaluate(Expr("in", (column("ts"), literal("2026-01-01"))), rows, {})[0].as_py()


def test_text_arguments_may_differ_from_row_to_row() -> None:
    rows = pa.table({"s": ["abc", "abc", None, "xyz"], "n": [1, 2, 1, None]})
    parts = evaluate(call("substr", column("s"), column("n")), rows, {})
    assert parts.to_pylist() == ["abc", "bc", None, None]


def test_a_dictionary_column_is_read_as_its_values() -> None:
    rows = pa.table({"s": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert evaluate(op("=", column("s"), "a"), rows, {}).to_pylist() == [True, False, True]


def test_values_that_are_not_finite_are_null() -> None:
    assert run(op("is null", column("x")), x=math.inf) is True


def test_no_rows() -> None:
    for kind in KINDS:
        expr = cast(NULL, kind)
        assert len(evaluate(expr, table([]), {})) == 0


@example(kind="string")
@given(kind=st.sampled_from(KINDS))
def test_a_bare_null_fits_everywhere(kind: str) -> None:
    assert run(cast(NULL, kind)) is None
    assert type_of(cast(NULL, kind), SCHEMA, {}) == kind
