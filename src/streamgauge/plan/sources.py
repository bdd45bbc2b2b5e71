"""FROM: streams under their windows, stored tables, named queries, subqueries and joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.kernel.time import duration_text
from streamgauge.language.parse import parse
from streamgauge.language.statements import (
    Ask,
    CreateQuery,
    CreateView,
    From,
    FromJoin,
    FromName,
    FromResample,
    FromSelect,
    Query,
)
from streamgauge.operators.expression import Expr, column, conjunction
from streamgauge.plan.answers_as_rows import answers_as_rows
from streamgauge.plan.as_of import check_as_of
from streamgauge.plan.monotone import monotone
from streamgauge.plan.names import Bound, Scope, Visible, unknown_name
from streamgauge.plan.nodes import (
    AS_OF,
    ONE_SIDED,
    Join,
    Node,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
)
from streamgauge.plan.query import Query as NumberQuery
from streamgauge.plan.registry import Registry
from streamgauge.plan.restream import arriving, rewindowed
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.typing_of import condition
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Partition, Unbounded, Window

DEPTH = 32


@dataclass(frozen=True, slots=True)
class Context:
    """What names mean while a query is bound.

    Parameters
    ----------
    registry
        All that is declared.
    bind
        Binds a query inside this one.
    names
        Queries named by WITH.
    views
        Named queries that are being bound, outermost first: none may name itself.
    inside
        Whether the query is part of another, which needs each of its columns to have a name.
    """

    registry: Registry
    bind: Callable[[Query, Context], Bound]
    names: dict[str, Bound] = field(default_factory=dict)
    views: tuple[str, ...] = ()
    inside: bool = False


def bind_from(source: From | None, context: Context) -> Bound:
    """The relation that FROM describes, with the names of its columns."""
    if source is None:
        raise BindError(
            "a query needs FROM", "nothing says which rows to read", "add FROM and a stream"
        )
    if isinstance(source, FromJoin):
        return _joined(source, context)
    if isinstance(source, FromResample):
        return _resampled(source, context)
    if isinstance(source, FromSelect):
        inner = context.bind(source.select, context)
        what = f"subquery {source.alias}" if source.alias else "the subquery"
        return _named(_windowed(inner, source.window, what, context), source.alias, context)
    return _by_name(source, context)


def _by_name(source: FromName, context: Context) -> Bound:
    registry, name, alias = context.registry, source.name, source.alias or source.name
    if name in context.names:
        inner = context.names[name]
    elif name in registry.streams:
        return _named(_stream(registry.streams[name], source.window, context), alias, context)
    elif name in registry.tables:
        table = registry.tables[name]
        inner = Bound(Stored(name, table.schema), Scope(()))
    elif name in registry.names:
        inner = _view(name, context)
    elif name in registry.queries:
        inner = _standing(name, registry)
    else:
        known = [*context.names, *registry.streams, *registry.tables, *registry.names]
        parts = [q for q in registry.queries if q.startswith((f"{name}.", f"{name}["))]
        if parts:
            raise BindError(
                f"{name!r} stands for {len(parts)} queries",
                f"there are {', '.join(parts[:4])}{' ...' if len(parts) > 4 else ''}",
                f'name one of them: FROM "{parts[0]}"',
            )
        raise unknown_name("stream or table", name, [*known, *registry.queries])
    return _named(_windowed(inner, source.window, repr(name), context), alias, context)


def _stream(stream: Stream, window: Window | str | None, context: Context) -> Bound:
    schema = stream.schema
    value = window_value(window, context.registry)
    if stream.width is not None and value is None:
        # A bound holds until the next one of its series.
        value = Partition(stream.key, 1)
    if stream.changes is not None:
        # A row goes when one comes that is like it, whenever that is.
        apart = (stream.changes, stream.time)
        schema = Schema(tuple(c for c in schema.columns if c[0] not in apart))
        _refuse_changes(stream, value)
        node: Node = Windowed(Scan(stream.name, schema, changes=True), Unbounded())
        return Bound(node, Scope(()), windows=True)
    check_window(value, stream, schema)
    node = Windowed(Scan(stream.name, schema), value or Unbounded())
    endless = () if value is not None else (stream.name,)
    written = value is not None
    return Bound(node, Scope(()), windows=written, endless=endless, time=stream.time)


def _refuse_changes(stream: Stream, window: Window | None) -> None:
    if stream.changes is not None and window is not None and not window.unbounded:
        raise UnsupportedWindow(
            f"stream {stream.name!r} says what comes and goes by itself",
            f"its column {stream.changes!r} does, the query has [{window}]",
            "leave the window out",
        )


def changing(registry: Registry) -> frozenset[str]:
    """Streams that take rows back by themselves."""
    return frozenset(s.name for s in registry.streams.values() if s.changes is not None)


def window_value(window: Window | str | None, registry: Registry) -> Window | None:
    """The window as a value, looked up where it is a name."""
    if not isinstance(window, str):
        return window
    if window not in registry.windows:
        raise unknown_name("window", window, list(registry.windows))
    return registry.windows[window]


def check_window(window: Window | None, stream: Stream, schema: Schema) -> None:
    """Raise unless a window fits the ticks and the columns of a stream."""
    if window is None:
        return
    window.bind(stream.tick)
    for name in window.by:
        schema.type(name)
    if stream.late.policy == "revise" and window.kind in ("rows", "partition", "session"):
        raise UnsupportedWindow(
            f"{window} cannot be revised",
            f"stream {stream.name!r} revises late rows; such windows depend on their order",
            "use [RANGE ...], or declare the stream with LATE ALLOW",
        )


def _resampled(source: FromResample, context: Context) -> Bound:
    registry = context.registry
    if source.name not in registry.streams:
        raise unknown_name("stream", source.name, list(registry.streams))
    stream = registry.streams[source.name]
    if not stream.schema.numeric(source.column) and source.method == "linear":
        raise BindError(
            f"column {source.column!r} is not a number",
            f"its type is {stream.schema.type(source.column)}",
            "RESAMPLE(..., LAST) takes any column, LINEAR needs numbers",
        )
    if stream.late.policy == "revise":
        raise BindError(
            f"stream {stream.name!r} cannot be resampled",
            "it revises late rows, which would change points that were given",
            "declare the stream with LATE ALLOW or LATE DROP",
        )
    if source.period % stream.tick:
        raise BindError(
            f"a period of {duration_text(source.period)} is not a whole number of ticks",
            f"the tick of stream {stream.name!r} is {duration_text(stream.tick)}",
            f"use a multiple of {duration_text(stream.tick)}",
        )
    names = (*(key for key in stream.key), stream.time, source.column)
    schema = Schema(tuple((name, stream.schema.type(name)) for name in dict.fromkeys(names)))
    scan = Scan(stream.name, schema)
    grid = Resampled(scan, source.column, stream.key, source.period, source.method)
    node = Windowed(grid, Unbounded())
    return _named(
        Bound(node, Scope(()), endless=(stream.name,), time=stream.time),
        source.alias or source.name,
        context,
    )


def _view(name: str, context: Context) -> Bound:
    if name in context.views or len(context.views) >= DEPTH:
        raise BindError(
            f"view {name!r} is defined by itself",
            " reads ".join((*context.views, name)),
            "leave it out of its own query",
        )
    statement = parse(context.registry.names[name])
    if isinstance(statement, CreateQuery):
        statement = statement.ask
    if not isinstance(statement, (Ask, CreateView)):
        raise BindError(
            f"view {name!r} is no query",
            f"it says {context.registry.names[name]}",
            "drop it and create it again",
        )
    inside = replace(context, names={}, views=(*context.views, name))
    return inside.bind(statement.query, inside)


def _standing(name: str, registry: Registry) -> Bound:
    """The rows of a view, or the newest answers of a query of numbers."""
    standing = registry.query(name)
    if standing.asked.promise is not None:
        raise BindError(
            f"query {name!r} answers as much as it has seen",
            "what another query made of it would lack what it lacks, and not say so",
            "read the streams themselves",
        )
    if isinstance(standing.asked, NumberQuery):
        return Bound(answers_as_rows(standing, registry), Scope(()), windows=True)
    return Bound(standing.view.plan, Scope(()), windows=True)


def _windowed(inner: Bound, window: Window | str | None, what: str, context: Context) -> Bound:
    """A relation as it is, or a stream under the window written after it."""
    registry = context.registry
    value, inner = window_value(window, registry), _arriving(inner, registry)
    if value is None:
        return as_relation(inner, what, context)
    node = inner.node.input if isinstance(inner.node, Streamed) else inner.node
    kind = inner.node.kind if isinstance(inner.node, Streamed) else "istream"
    again = rewindowed(node, value) if kind == "istream" else None
    if again is None:
        raise BindError(
            f"windows are for streams, and {what} is not one",
            f"[{value}] is written after rows that come and go by themselves",
            "leave it out" if isinstance(node, Stored) else "put it after the stream inside",
        )
    scan = next(part for part in again.walk() if isinstance(part, Scan))
    stream = registry.stream(scan.stream)
    _refuse_changes(stream, value)
    for part in again.walk():
        if isinstance(part, Windowed):
            check_window(part.window, stream, schema_of(part.input, registry.functions))
    return Bound(again, inner.scope, windows=True)


def _arriving(inner: Bound, registry: Registry) -> Bound:
    """A stream of the newest tick as the rows that come; anything else as it is."""
    if not isinstance(inner.node, Streamed):
        return inner
    scans = {part.stream for part in inner.node.walk() if isinstance(part, Scan)}
    if len(scans) != 1:
        return inner
    (name,) = scans
    all_rows = arriving(inner.node, registry.stream(name))
    if all_rows is None:
        return inner
    return replace(inner, node=Streamed(all_rows, "istream"), windows=False, endless=(name,))


def as_relation(inner: Bound, what: str, context: Context) -> Bound:
    """The relation behind a query that is used inside another one."""
    if not isinstance(inner.node, Streamed):
        return inner
    if inner.node.kind == "istream" and monotone(inner.node.input, changing(context.registry)):
        return replace(inner, node=inner.node.input)
    raise BindError(
        f"{what} is a stream of rows that come or go",
        f"{inner.node.kind.upper()} of a relation that takes rows back has no rows of its own",
        f"leave {inner.node.kind.upper()} out of it, or write it around the whole query",
    )


def _named(bound: Bound, alias: str, context: Context) -> Bound:
    """The relation under an alias."""
    names = schema_of(bound.node, context.registry.functions).names
    scope = Scope(tuple(Visible(alias, name, name) for name in names))
    return replace(bound, scope=scope, alias=alias)


def _joined(source: FromJoin, context: Context) -> Bound:
    left, right = bind_from(source.left, context), bind_from(source.right, context)
    _check_aliases(left, right)
    merged = (*_qualified(left), *_qualified(right))
    # A right join is a left join with its inputs exchanged; columns stay in the order written.
    first, second = (right, left) if source.kind == "right" else (left, right)
    conditions, hidden = _using(source, first, second)
    scope = Scope(
        tuple(replace(c, plain=c.plain and (c.table, c.column) not in hidden) for c in merged)
    )
    kind = {"right": "left", "cross": "inner"}.get(source.kind, source.kind)
    node = Join((first.node, second.node), (first.alias, second.alias))
    schema = schema_of(node, context.registry.functions)
    if source.on is not None:
        if source.on.has("subquery", "exists", "in subquery"):
            raise BindError(
                "a subquery cannot be inside ON", f"in {source.kind} join", "move it to WHERE"
            )
        on = scope.resolved(source.on)
        conditions = (*conditions, condition(on, schema, context.registry.functions))
    node = replace(node, on=conjunction(conditions), kind=kind)
    if kind in AS_OF:
        check_as_of(node, context.registry.functions)
    if kind in ONE_SIDED:
        tables = {c.table for c in left.scope.columns}
        scope = Scope(tuple(c for c in scope.columns if c.table in tables))
    endless = (*left.endless, *right.endless)
    kept = (*left.kept, *right.kept, *endless)
    return Bound(node, scope, "", left.windows or right.windows, endless, kept)


def _check_aliases(left: Bound, right: Bound) -> None:
    tables = {c.table for c in left.scope.columns}
    twice = sorted({c.table for c in right.scope.columns} & tables)
    if twice:
        raise BindError(
            f"two sources are named {twice[0]!r}" if twice[0] else "two subqueries have no name",
            f"FROM has {', '.join(sorted(tables)) or 'a subquery'}",
            "give each a name of its own: FROM s [RANGE 1 MINUTE] AS a, s [NOW] AS b",
        )


def _qualified(bound: Bound) -> tuple[Visible, ...]:
    prefix = f"{bound.alias}." if bound.alias else ""
    return tuple(replace(c, name=f"{prefix}{c.name}") for c in bound.scope.columns)


def _using(
    source: FromJoin, left: Bound, right: Bound
) -> tuple[tuple[Expr, ...], set[tuple[str, str]]]:
    """Conditions of USING, and the columns of the right that need their table to be named.

    The last column of an ASOF join need not be equal: the right one is the nearest not above.
    """
    conditions: list[Expr] = []
    hidden: set[tuple[str, str]] = set()
    sides = Scope(_qualified(left)), Scope(_qualified(right))
    if source.using and source.kind == "full":
        name = source.using[0]
        raise BindError(
            "FULL JOIN cannot have USING",
            f"USING ({name}), and either side may lack {name}",
            f"write ON a.{name} = b.{name}, and select COALESCE(a.{name}, b.{name})",
        )
    for name in source.using:
        if any(side.find(name) is None for side in sides):
            places = zip(("left", "right"), sides, strict=True)
            lacking = next(place for place, side in places if side.find(name) is None)
            raise BindError(
                f"USING ({name}) needs the column on both sides",
                f"the {lacking} side of the join has none of that name",
                "write ON and the two columns that are to be equal",
            )
        one, two = (side.resolved(column(name)) for side in sides)
        found = sides[1].find(name)
        assert found is not None, "resolved above"
        nearest = source.kind in AS_OF and name == source.using[-1]
        conditions.append(Expr(">=" if nearest else "=", (one, two)))
        hidden.add((found.table, name))
    return tuple(conditions), hidden
