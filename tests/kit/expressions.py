"""Random expressions for hypothesis, each of the type that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from streamgauge.kernel.time import MINUTE, SECOND, instant
from streamgauge.operators.expression import COMPARISONS, Expr, call, column, literal
from streamgauge.streams.schema import Schema

START = instant("2026-01-01T00:00:00Z")
KINDS = ("float", "int", "string", "bool", "time", "duration")
WORDS = ("", "a", "ab", "b", "A b", "1", "2.5", "true", "%", "a_b", "x\\y", "2026-01-01", "é")
FLOATS = (0.0, 1.0, -1.5, 0.125, 2.0, 7.25, -3.0, 1e300, 0.5)
INTS = (0, 1, -1, 2, 3, 7, -5, 60, 2**62, -(2**63), 2**53 + 1)
SPANS = (0, 1, SECOND, MINUTE, -SECOND, 90 * SECOND)
MOMENTS = (START, START + SECOND, START + 90 * MINUTE + 1, -MINUTE - 1, 0)
PATTERNS = ("a%", "%b", "_", "%", "a_b", "%\\%", "")

Inner = Callable[[str], SearchStrategy[Expr]]


def typed_expressions(schema: Schema, kind: str, *, depth: int = 3) -> SearchStrategy[Expr]:
    """An expression over the columns of a schema that has the type `kind`.

    Branches of CASE and arguments that must agree have one type; int and float mix elsewhere.
    """
    return _typed(schema, kind, depth)


# Each strategy is made once: made anew inside each other they would be exponentially many.
@cache
def _typed(schema: Schema, kind: str, depth: int) -> SearchStrategy[Expr]:
    leaf = _leaves(schema, kind)
    if depth == 0:
        return leaf

    def inner(of: str) -> SearchStrategy[Expr]:
        return _typed(schema, of, depth - 1)

    return st.one_of(leaf, *_COMPOUND[kind](inner), *_anything(inner, kind))


def _leaves(schema: Schema, kind: str) -> SearchStrategy[Expr]:
    constants: dict[str, SearchStrategy[Expr]] = {
        "float": st.sampled_from(FLOATS).map(literal),
        "int": st.sampled_from(INTS).map(literal),
        "string": st.sampled_from(WORDS).map(literal),
        "bool": st.booleans().map(literal),
        "time": st.sampled_from(MOMENTS).map(lambda at: Expr("instant", value=at)),
        "duration": st.sampled_from(SPANS).map(lambda span: Expr("duration", value=span)),
    }
    names = [name for name, of in schema.columns if of == kind]
    if not names:
        return constants[kind]
    return st.one_of(st.sampled_from(names).map(column), constants[kind])


def _node(op: str, *args: SearchStrategy[Expr], value: Any = None) -> SearchStrategy[Expr]:
    return st.tuples(*args).map(lambda parts: Expr(op, parts, value))


def _called(name: str, *args: SearchStrategy[Expr]) -> SearchStrategy[Expr]:
    return st.tuples(*args).map(lambda parts: call(name, *parts))


def _ops(ops: tuple[str, ...], *args: SearchStrategy[Expr]) -> SearchStrategy[Expr]:
    return st.builds(lambda op, parts: Expr(op, parts), st.sampled_from(ops), st.tuples(*args))


def _cast(kind: str, inner: SearchStrategy[Expr]) -> SearchStrategy[Expr]:
    return _node("cast", inner, value=kind)


def _anything(inner: Inner, kind: str) -> list[SearchStrategy[Expr]]:
    """What can be of any type."""
    one = inner(kind)
    return [
        _node("case", inner("bool"), one, inner("bool"), one, one),
        _called("coalesce", one, one),
        _called("if", inner("bool"), one, one),
        _called("nullif", one, one),
        _called("least", one, one, one),
        _called("greatest", one, one),
    ]


def _float(inner: Inner) -> list[SearchStrategy[Expr]]:
    x, i = inner("float"), inner("int")
    number = st.one_of(x, i)
    return [
        _ops(("+", "-", "*", "/", "%"), x, number),
        _node("/", i, i),
        _node("/", inner("duration"), inner("duration")),
        _node("neg", x),
        st.sampled_from(("abs", "floor", "ceil", "sign")).flatmap(lambda name: _called(name, x)),
        st.sampled_from(("sqrt", "ln", "log10", "exp", "round")).flatmap(
            lambda name: _called(name, number)
        ),
        _called("power", number, number),
        _called("round", x, i),
        _called("epoch", inner("time")),
        *(_cast("float", inner(kind)) for kind in ("int", "string", "bool")),
    ]


def _int(inner: Inner) -> list[SearchStrategy[Expr]]:
    i, ts = inner("int"), inner("time")
    parts = ("second", "minute", "hour", "day", "getminute")
    return [
        _ops(("+", "-", "*", "%"), i, i),
        _node("neg", i),
        st.sampled_from(("abs", "floor", "ceil", "sign")).flatmap(lambda name: _called(name, i)),
        _called("length", inner("string")),
        st.sampled_from(parts).flatmap(lambda name: _called(name, ts)),
        *(_cast("int", inner(kind)) for kind in ("float", "string", "bool", "duration")),
    ]


def _string(inner: Inner) -> list[SearchStrategy[Expr]]:
    s, i = inner("string"), inner("int")
    return [
        _node("||", s, s),
        st.sampled_from(("lower", "upper", "trim")).flatmap(lambda name: _called(name, s)),
        _called("substr", s, i),
        _called("substr", s, i, i),
        _called("replace", s, s, s),
        _called("concat", s, s, s),
        *(_cast("string", inner(kind)) for kind in ("float", "int", "bool", "time")),
    ]


def _bool(inner: Inner) -> list[SearchStrategy[Expr]]:
    b, s = inner("bool"), inner("string")
    number = st.one_of(inner("float"), inner("int"))
    same = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(inner(kind), inner(kind)))
    return [
        st.builds(lambda op, pair: Expr(op, pair), st.sampled_from(COMPARISONS), same),
        _ops(COMPARISONS, number, number),
        _ops(COMPARISONS, inner("time"), st.just(literal("2026-01-01T00:00:01Z"))),
        _ops(("and", "or"), b, b),
        _node("not", b),
        st.sampled_from(KINDS).flatmap(lambda kind: _node("is null", inner(kind))),
        _node("between", number, number, number),
        _node("in", number, number, st.just(literal(1)), st.just(literal(2.0))),
        _node("in", s, st.just(literal("a")), st.just(literal("b")), s),
        _node("in", inner("int"), st.just(literal(7)), st.just(literal(None))),
        _node("like", s, st.sampled_from(PATTERNS).map(literal)),
        st.sampled_from(("starts_with", "contains")).flatmap(lambda name: _called(name, s, s)),
        *(_cast("bool", inner(kind)) for kind in ("int", "float", "string")),
    ]


def _time(inner: Inner) -> list[SearchStrategy[Expr]]:
    ts, span = inner("time"), inner("duration")
    return [
        _ops(("+", "-"), ts, span),
        _node("+", span, ts),
        _called("bucket", ts, span),
        _cast("time", inner("string")),
    ]


def _duration(inner: Inner) -> list[SearchStrategy[Expr]]:
    span, number = inner("duration"), st.one_of(inner("float"), inner("int"))
    return [
        _node("-", inner("time"), inner("time")),
        _ops(("+", "-", "%"), span, span),
        _ops(("*", "/"), span, number),
        _node("*", number, span),
        _node("neg", span),
        _cast("duration", inner("int")),
        _cast("duration", inner("string")),
    ]


_COMPOUND: dict[str, Callable[[Inner], list[SearchStrategy[Expr]]]] = {
    "float": _float,
    "int": _int,
    "string": _string,
    "bool": _bool,
    "time": _time,
    "duration": _duration,
}
