"""Statements that show: SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa

from streamgauge.contracts.shown import PlanText
from streamgauge.execute.ask import name_of, planned
from streamgauge.execute.measured import measured
from streamgauge.execute.names import members
from streamgauge.execute.tables import TITLES, shown_tables
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError, QueryNotFound
from streamgauge.kernel.time import duration_text, instant_text
from streamgauge.language.statements import Ask, FromName, Item, Select
from streamgauge.log.feeding import feeding_of
from streamgauge.operators.expression import Expr
from streamgauge.plan.bind import bind
from streamgauge.plan.explain import explain as explain_query
from streamgauge.plan.explain_view import explain_view
from streamgauge.plan.keeping import changing_in
from streamgauge.plan.memory import growing, growth, memory_of
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing, streams_of
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.shadows import is_shadow
from streamgauge.plan.summary import named_model
from streamgauge.plan.view import View
from streamgauge.reading import Reader
from streamgauge.streams.schema import Schema

TEXT = pa.string()
NEWEST = 100
NOTE = "streamgauge.note"


def show(reader: Reader, registry: Registry, what: str, name: str = "") -> pa.Table:
    """SHOW: what there is, as a table; answers of one query with what is to be said of them."""
    if what == "answers":
        shown = answers(reader, registry, name)
        notes = (
            [note for query in members(registry, name) if (note := reader.note(query))]
            if name
            else []
        )
        return _noted(shown, notes)
    if what == "streams":
        return _table(*_streams(reader, registry))
    if what == "tables":
        return _table(TITLES, shown_tables(reader, registry))
    if what not in _SHOWN:
        raise BindError(
            f"cannot show {what!r}",
            f"there are {', '.join([*_SHOWN, 'streams', 'tables', 'answers'])}",
            "write SHOW QUERIES",
        )
    titles, rows = _SHOWN[what](registry)
    shown = _table(titles, rows)
    if what != "queries":
        return shown
    suspended = [one for one in registry.queries.values() if one.suspended is not None]
    return _noted(shown, [f"{one.name}: {one.suspended}" for one in suspended])


def _noted(shown: pa.Table, notes: list[str]) -> pa.Table:
    return shown.replace_schema_metadata({NOTE: "\n".join(notes)}) if notes else shown


def _table(titles: tuple[str, ...], rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
    whole = ("version",)
    kinds = [pa.int64() if title in whole else TEXT for title in titles]
    arrays = [pa.array(list(c), k) for c, k in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(titles, arrays, strict=True)))


Shown = tuple[tuple[str, ...], list[tuple[Any, ...]]]


def _queries(registry: Registry) -> Shown:
    rows = [
        (
            item.name,
            "rows" if isinstance(item.asked, View) else "numbers",
            ", ".join(streams_of(item.asked)),
            str(item.asked),
            item.status,
            item.version,
            _state(item, registry),
        )
        for item in registry.queries.values()
        if not is_shadow(item.name)
    ]
    return ("name", "answers", "reads", "asks", "status", "version", "state"), rows


def _state(standing: Standing, registry: Registry) -> str:
    """Whether what a query keeps grows with every row, and of which streams."""
    asked = standing.asked
    if isinstance(asked, View):
        changing = changing_in(registry.streams)
        return growth(growing(asked.plan, changing)) or memory_of(asked.plan, changing)[0]
    window = registry.window_of(asked)
    endless = window is not None and window.kind == "landmark"
    exact = bool(standing.model) and named_model(standing.model).guarantee.law == "exact"
    if endless and exact:
        return growth((asked.stream,))
    return "groups" if asked.group_by else "bounded"


def _streams(reader: Reader, registry: Registry) -> Shown:
    fed = {name: feeding_of(reader.home, name) for name in registry.streams}
    silent = {
        name: f"idle: no rows since {instant_text(since)}; other streams do not wait for it"
        for name, since in reader.idle().items()
    }
    rows = [
        (
            stream.name,
            str(stream.source_dict()["kind"]),
            ", ".join(f"{name} {kind}" for name, kind in stream.schema.columns),
            stream.time,
            ", ".join(stream.key),
            duration_text(stream.tick),
            stream.late.policy,
            "" if stream.idle is None else duration_text(stream.idle),
            "" if told is None else told.state,
            silent.get(stream.name, "") if told is None else told.reason,
            f"{reader.count_dead_letters(stream.name):,}",
        )
        for stream in registry.streams.values()
        for told in (fed[stream.name],)
    ]
    titles = ("name", "source", "columns", "time", "key", "tick", "late", "idle", "feed", "reason")
    return (*titles, "dead_letters"), rows


def _windows(registry: Registry) -> Shown:
    return ("name", "window"), [(name, str(w)) for name, w in registry.windows.items()]


def _functions(registry: Registry) -> Shown:
    rows = [
        (f.name, "aggregate" if f.aggregate else "function", f.returns, f.target)
        for f in registry.functions.values()
    ]
    return ("name", "kind", "returns", "target"), rows


def _views(registry: Registry) -> Shown:
    return ("name", "query"), list(registry.names.items())


def _summaries(registry: Registry) -> Shown:
    rows = [
        (
            summary.name,
            summary.stream,
            summary.column,
            summary.kind,
            ", ".join(map(duration_text, summary.lengths)),
            duration_text(summary.span),
            str(summary.buckets),
        )
        for summary in registry.summaries.values()
    ]
    return ("name", "stream", "column", "kind", "granularities", "reaches", "buckets"), rows


def _alerts(registry: Registry) -> Shown:
    rows = [
        (
            name,
            standing.alert.query or "audit",
            ", ".join(map(_word, standing.alert.group)),
            standing.alert.words,
            ", ".join(map(str, standing.alert.targets)),
            standing.version,
        )
        for name, standing in registry.alerts.items()
    ]
    return ("name", "on", "group", "when", "delivers", "version"), rows


def _sinks(registry: Registry) -> Shown:
    rows = [
        (
            name,
            standing.sink.words,
            str(standing.sink.to),
            "yes" if standing.sink.history else "no",
            standing.version,
        )
        for name, standing in registry.sinks.items()
    ]
    return ("name", "on", "delivers", "history", "version"), rows


_SHOWN: dict[str, Callable[[Registry], Shown]] = {
    "queries": _queries,
    "windows": _windows,
    "functions": _functions,
    "views": _views,
    "summaries": _summaries,
    "alerts": _alerts,
    "sinks": _sinks,
}


def answers(reader: Reader, registry: Registry, name: str = "") -> pa.Table:
    """The newest answers of a query or of all; the current rows of one that answers rows."""
    names = members(registry, name) if name else ()
    if len(names) == 1 and isinstance(registry.query(names[0]).asked, View):
        return _rows(reader, registry, names[0])
    wanted = set(names)
    given = (a for a in reader.latest() if wanted or not is_shadow(a.query))
    found = [answer for answer in given if not wanted or answer.query in wanted]
    return pa.table(
        {
            "query": pa.array([a.query for a in found], TEXT),
            "group": pa.array([", ".join(map(_word, a.group)) for a in found], TEXT),
            "value": pa.array([a.value for a in found], pa.float64()),
            "low": pa.array([a.low for a in found], pa.float64()),
            "high": pa.array([a.high for a in found], pa.float64()),
            "confidence": pa.array([a.confidence for a in found], pa.float64()),
            "basis": pa.array([a.basis for a in found], TEXT),
            "as_of": pa.array([a.as_of for a in found], pa.timestamp("us", tz="UTC")),
            "coverage": pa.array([a.coverage for a in found], pa.float64()),
        }
    )


def note_of(shown: pa.Table) -> str:
    """Why a shown table of answers is empty or incomplete, and until when; or nothing."""
    noted: dict[bytes, bytes] = shown.schema.metadata or {}
    return noted.get(NOTE.encode(), b"").decode()


def _rows(reader: Reader, registry: Registry, name: str) -> pa.Table:
    """The rows that a view holds; of a stream of rows the newest, which it does not hold."""
    view = registry.query(name).view
    if name not in reader.registry().queries:
        # Its registration still waits for the next page.
        return schema_of(view.plan, registry.functions).to_arrow().empty_table()
    if view.stream_kind:
        given = reader.row_changes(name)
        return given.slice(max(given.num_rows - NEWEST, 0))
    return reader.rows(name)


def _word(part: Any) -> str:
    return "null" if part is None else str(part)


def describe(registry: Registry, name: str) -> pa.Table:
    """DESCRIBE: the columns of whatever has a name."""
    titles = ("column", "type", "role")
    if name in registry.streams:
        stream = registry.streams[name]
        roles = {**dict.fromkeys(stream.key, "key"), stream.time: "time"}
        roles |= dict.fromkeys(stream.widened, "widened from int")
        if stream.width is not None:
            roles[stream.width] = "width"
        return _table(titles, [(c, k, roles.get(c, "")) for c, k in stream.schema.columns])
    if name in registry.tables:
        return _table(titles, [(c, k, "") for c, k in registry.tables[name].schema.columns])
    if name in registry.queries:
        return _table(titles, _answer_columns(registry, registry.queries[name]))
    if name in registry.windows:
        return _table(("name", "window"), [(name, str(registry.windows[name]))])
    if name in registry.names:
        plan = bind(Select((Item(Expr("star")),), FromName(name)), registry)
        columns = schema_of(plan, registry.functions).columns
        return _table(titles, [(column, kind, "") for column, kind in columns])
    others: tuple[tuple[Collection[str], Callable[[Registry], Shown]], ...] = (
        (registry.functions, _functions),
        (registry.summaries, _summaries),
        (registry.alerts, _alerts),
        (registry.sinks, _sinks),
    )
    for kept, listed in others:
        if name in kept:
            about, rows = listed(registry)
            return _table(about, [row for row in rows if row[0] == name])
    raise QueryNotFound(
        f"nothing is named {name!r}",
        f"there are {len(registry.streams)} streams, {len(registry.tables)} tables, "
        f"{len(registry.queries)} queries, {len(registry.windows)} windows",
        "check the spelling, or look with SHOW STREAMS and SHOW QUERIES",
    )


def _answer_columns(registry: Registry, standing: Standing) -> list[tuple[str, str, str]]:
    if isinstance(standing.asked, View):
        schema: Schema = schema_of(standing.asked.plan, registry.functions)
        return [(column, kind, "") for column, kind in schema.columns]
    query = standing.asked
    known = dict(registry.stream(query.stream).schema.columns)
    groups = [(name, known.get(name, "string"), "group") for name in query.group_by]
    return [*groups, ("value", "float", "value"), ("low", "float", "bar"), ("high", "float", "bar")]


def explained(registry: Registry, name: str, *, shards: int, epoch: int) -> PlanText:
    """The plan of a registered query, of numbers or of rows."""
    asked, shards = registry.query(name).asked, registry.shards or shards
    if isinstance(asked, View):
        return PlanText(explain_view(asked, registry, shards=shards, epoch=epoch))
    return PlanText(explain_query(registry, name, shards=shards, epoch=epoch))


def explain(reader: Reader, trial: Trial, target: str | Ask, *, analyze: bool) -> str:
    """EXPLAIN of a query by name, or of one that is not registered, which stays so."""
    shards, epoch = reader.home.shards, reader.home.committed()
    if isinstance(target, Ask):
        if analyze:
            raise BindError(
                "EXPLAIN ANALYZE needs a query that has run",
                "this one is not registered",
                "register it, let it answer, then write EXPLAIN ANALYZE and its name",
            )
        return _foreseen(trial, target, shards, epoch)
    names = members(trial.registry, target)
    committed = reader.registry() if epoch else trial.registry
    plans: list[str] = []
    for name in names:
        known = _known(name, committed, trial.registry)
        plans.append(explained(known, name, shards=shards, epoch=epoch))
    if analyze:
        pairs = zip(names, plans, strict=True)
        plans = [f"{plan}\n{measured(reader, name)}" for name, plan in pairs]
    return PlanText("\n\n".join(plans))


def _known(name: str, committed: Registry, expected: Registry) -> Registry:
    """What is committed, when it has this version of a query; else what will be."""
    standing = committed.queries.get(name)
    there = standing is not None and standing.asked == expected.query(name).asked
    return committed if there else expected


def _foreseen(trial: Trial, target: Ask, shards: int, epoch: int) -> str:
    rehearsal = Trial(trial.registry)
    queries: list[Query | View] = planned(rehearsal.registry, name_of(target), target)
    rehearsal.register([query for query in queries if rehearsal.standing(query.name) is None])
    plans: list[str] = []
    for query in queries:
        plan: str = explained(rehearsal.registry, query.name, shards=shards, epoch=epoch)
        if trial.standing(query.name) is None:
            rest = plan.partition("\n")[2]
            plan = f"{query.name}, not registered\n{rest}"
        plans.append(plan)
    return PlanText("\n\n".join(plans))
