"""Statements: what a text of the language says, as plain frozen values.

They hold names as written and nothing that a catalog would know; `plan/` binds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from streamgauge.kernel.time import Duration, Instant
from streamgauge.operators.expression import Expr
from streamgauge.windows.window import Window


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a select list."""

    expr: Expr
    alias: str = ""


@dataclass(frozen=True, slots=True)
class FromName:
    """A stream, table, standing query or WITH name, with its window as written.

    `window` is a value, the name of a created window, or None when nothing was written.
    """

    name: str
    window: Window | str | None = None
    alias: str = ""


@dataclass(frozen=True, slots=True)
class FromSelect:
    """A subquery in FROM."""

    select: Query
    window: Window | str | None = None
    alias: str = ""


@dataclass(frozen=True, slots=True)
class FromResample:
    """RESAMPLE(stream, column, period, method): a stream brought to a regular grid."""

    name: str
    column: str
    period: Duration
    method: str = "last"
    alias: str = ""


@dataclass(frozen=True, slots=True)
class FromJoin:
    """Two sources joined on a condition or on columns of one name.

    `kind` is inner, left, right, full, semi, anti, asof, asof left or cross.
    """

    left: From
    right: From
    kind: str = "inner"
    on: Expr | None = None
    using: tuple[str, ...] = ()


From: TypeAlias = FromName | FromSelect | FromResample | FromJoin


@dataclass(frozen=True, slots=True)
class Order:
    """One entry of ORDER BY."""

    expr: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Preference:
    """WITH PREFERENCE [ASC | DESC | WEIGHTED] expr, ... FADE FACTOR a WINDOW w.

    `others` are the expressions after the first.
    """

    order: str
    expr: Expr
    fade: float = 1.0
    window: Duration | None = None
    others: tuple[Expr, ...] = ()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """All expressions, as written."""
        return (self.expr, *self.others)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a standing query is owed, and when: the clauses after a SELECT.

    Parameters
    ----------
    every, change, close
        EVERY t; ON CHANGE [OF d] (0.0 without OF); ON CLOSE.
    within, unit
        WITHIN e, and "", "percent" or "rank" after it.
    confidence
        CONFIDENCE p as a share; None when nothing was written.
    throughout, guaranteed
        THROUGHOUT; GUARANTEED before WITHIN.
    fresh
        FRESH t.
    budget
        BUDGET pairs: ("memory", 1000000.0) in bytes, ("cpu", 0.5) in cores, ("probes", 500.0) a
        tick.
    history
        WITH HISTORY, FROM NOW, or None when nothing was written.
    mode
        EMIT STORE, APPEND or CHANGES; empty when nothing was written.
    regime, trend
        BY TIMER or BY WATCH, empty when nothing was written; WITH TREND.
    """

    every: Duration | None = None
    change: float | None = None
    close: bool = False
    within: float | None = None
    unit: str = ""
    confidence: float | None = None
    throughout: bool = False
    guaranteed: bool = False
    fresh: Duration | None = None
    budget: tuple[tuple[str, float], ...] = ()
    history: bool | None = None
    mode: str = ""
    preference: Preference | None = None
    regime: str = ""
    trend: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT ...

    `stream` is istream, dstream or rstream when the select list is wrapped in one, else empty.
    Several sources in FROM, separated by commas, are cross joins.
    """

    items: tuple[Item, ...]
    source: From | None = None
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    distinct: bool = False
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    stream: str = ""


