"""The text of a standing query, so that it can be changed in words whatever way it was asked."""

from __future__ import annotations

from streamgauge.contracts.contract import Contract
from streamgauge.execute.ask import planned
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.language.statements import Ask, FromName, Item, Select, Terms
from streamgauge.language.words import pieces
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.windows.window import Window

_LINES = frozenset(
    {"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "EVERY",
     "WITHIN", "GUARANTEED", "EXACT", "BUDGET", "EMIT", "FRESH"}
)  # fmt: skip
_SAID = {"distinct": "approx_count_distinct", "self_join": "f2"}
_UNITS = {"relative": "percent", "rank": "rank"}


def text_of(registry: Registry, asked: Query | View) -> str | None:
    """A question that is planned as this very query; None when no text is.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.streams.stream import Stream
    >>> registry = Registry()
    >>> schema = Schema.of(ts="time", series="string", value="float")
    >>> registry.streams["plant"] = Stream("plant", schema, "ts", ("series",), ())
    >>> print(text_of(registry, Query("heat", "plant", avg("value"))))
    SELECT AVG(value)
    FROM plant [PARTITION BY series ROWS 1]
    ON CHANGE
    """
    try:
        ask = _of_rows(asked) if isinstance(asked, View) else _of_numbers(registry, asked)
        if ask is None or planned(registry, asked.name, ask) != [asked]:
            return None
        return laid_out(render(ask))
    except StreamgaugeError:
        # What it was made from may be gone or renamed since.
        return None


def laid_out(text: str) -> str:
    r"""A question with its clauses on lines of their own.

    >>> print(laid_out("SELECT a FROM s [NOW] WHERE a IN (SELECT b FROM t) EVERY 1 SECOND"))
    SELECT a
    FROM s [NOW]
    WHERE a IN (SELECT b FROM t)
    EVERY 1 SECOND
    """
    depth, breaks = 0, []
    cut = pieces(text)
    for piece, after in zip(cut, [*cut[1:], None], strict=True):
        depth += (piece.text in ("(", "[")) - (piece.text in (")", "]"))
        cadence = piece.text == "ON" and after is not None and after.text in ("CHANGE", "CLOSE")
        begins = piece.kind == "WORD" and (piece.text in _LINES or cadence)
        if begins and not depth and piece.start:
            breaks.append(piece.start)
    starts = [0, *breaks]
    parts = [text[a:b].rstrip() for a, b in zip(starts, [*breaks, len(text)], strict=True)]
    return "\n".join(parts)


def _of_rows(view: View) -> Ask | None:
    said = parse(view.text) if view.text else None
    if not isinstance(said, Ask) or view.promise is not None:
        return None
    every, change, close = _cadence(view)
    mode = "" if view.mode == "changes" else view.mode
    history = None if view.history else False
    owed = view.contract.freshness
    return Ask(said.query, Terms(every, change, close, fresh=owed, history=history, mode=mode))


def _cadence(asked: Query | View) -> tuple[int | None, float | None, bool]:
    answer = asked.answer
    every = answer.period if answer.kind == "every" else None
    change = _plain(answer.by) if answer.kind == "change" else None
    return every, change, answer.kind == "close"


def _plain(value: float) -> float:
    """A number as one writes it: 5, not 5.0."""
    return int(value) if value.is_integer() else value


def _of_numbers(registry: Registry, query: Query) -> Ask | None:
    odd = (query.parts, query.over, query.members, query.weights, query.promise)
    if any(part for part in odd) or query.select.correlated:
        return None
    stream = registry.stream(query.stream)
    computed = dict(query.derived)

    def read(name: str) -> Expr:
        return computed.get(name, column(name))

    by = tuple(read(name) for name in query.group_by)
    items = (*(Item(expr) for expr in by), Item(_aggregate(query, computed)))
    window = (
        query.window if query.window is not None else Window("partition", rows=1, by=stream.key)
    )
    where = None if query.where is None else _condition(query.where, computed)
    if query.series is not None:
        where = Expr("in", (column(stream.key[0]), *map(literal, query.series)))
    select = Select(items, FromName(query.stream, window), where, by)
    return Ask(select, _terms(query))


def _aggregate(query: Query, computed: dict[str, Expr]) -> Expr:
    select = query.select
    args = [computed.get(name, column(name)) for name in (select.x, select.y) if name is not None]
    if select.argument is not None:
        args.append(literal(select.argument))
    if select.weight is not None:
        args.append(Expr("weight", (computed.get(select.weight, column(select.weight)),)))
    if select.name == "distinct" and query.contract.tolerance == "exact":
        # The other word has an error of its own when none is stated.
        return Expr("aggregate", (Expr("distinct", tuple(args)),), "count")
    return Expr("aggregate", tuple(args), _SAID.get(select.name, select.name))


def _condition(where: Predicate, computed: dict[str, Expr]) -> Expr:
    if where.parts:
        return Expr(where.op, tuple(_condition(part, computed) for part in where.parts))
    read = computed.get(where.column, column(where.column))
    return Expr(where.op, (read, *map(literal, where.values)))


def _terms(query: Query) -> Terms:
    every, change, close = _cadence(query)
    owed = query.contract
    within, unit = _width(owed)
    return Terms(
        every,
        change,
        close,
        within,
        unit,
        confidence=owed.confidence if within and owed.confidence < 1.0 else None,
        throughout=owed.throughout,
        guaranteed=bool(within) and owed.confidence == 1.0,
        fresh=owed.freshness,
        budget=() if query.memory is None else (("memory", query.memory),),
        history=None if query.history else False,
        regime=query.regime,
        trend=query.trend,
    )


def _width(owed: Contract) -> tuple[float | None, str]:
    if owed.tolerance == "exact":
        return None, ""
    unit = _UNITS.get(owed.tolerance, "")
    return _plain(round(owed.within * 100.0, 9) if unit == "percent" else owed.within), unit
