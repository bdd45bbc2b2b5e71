"""From the tree of an expression to `Expr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lark import Token

from streamgauge.kernel.time import Duration
from streamgauge.language import constants
from streamgauge.language.mistakes import Misuse
from streamgauge.language.statements import Query
from streamgauge.operators.expression import Expr, column, literal

AGGREGATES = frozenset(
    {
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "var",
        "stddev",
        "covar",
        "corr",
        "median",
        "quantile",
        "approx_count_distinct",
        "top_k",
        "frequency",
        "f2",
        "join_size",
        "first",
        "last",
    }
)
_BALANCED_FROM = 32


def _binary(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda left, right: Expr(op, (left, right))


def _refused(build: Callable[..., Expr]) -> Callable[..., Expr]:
    return lambda *args: Expr("not", (build(*args),))


def _chain(op: str) -> Callable[..., Expr]:
    def build(*parts: Expr) -> Expr:
        # A left-deep tree of a thousand conditions would be too deep to walk.
        if len(parts) > _BALANCED_FROM:
            half = len(parts) // 2
            return Expr(op, (build(*parts[:half]), build(*parts[half:])))
        whole = parts[0]
        for part in parts[1:]:
            whole = Expr(op, (whole, part))
        return whole

    return build


def _negative(of: Expr) -> Expr:
    if of.op == "literal" and type(of.value) in (int, float):
        return literal(-of.value)
    return Expr("neg", (of,))


def _between(value: Expr, low: Expr, high: Expr) -> Expr:
    return Expr("between", (value, low, high))


def _in_list(value: Expr, listed: tuple[Expr, ...]) -> Expr:
    return Expr("in", (value, *listed))


def _in_query(value: Expr, query: Query) -> Expr:
    return Expr("in subquery", (value,), query)


def _is_null(value: Expr) -> Expr:
    return Expr("is null", (value,))


def _case(operand: Expr | None, *rest: Any) -> Expr:
    *branches, otherwise = rest
    args: list[Expr] = []
    for when, then in branches:
        args += [when if operand is None else Expr("=", (operand, when)), then]
    return Expr("case", (*args, literal(None) if otherwise is None else otherwise))


def _call(name: str, args: tuple[Expr, ...] | None, condition: Expr | None) -> Expr:
    name = name.lower()
    given = args or ()
    aggregate = name in AGGREGATES
    if given[:1] == (Expr("star"),):
        if name != "count":
            raise Misuse(f"{name}(*) has no meaning", "only COUNT takes *; name a column")
        given = ()
    elif aggregate and not given:
        raise Misuse(f"{name} needs an argument", f"write {name.upper()}(column)")
    found = Expr("aggregate" if aggregate else "call", given, name)
    return found if condition is None else Expr("filter", (found, condition))


def _estimate(owner: str, kind: str, asked: Expr) -> Expr:
    """SUMMARY.ESTIMATE.COUNT(x), another way to write COUNT(x) in a preference."""
    plain = asked.op == "aggregate" and asked.value in ("count", "frequency")
    if (owner.lower(), kind.lower()) != ("summary", "estimate") or not plain:
        raise Misuse(
            f"{owner}.{kind}.{asked} is no column and no function",
            "write table.column, or SUMMARY.ESTIMATE.COUNT(column) in a preference",
        )
    return asked


def _weighted(value: Expr, weight: Expr) -> tuple[Expr, ...]:
    return (value, Expr("weight", (weight,)))


def _arguments(*args: Expr | tuple[Expr, ...]) -> tuple[Expr, ...]:
    flat: list[Expr] = []
    for arg in args:
        flat.extend(arg if isinstance(arg, tuple) else (arg,))
    return tuple(flat)


def _when(aggregate: Expr, condition: Expr) -> Expr:
    if aggregate.op not in ("aggregate", "filter", "call"):
        raise Misuse(
            "WHEN stands after an aggregate", "write COUNT(*) WHEN x > 2 * AVG(x), in brackets"
        )
    if not condition.has("aggregate", "call"):
        raise Misuse(
            "WHEN needs an aggregate in its condition",
            "write COUNT(*) FILTER (WHERE ...) for a plain condition",
        )
    return Expr("when", (aggregate, condition))


def _duration(span: Duration) -> Expr:
    return Expr("duration", value=span)


def _constant(of: Expr | float) -> Any:
    return of.value if isinstance(of, Expr) else of


BUILDERS: dict[str, Callable[..., Any]] = {
    "name": str,
    "names": lambda *names: names,
    "exprs": lambda *exprs: exprs,
    "number_literal": lambda token: literal(constants.number(token)),
    "text_literal": lambda token: literal(constants.text(token)),
    "true": lambda: literal(True),
    "false": lambda: literal(False),
    "null": lambda: literal(None),
    "constant": _constant,
    "negative_constant": lambda value: -value,
    "column": column,
    "column_of": lambda table, name: column(name, table),
    "estimate": _estimate,
    "parameter": lambda token: Expr("parameter", value=token[1:]),
    "disjunction": _chain("or"),
    "conjunction": _chain("and"),
    "not_": lambda of: Expr("not", (of,)),
    "equal": _binary("="),
    "unequal": _binary("!="),
    "less": _binary("<"),
    "at_most": _binary("<="),
    "more": _binary(">"),
    "at_least": _binary(">="),
    "like": _binary("like"),
    "not_like": _refused(_binary("like")),
    "between": _between,
    "not_between": _refused(_between),
    "in_list": _in_list,
    "not_in_list": _refused(_in_list),
    "in_query": _in_query,
    "not_in_query": _refused(_in_query),
    "is_null": _is_null,
    "is_not_null": _refused(_is_null),
    "joined_text": _binary("||"),
    "add": _binary("+"),
    "subtract": _binary("-"),
    "multiply": _binary("*"),
    "divide": _binary("/"),
    "remainder": _binary("%"),
    "negative": _negative,
    "subquery": lambda query: Expr("subquery", value=query),
    "exists": lambda query: Expr("exists", value=query),
    "case": _case,
    "case_branch": lambda when, then: (when, then),
    "cast": lambda value, kind: Expr("cast", (value,), kind),
    "interval": _duration,
    "interval_text": lambda text, unit: _duration(constants.interval_text(text, unit)),
    "timestamp": lambda text: Expr("instant", value=constants.moment(text)),
    "call": _call,
    "star_argument": lambda: (Expr("star"),),
    "arguments": _arguments,
    "distinct_argument": lambda value: Expr("distinct", (value,)),
    "weighted_argument": _weighted,
    "filter": lambda condition: condition,
    "when": _when,
}


def name_of(token: Token | str | None) -> str:
    """A name, or nothing."""
    return "" if token is None else str(token)
