"""Preference: the expressions that say what a region promises, bound to columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr, column
from streamgauge.plan.names import Scope, Visible
from streamgauge.promise.priority import KNOWN
from streamgauge.streams.stream import Stream

ESTIMATES = ("count", "frequency")


def estimate(name: str, kind: str = "count") -> Expr:
    """The estimate of rows with the same value of a column, or of their share.

    >>> print(estimate("a.item"))
    COUNT(a.item)
    """
    return Expr("estimate", (column(name),), kind)


def estimated(expr: Expr) -> tuple[str, ...]:
    """Columns whose estimates an expression reads, each once."""
    parts = (part for part in expr.walk() if part.op == "estimate")
    return tuple(dict.fromkeys(str(part.args[0].value) for part in parts))


def of_join(expr: Expr, sides: Mapping[str, Stream]) -> Expr:
    """An expression over estimates of the streams of a join, by alias."""
    columns = [
        Visible(alias, name, f"{alias}.{name}")
        for alias, stream in sides.items()
        for name in stream.schema.names
    ]
    found = _bound(expr, Scope(tuple(columns)))
    own = _of_row(found)
    if own:
        raise BindError(
            "a region of a join is judged by estimates alone",
            f"{own[0]} in the preference {expr} belongs to one row",
            f"write COUNT({own[0]}), or leave it out",
        )
    _refuse_nothing(found, f"COUNT({next(iter(sides))}.column)")
    return found


def of_one(expr: Expr, stream: Stream, alias: str, also: str | None) -> Expr:
    """An expression over estimates and columns of one stream; `also` is what is aggregated."""
    names = stream.schema.names
    found = _bound(expr, Scope(tuple(Visible(alias, name, name) for name in names)))
    columns = estimated(found)
    _refuse_nothing(found, f"COUNT({names[0]})")
    if len(columns) > 1:
        raise BindError(
            "one summary says what regions promise",
            f"the preference {expr} asks of {' and '.join(columns)}",
            f"choose one, such as COUNT({columns[0]})",
        )
    for name in _of_row(found):
        if name not in (columns[0], also) or not stream.schema.numeric(name):
            raise BindError(
                f"column {name!r} is not known of a region",
                f"it is in the preference {expr}; known are numbers of the summarised column"
                + (f" and of {also!r}" if also else ""),
                f"write COUNT({columns[0]}), or create a summary of {name!r}",
            )
    return found


def arranged(exprs: tuple[Expr, ...], aliases: tuple[str, ...]) -> tuple[Expr, ...]:
    """One expression for all streams of a join, or one for each, in the order of the streams.

    >>> swapped = (estimate("b.k"), estimate("a.k"))
    >>> [str(expr) for expr in arranged(swapped, ("a", "b"))]
    ['COUNT(a.k)', 'COUNT(b.k)']
    """
    if len(exprs) == 1:
        return exprs
    # What is about fewer streams has less choice of its place.
    about = sorted(exprs, key=lambda expr: len(_aliases(expr)))
    placed: dict[str, Expr] = {}
    for expr in about:
        place = next((a for a in aliases if a in _aliases(expr) and a not in placed), None)
        if place is not None:
            placed[place] = expr
    if len(placed) < max(len(aliases), len(exprs)):
        raise BindError(
            "a preference has one expression for all streams, or one for each",
            f"{len(exprs)} expressions, {len(aliases)} streams: {', '.join(aliases)}",
            f"write {', '.join(f'COUNT({alias}.column)' for alias in aliases)}",
        )
    return tuple(placed[alias] for alias in aliases)


def _aliases(expr: Expr) -> set[str]:
    return {name.rpartition(".")[0] for name in estimated(expr)}


def _bound(expr: Expr, scope: Scope) -> Expr:
    """The expression with its estimates and columns as the plan calls them."""
    if expr.op == "aggregate":
        args = expr.args
        if expr.value not in ESTIMATES or len(args) != 1 or args[0].op != "column":
            raise _unknown(expr)
        return Expr("estimate", (scope.resolved(args[0]),), expr.value)
    if expr.op == "column":
        return scope.resolved(expr)
    number = isinstance(expr.value, (int, float)) and not isinstance(expr.value, bool)
    if expr.op not in KNOWN or (expr.op == "literal" and not number):
        raise _unknown(expr)
    return replace(expr, args=tuple(_bound(arg, scope) for arg in expr.args))


def _unknown(expr: Expr) -> BindError:
    return BindError(
        "a preference is arithmetic over estimates",
        f"{expr} is not known there",
        "use COUNT(column), FREQUENCY(column), numbers, + - * / and brackets",
    )


def _of_row(expr: Expr) -> list[str]:
    """Columns of the row itself, outside estimates."""
    if expr.op == "estimate":
        return []
    if expr.op == "column":
        return [str(expr.value)]
    return [name for arg in expr.args for name in _of_row(arg)]


def _refuse_nothing(expr: Expr, such_as: str) -> None:
    if not estimated(expr):
        raise BindError(
            "a preference needs an estimate, or all regions are alike",
            f"{expr} has none",
            f"write {such_as} in it",
        )