@dataclass(frozen=True, slots=True)
class SetSelect:
    """Two queries joined by UNION, EXCEPT or INTERSECT; `every` row counts under ALL."""

    kind: str
    left: Query
    right: Query
    all: bool = False
    order_by: tuple[Order, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class With:
    """WITH name AS (query), ... query."""

    names: tuple[tuple[str, Query], ...]
    body: Query


Query: TypeAlias = Select | SetSelect | With


@dataclass(frozen=True, slots=True)
class Ask:
    """A query with its terms, as a statement of its own: asked without a name."""

    query: Query
    terms: Terms = Terms()


@dataclass(frozen=True, slots=True)
class CreateQuery:
    """CREATE STANDING QUERY name [FOR EACH column IN (values)] AS query terms.

    `replace` is ALTER QUERY name AS ...: a new version of a query that is there.
    """

    name: str
    ask: Ask
    each: str = ""
    values: tuple[Any, ...] = ()
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateStream:
    """CREATE STREAM name (columns) FROM source KEY ... TIME ... and the other options.

    `columns` may be empty: they are then read from the source. `options` holds tick, gap, keep and
    future as durations, late as ("drop",), ("allow", t) or ("revise", t), changes, the name of
    the column that says what a row does (+, -), capacity, a whole number of reads a tick, width,
    the column of the widths of bounds, and latency, beat, broker and tokens of agents,
    and topic, schema, registry, starting, idle and on_loss of Kafka, whose servers are the path,
    and topic, user, password_file, password_env and ca of MQTT and Kafka, whose broker is the path.
    """

    name: str
    source: str
    path: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    time: str = ""
    key: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE STREAM name AS query, or CREATE VIEW name AS query: a name for a query's rows."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE name FROM 'file', JDBC or DELTA: a stored table; `refresh` reads it again."""

    name: str
    path: str = ""
    refresh: bool = False
    source: str = "file"
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE name REFRESH EVERY or NEVER: another pace; None is never."""

    name: str
    every: Duration | None


@dataclass(frozen=True, slots=True)
class CreateWindow:
    """CREATE WINDOW name AS [window]; `resize` is ALTER WINDOW."""

    name: str
    window: Window
    resize: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """CREATE FUNCTION name RETURNS type AS 'module:function', or CREATE AGGREGATE."""

    name: str
    target: str
    returns: str = "float"
    aggregate: bool = False


@dataclass(frozen=True, slots=True)
class CreateSummary:
    """CREATE SUMMARY name ON stream(column) WITH GRANULARITY t AND COLLAPSE(rate, depth) options.

    `kind` is empty when USING was not written. `options` holds confidence, longest (MAXLENGTH)
    and buckets, those that were written.
    """

    name: str
    stream: str
    column: str
    granularity: Duration
    rate: int
    depth: int
    kind: str = ""
    options: tuple[tuple[str, Any], ...] = ()


AlertTarget = tuple[str, str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class CreateAlert:
    """CREATE [OR REPLACE] ALERT name ON query WHEN occasion DELIVER TO target [AND TO target].

    `query` is empty for ON AUDIT. `when` is "certainly above", "possibly below" and so on with
    `level` and, when CLEAR was written, `clear`; or "contract broken", "interrupted", "alarm".
    Each of `targets` is (kind, address, detail, login): webhook, mail with FOR, kafka with TOPIC;
    `login` are pairs as those of a sink.
    """

    name: str
    query: str
    when: str
    level: float | None = None
    clear: float | None = None
    group: tuple[Any, ...] = ()
    targets: tuple[AlertTarget, ...] = ()
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateSink:
    """CREATE [OR REPLACE] SINK name ON queries DELIVER TO target [WITH HISTORY].

    `queries` is empty for ON ALL. `target` is (kind, address, place): kafka with TOPIC, postgres
    with TABLE. `login` are pairs of user, password_file, password_env, ca and mechanism.
    """

    name: str
    queries: tuple[str, ...]
    target: tuple[str, str, str]
    login: tuple[tuple[str, str], ...] = ()
    history: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """PAUSE, RESUME or DROP of things of one kind: query, stream, window, table, function..."""

    verb: str
    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """ADVANCE STREAM name TO instant: no earlier row is to come."""

    stream: str
    to: Instant


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW QUERIES, STREAMS, TABLES, WINDOWS, FUNCTIONS, VIEWS and so on; ANSWERS [OF name]."""

    what: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE name."""

    name: str


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [ANALYZE] of a standing query by name, or of a query not yet registered."""

    target: str | Ask
    analyze: bool = False


Statement: TypeAlias = (
    Ask
    | CreateQuery
    | CreateStream
    | CreateView
    | CreateTable
    | AlterTable
    | CreateWindow
    | CreateFunction
    | CreateSummary
    | CreateAlert
    | CreateSink
    | Change
    | Advance
    | Show
    | Describe
    | Explain
)
