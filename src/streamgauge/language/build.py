"""From the tree of a text to statements.

A tree becomes a list of steps, innermost first: each calls a builder on what earlier steps made.
What does not depend on a constant is made once, so that another text of the same shape only runs
the other steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from lark import Token, Tree

from streamgauge.kernel.time import Duration, Instant
from streamgauge.language import clauses, constants, expressions
from streamgauge.language.constants import positive
from streamgauge.language.expressions import name_of
from streamgauge.language.mistakes import Misuse
from streamgauge.language.statements import (
    Advance,
    AlertTarget,
    AlterTable,
    Ask,
    Change,
    CreateAlert,
    CreateFunction,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateSummary,
    CreateTable,
    CreateView,
    CreateWindow,
    Describe,
    Explain,
    From,
    FromJoin,
    FromName,
    FromResample,
    FromSelect,
    Item,
    Order,
    Query,
    Select,
    SetSelect,
    Show,
    Statement,
    With,
)
from streamgauge.language.words import MAX_DEPTH
from streamgauge.operators.expression import Expr
from streamgauge.windows.window import Window

LITERALS = ("NUMBER", "STRING")
Step: TypeAlias = tuple[int, Callable[..., Any], tuple[int, ...], int]
_ONCE = "write each option once"
# Options of a summary that are written by another word than that of the value they set.
_WORDS = {
    "kind": "USING", "longest": "MAXLENGTH", "every": "REFRESH",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Steps:
    """How a statement is made from its constants.

    `made` holds what is known already; `slots` are the places of the constants in it, in the order
    of the text; each of `todo` is a place, its builder, the places it takes, and where it is in
    the text.
    """

    made: tuple[Any, ...]
    slots: tuple[int, ...]
    todo: tuple[Step, ...]
    depth: int
    deepest: int

    def run(self, constants: Sequence[Token] = ()) -> Statement:
        """Make the statement, from other constants where they are given."""
        made = list(self.made)
        for slot, token in zip(self.slots, constants, strict=False):
            made[slot] = token
        start = 0
        try:
            for place, build, taken, start in self.todo:  # noqa: B007
                made[place] = build(*[made[i] for i in taken])
        except Misuse as misuse:
            raise Misuse(misuse.what, misuse.hint, start) from None
        statement: Statement = made[-1]
        return statement


def steps_of(tree: Tree[Token]) -> Steps:
    """The steps of a tree; those without constants are run at once."""
    return _Walk(tree).steps()


class _Walk:
    """A walk through a tree, innermost first; a branch is a node and what it takes so far."""

    def __init__(self, tree: Tree[Token]) -> None:
        self.made: list[Any] = []
        self.slots: list[int] = []
        self.todo: list[Step] = []
        self.waiting: set[int] = set()
        self.branches: list[tuple[Tree[Token], Iterator[Any], list[int]]] = []
        self.starts: list[int] = []
        self.depth, self.deepest = 0, 0
        self._enter(tree)

    def steps(self) -> Steps:
        """Walk to the end."""
        while self.branches:
            for child in self.branches[-1][1]:
                if isinstance(child, Tree):
                    self._enter(child)
                    break
                self._keep(child)
            else:
                self._leave()
        return Steps(
            tuple(self.made), tuple(self.slots), tuple(self.todo), self.depth, self.deepest
        )

    def _enter(self, tree: Tree[Token]) -> None:
        self.branches.append((tree, iter(tree.children), []))
        self.starts.append(-1)
        self.depth = max(self.depth, len(self.branches))

    def _keep(self, leaf: Token | None) -> None:
        place = len(self.made)
        self.made.append(leaf)
        self.branches[-1][2].append(place)
        if leaf is None:
            return
        assert leaf.start_pos is not None
        if self.starts[-1] < 0:
            self.starts[-1] = leaf.start_pos
        if len(self.branches) == self.depth:
            self.deepest = leaf.start_pos
        if leaf.type in LITERALS:
            self.slots.append(place)
            self.waiting.add(place)

    def _leave(self) -> None:
        node, _, taken = self.branches.pop()
        start, place = self.starts.pop(), len(self.made)
        if self.branches:
            self.branches[-1][2].append(place)
            if self.starts[-1] < 0:
                self.starts[-1] = start
        step = (place, BUILDERS[node.data], tuple(taken), max(start, 0))
        if self.waiting.isdisjoint(taken):
            self.made.append(_made(step, self.made))
        else:
            self.made.append(None)
            self.todo.append(step)
            self.waiting.add(place)


def _made(step: Step, made: list[Any]) -> Any:
    _, build, taken, start = step
    try:
        return build(*[made[i] for i in taken])
    except Misuse as misuse:
        raise Misuse(misuse.what, misuse.hint, start) from None


def _query(
    names: tuple[tuple[str, Query], ...] | None,
    body: Query,
    order_by: tuple[Order, ...] | None,
    limit: int | None,
) -> Query:
    if order_by is not None or limit is not None:
        if isinstance(body, With) or body.order_by or body.limit is not None:
            raise Misuse(
                "ORDER BY and LIMIT around a query that has its own",
                "write SELECT * FROM (query) AS q ORDER BY ... instead",
            )
        body = replace(body, order_by=order_by or (), limit=limit)
    return body if names is None else With(names, body)


def _combined(kind: str) -> Callable[..., SetSelect]:
    return lambda left, every, right: SetSelect(kind, left, right, all=bool(every))


def _streamed(kind: str, query: Query) -> Query:
    if isinstance(query, With):
        return With(query.names, _streamed(kind, query.body))
    if isinstance(query, SetSelect):
        return Select((Item(Expr("star")),), FromSelect(query), stream=kind)
    if query.stream:
        raise Misuse(
            f"{kind.upper()} of a stream", f"leave one of {query.stream.upper()} and it out"
        )
    return replace(query, stream=kind)


def _select(
    distinct: bool | None,
    listed: tuple[str, bool, tuple[Item, ...]],
    source: From,
    where: Expr | None,
    group_by: tuple[Expr, ...] | None,
    having: Expr | None,
) -> Select:
    stream, inside, items = listed
    return Select(
        items,
        source,
        where,
        group_by or (),
        having,
        distinct=bool(distinct) or inside,
        stream=stream,
    )


def _sources(*sources: From) -> From:
    if len(sources) > MAX_DEPTH:
        raise Misuse(f"{len(sources)} sources in FROM", f"at most {MAX_DEPTH} can be joined")
    whole = sources[0]
    for source in sources[1:]:
        whole = FromJoin(whole, source, "cross")
    return whole


def _join(kind: str) -> Callable[..., FromJoin]:
    def build(left: From, right: From, on: Expr | tuple[str, ...] | None = None) -> FromJoin:
        if isinstance(on, tuple):
            return FromJoin(left, right, kind, using=on)
        return FromJoin(left, right, kind, on)

    return build


def _from_name(name: str, window: Window | str | None, alias: str | None) -> FromName:
    return FromName(name, window, alias or "")


def _from_resample(
    name: str, column: str, period: Duration, method: str | None, alias: str | None
) -> FromResample:
    return FromResample(name, column, positive(period, "RESAMPLE"), method or "last", alias or "")


_JOINS = ("inner", "left", "right", "full", "semi", "anti", "asof", "asof left", "cross")

_QUERIES: dict[str, Callable[..., Any]] = {
    "query": _query,
    "with_names": lambda *names: names,
    "with_name": lambda name, query: (name, query),
    "order_by": lambda *orders: orders,
    "ascending": Order,
    "descending": lambda expr: Order(expr, descending=True),
    "limit": lambda n: n,
    "union": _combined("union"),
    "except": _combined("except"),
    "intersect": _combined("intersect"),
    "all": lambda: True,
    "streamed": _streamed,
    "select": _select,
    "select_list": lambda *items: ("", False, items),
    "streamed_list": lambda kind, distinct, *items: (kind, bool(distinct), items),
    "distinct": lambda: True,
    "istream": lambda: "istream",
    "dstream": lambda: "dstream",
    "rstream": lambda: "rstream",
    "item": lambda expr, alias: Item(expr, alias or ""),
    "every_column": lambda: Item(Expr("star")),
    "columns_of": lambda name: Item(Expr("star", table=name)),
    "alias": str,
    "sources": _sources,
    **{f"{kind.replace(' ', '_')}_join": _join(kind) for kind in _JOINS},
    "using": lambda names: names,
    "from_name": _from_name,
    "from_name_window_last": lambda name, alias, window: FromName(name, window, alias),
    "from_select": lambda query, window, alias: FromSelect(query, window, alias or ""),
    "from_resample": _from_resample,
    "linear": lambda: "linear",
    "last": lambda: "last",
    "ask": lambda query, *changes: Ask(query, clauses.terms(changes)),
}


def _create_query(replaces: bool) -> Callable[..., CreateQuery]:
    def build(name: str, each: tuple[str, tuple[Any, ...]] | None, ask: Ask) -> CreateQuery:
        column, values = each or ("", ())
        return CreateQuery(name, ask, column, values, replaces)

    return build


def _create_stream(
    name: str,
    columns: tuple[tuple[str, str], ...] | None,
    source: tuple[str, str, tuple[tuple[str, Any], ...]],
    *options: tuple[str, Any],
) -> CreateStream:
    kind, path, given = source
    _refuse_twice((*given, *options))
    fields = {option: value for option, value in options if option in ("key", "time")}
    rest = tuple(pair for pair in options if pair[0] not in fields)
    return CreateStream(name, kind, path, columns or (), options=(*given, *rest), **fields)


_JDBC_OPTIONS = ("table", "query", "user", "password_file", "password_env", "driver")


def _create_table(name: str, origin: tuple[str, str], *options: tuple[str, Any]) -> CreateTable:
    kind, place = origin
    _refuse_twice(options)
    given = dict(options)
    words = [
        _WORDS.get(word, word.replace("_", " ").upper()) for word in given if word in _JDBC_OPTIONS
    ]
    if words and kind != "jdbc":
        raise Misuse(f"{words[0]} is of databases", "write it after FROM JDBC 'address'")
    if kind == "jdbc" and ("table" in given) == ("query" in given):
        raise Misuse(
            "a database is read by a table or by a query",
            "write TABLE 'schema.name' or QUERY 'SELECT ...', one of them",
        )
    if "password_file" in given and "password_env" in given:
        raise Misuse("PASSWORD is written twice", _ONCE)
    kept = tuple(pair for pair in options if pair[1] is not None)
    return CreateTable(name, place, source=kind, options=kept)


def _named(option: str) -> Callable[[str], tuple[str, str]]:
    return lambda text: (option, text)


def _create_summary(
    name: str,
    stream: str,
    column: str,
    granularity: Duration,
    rate: int,
    depth: int,
    *options: tuple[str, Any],
) -> CreateSummary:
    width = positive(granularity, "GRANULARITY")
    if rate < 1 or depth < 1:
        raise Misuse("COLLAPSE needs positive numbers", "write COLLAPSE(2, 4)")
    _refuse_twice(options)
    kind = str(dict(options).get("kind", ""))
    rest = tuple(option for option in options if option[0] != "kind")
    return CreateSummary(name, stream, column, width, rate, depth, kind, rest)


def _create_alert(
    replaces: bool | None,
    name: str,
    watched: tuple[str, tuple[Any, ...]],
    occasion: tuple[str, float | None, float | None],
    *targets: AlertTarget,
) -> CreateAlert:
    query, group = watched
    when, level, clear = occasion
    if (when == "alarm") != (not query):
        raise Misuse(
            "ALARM is what the auditor raises", "write ON AUDIT WHEN ALARM, or ON query WHEN ..."
        )
    if len({target[:3] for target in targets}) != len(targets):
        raise Misuse("a target is written twice", _ONCE)
    for *_target, login in targets:
        _refuse_twice(login)
    return CreateAlert(name, query, when, level, clear, group, targets, bool(replaces))


def _create_sink(
    replaces: bool | None,
    name: str,
    queries: tuple[str, ...],
    outlet: clauses.Outlet,
    history: bool | None,
) -> CreateSink:
    if len(set(queries)) != len(queries):
        raise Misuse("a query is written twice", _ONCE)
    target, login = outlet
    _refuse_twice(login)
    return CreateSink(name, queries, target, login, bool(history), bool(replaces))


def _refuse_twice(options: tuple[tuple[str, Any], ...]) -> None:
    names = [option for option, _ in options]
    for option in names:
        if names.count(option) > 1:
            raise Misuse(
                f"{_WORDS.get(option, option.replace('_', ' ').upper())} is written twice", _ONCE
            )


def _explain(analyze: bool | None, target: str | Ask) -> Explain:
    return Explain(target, analyze=bool(analyze))


def _advance(stream: str, to: Instant) -> Advance:
    return Advance(stream, to)


_KINDS = (
    "query", "stream", "window", "table", "view", "function", "aggregate", "summary", "alert",
    "sink",
)  # fmt: skip
_TOPICS = (
    "queries", "streams", "tables", "windows", "functions", "views", "summaries", "answers",
    "alerts", "sinks",
)  # fmt: skip


def _word(word: str) -> Callable[[], str]:
    return lambda: word


_STATEMENTS: dict[str, Callable[..., Any]] = {
    "start": lambda statement: statement,
    "create_query": lambda standing, name, each, ask: _create_query(False)(name, each, ask),
    "alter_query": _create_query(True),
    "standing": lambda: True,
    "analyze": lambda: True,
    "for_each": lambda column, *values: (column, values),
    "create_stream": _create_stream,
    "columns": lambda *columns: columns,
    "column_type": lambda name, kind: (name, kind),
    "create_view": CreateView,
    "create_table": _create_table,
    "alter_table": lambda name, pace: AlterTable(name, pace[1]),
    "from_file": lambda path: ("file", path),
    "from_jdbc": lambda url: ("jdbc", url),
    "from_delta": lambda path: ("delta", path),
    "pace_every": lambda span: ("every", positive(span, "REFRESH EVERY")),
    "pace_never": lambda: ("every", None),
    "table_option": lambda pace: pace,
    **{f"table_{option}": _named(option) for option in _JDBC_OPTIONS},
    "refresh_table": lambda name: CreateTable(name, refresh=True),
    "create_window": lambda name, window: _create_window(name, window, resize=False),
    "alter_window": lambda name, window: _create_window(name, window, resize=True),
    "create_function": lambda name, kind, target: CreateFunction(name, target, kind or "float"),
    "create_aggregate": lambda name, kind, target: CreateFunction(
        name, target, kind or "float", aggregate=True
    ),
    "create_summary": _create_summary,
    "create_alert": _create_alert,
    "create_sink": _create_sink,
    "replacing": lambda: True,
    "pause": lambda names: Change("pause", "query", names),
    "resume": lambda names: Change("resume", "query", names),
    "drop": lambda kind, names: Change("drop", kind, names),
    "advance": _advance,
    "show": lambda what, name: Show(what, name_of(name)),
    "describe": Describe,
    "explain": _explain,
    **{f"kind_{kind}": _word(kind) for kind in _KINDS},
    **{f"topic_{topic}": _word(topic) for topic in _TOPICS},
}


def _create_window(name: str, window: Window | str, *, resize: bool) -> CreateWindow:
    if isinstance(window, str):
        raise Misuse(
            f"{window!r} is the name of a window", "write a window itself: [RANGE 5 MINUTES]"
        )
    return CreateWindow(name, window, resize)


BUILDERS: dict[str, Callable[..., Any]] = {
    **constants.BUILDERS,
    **expressions.BUILDERS,
    **clauses.BUILDERS,
    **_QUERIES,
    **_STATEMENTS,
}
