"""Registry: streams, windows and standing queries as durable, versioned data.

The registry is a fold over control records. The same records in the same order give the same
registry everywhere, so it is never shipped, only replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.operators.functions import Function, Functions
from streamgauge.plan.alert import Alert, StandingAlert, check_alert, refuse_watched
from streamgauge.plan.bidding import taken
from streamgauge.plan.bounds import bounded, columns_of, refuse_bare_values
from streamgauge.plan.former_offers import FORMER, offer_now
from streamgauge.plan.freshness import check_freshness
from streamgauge.plan.missing import missing
from streamgauge.plan.offer import Statistics
from streamgauge.plan.promise_check import check_promise
from streamgauge.plan.query import Query
from streamgauge.plan.rescale import checked_shards, refuse_split_groups
from streamgauge.plan.seeds import kept_by, seeded
from streamgauge.plan.shadows import is_shadow, refuse_shadow, shadows_of
from streamgauge.plan.sink import Sink, StandingSink, check_delivered, refuse_delivered, with_sink
from streamgauge.plan.standing import Listed, Standing, Taken, asked, streams_of
from streamgauge.plan.standing_queries import StandingQueries
from streamgauge.plan.switching import next_version, suspend, switched
from streamgauge.plan.tables import CHANGES as TABLE_CHANGES
from streamgauge.plan.tables import change_tables
from streamgauge.plan.view import View
from streamgauge.plan.widening import declared_again, kept_whole, widen
from streamgauge.promise.costs import Costs
from streamgauge.promise.summary import Summary
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import Window

__all__ = ["Listed", "Record", "Registry", "Standing", "Taken", "asked", "streams_of"]

Record = dict[str, Any]
# Records that come while nothing is asked, and after which all plans are as they were.
PLANLESS = ("costs", "rescale")
# Records that say what is asked; a page says of each query which offer was taken.
ASKING = ("register", "alter", "shadow")
# Records after which offers are taken: a window that is another now moves its queries.
TAKING = (*ASKING, "window")
# What whoever writes pages adds to them.
DECIDED = ("taken", "born")


@dataclass(slots=True)
class Registry:
    """All that is declared, as of an epoch; `shards` of a home that was rescaled, else 0.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.streams.schema import Schema
    >>> plant = Stream("plant", Schema.of(s="string", ts="time", v="float"), "ts", ("s",), ())
    >>> registry = Registry()
    >>> registry.apply([{"do": "stream", "stream": plant.as_dict()}], epoch=1)
    []
    >>> ask = Query("heat", "plant", avg("v")).as_dict()
    >>> registry.apply([{"do": "register", "queries": [ask]}], epoch=2)
    []
    >>> registry.apply([{"do": "register", "queries": [ask]}], epoch=3)[0].what
    "query 'heat' exists already"
    """

    epoch: int = 0
    changed: int = 0
    next_id: int = 0
    streams: dict[str, Stream] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    queries: StandingQueries = field(default_factory=StandingQueries)
    tables: dict[str, Table] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)
    alerts: dict[str, StandingAlert] = field(default_factory=dict)
    sinks: dict[str, StandingSink] = field(default_factory=dict)
    seed: int | None = None
    shards: int = 0

    def apply(self, records: Iterable[Record], *, epoch: int) -> list[StreamgaugeError]:
        """Fold the records of one epoch; a record that does not fit is refused, the rest holds."""
        self.queries.changed.clear()
        refused = [error for record in records for error in self._fold(record, epoch)[1]]
        self.epoch = epoch
        return refused

    def decide(
        self, records: Iterable[Record], *, epoch: int
    ) -> tuple[list[Record], list[StreamgaugeError]]:
        """Fold records that wait, as `apply` does, and write the offers that were taken into them.

        What a record says of offers already is left out: whoever writes pages decides.
        """
        decided: list[Record] = []
        self.queries.changed.clear()
        refused: list[StreamgaugeError] = []
        for record in records:
            if record["do"] in TAKING:
                record = {name: told for name, told in record.items() if name not in DECIDED}
            found, errors = self._fold(record, epoch)
            if record["do"] in ASKING:
                record = {**record, "taken": found, "born": epoch}
            elif record["do"] == "window" and (users := self._window_users(record["name"])):
                offers = {user.name: Taken(user.technique, user.model) for user in users}
                record = {**record, "taken": offers}
            decided.append(record)
            refused += errors
        self.epoch = epoch
        return decided, refused

    def _fold(
        self, record: Record, epoch: int
    ) -> tuple[list[Taken | None], list[StreamgaugeError]]:
        """Fold one record; the offers that were taken, None where a query was refused."""
        if record["do"] not in PLANLESS:
            self.changed = epoch
        if self.seed is None:
            self.seed = record.get("seed")
        found: list[Taken | None] = []
        refused: list[StreamgaugeError] = []
        for change in _single(record):
            known = None
            try:
                self._apply_one(change, epoch)
                if change["do"] in ASKING and change.get("taken", ()) is not None:
                    standing = self.queries[change["query"]["name"]]
                    known = Taken(standing.technique, standing.model)
            except StreamgaugeError as error:
                refused.append(error)
            found.append(known)
        return found, refused

    def _apply_one(self, change: Record, epoch: int) -> None:
        do = change["do"]
        if do == "stream":
            self._add_stream(Stream.from_dict(change["stream"]))
        elif do == "drop stream":
            self._drop_stream(change["name"])
        elif do == "window":
            told = {name: Taken(*offer) for name, offer in change.get("taken", {}).items()}
            self._put_window(change["name"], Window.from_dict(change["window"]), epoch, told)
        elif do == "drop window":
            self._drop_window(change["name"])
        elif do in TABLE_CHANGES:
            self._change_table(change, epoch)
        elif do == "function":
            function = Function(**change["function"])
            self.functions[function.name] = function
        elif do == "drop function":
            self._drop_function(change["name"])
        elif do == "summary":
            self._put_summary(Summary.from_dict(change["summary"]))
        elif do == "drop summary":
            self._drop_summary(change["name"])
        elif do == "costs":
            self.costs = Costs(**change["costs"])
        elif do == "rescale":
            refuse_split_groups(self)
            self.shards = checked_shards(change["shards"])
        elif do == "name":
            self.names[change["name"]] = change["text"]
        elif do == "drop name":
            self._drop(self.names, "view", change["name"])
        elif do in ASKING:
            self._ask(change, epoch)
        elif do == "drop shadows":
            for name in filter(is_shadow, change["names"]):
                self.queries.pop(name, None)
        elif do in ("pause", "resume"):
            old = self.query(change["name"])
            self.queries[old.name] = switched(old, do, epoch)
        elif do == "suspend":
            suspend(self.queries, change)
        elif do == "drop":
            name = self.query(change["name"]).name
            refuse_watched(name, self.alerts)
            refuse_delivered(name, self.sinks.values())
            del self.queries[name]
            self._drop_shadows(name)
        elif do == "alert":
            self._put_alert(Alert.from_dict(change["alert"]), epoch)
        elif do == "drop alert":
            self._drop(self.alerts, "alert", change["name"])
        elif do in ("sink", "drop sink"):
            self._change_sinks(change, epoch)
        elif do == "widen":
            widen(self.streams, self.queries, change, epoch)
        elif do != "advance":
            raise BindError(
                f"unknown change {do!r}", "written by a newer release", "upgrade this process"
            )

    def _ask(self, change: Record, epoch: int) -> None:
        offer = change.get("taken", ())
        if offer is None:
            # It was refused when the page was written, and the page says why.
            return
        query, told = asked(change["query"]), Taken(*offer) if offer else None
        epoch = change.get("born", epoch)
        if change["do"] == "alter":
            self._alter(query, epoch, told)
            return
        if change["do"] == "register":
            refuse_shadow(query.name)
        self._register(query, epoch, told)

    def take(self, do: str, query: Query | View, *, epoch: int) -> None:
        """Register or alter one query as a value, as a record of it would; or raise."""
        self.changed = self.epoch = epoch
        if do == "register":
            refuse_shadow(query.name)
            self._register(query, epoch)
        else:
            self._alter(query, epoch)

    def query(self, name: str) -> Standing:
        """A query by name, or QueryNotFound with the nearest names."""
        if name in self.queries:
            return self.queries[name]
        raise missing("query", name, self.queries)

    def stream(self, name: str) -> Stream:
        """A stream by name, or QueryNotFound."""
        if name in self.streams:
            return self.streams[name]
        raise missing("stream", name, self.streams)

    def window_of(self, query: Query) -> Window | None:
        """The window of a query as a value, or None for latest values."""
        return None if query.window is None else query.resolve(self.windows)

    def _add_stream(self, stream: Stream) -> None:
        self.streams[stream.name] = declared_again(self.streams.get(stream.name), stream)

    def kept_whole(self, stream: str, column: str) -> str | None:
        """Why a column of whole numbers cannot become float, or None."""
        kept = {s.column: f"summary {s.name!r}" for s in self.summaries.values()}
        kept |= {q: f"sink {s.sink.name!r}" for s in self.sinks.values() for q in s.sink.queries}
        asked = self.queries.values()
        return kept_whole(self.streams[stream], column, asked, self.windows, kept)

    def _drop(self, kept: dict[str, Any], kind: str, name: str) -> None:
        if name not in kept:
            raise missing(kind, name, kept)
        del kept[name]

    def _drop_function(self, name: str) -> None:
        asked = [s.asked for s in self.queries.values() if isinstance(s.asked, Query)]
        users = [query.name for query in asked if name in query.functions]
        if users:
            raise BindError(
                f"function {name!r} is in use",
                f"{len(users)} queries call it, {users[0]!r} first",
                "drop the queries first",
            )
        self._drop(self.functions, "function", name)

    def _change_table(self, change: Record, epoch: int) -> None:
        name = change["table"]["name"] if change["do"] == "table" else change["name"]
        if change["do"] != "table" and name not in self.tables:
            raise missing("table", name, self.tables)
        users = (query.name for query in self.queries.values() if name in query.asked.tables)
        change_tables(self.tables, change, epoch=epoch, users=users)

    def _put_summary(self, summary: Summary) -> None:
        stream = self.stream(summary.stream)
        stream.schema.type(summary.column)
        if self.summaries.get(summary.name, summary) != summary:
            self._refuse_used_summary(summary.name)
        self.summaries[summary.name] = summary

    def _drop_summary(self, name: str) -> None:
        self._refuse_used_summary(name)
        self._drop(self.summaries, "summary", name)

    def _put_alert(self, alert: Alert, epoch: int) -> None:
        if alert.query:
            self.query(alert.query)
        check_alert(alert, self.queries)
        old = self.alerts.get(alert.name)
        fresh = StandingAlert(alert, epoch=epoch, born=epoch)
        self.alerts[alert.name] = old.changed(alert, epoch) if old is not None else fresh

    def _change_sinks(self, change: Record, epoch: int) -> None:
        if change["do"] == "drop sink":
            self._drop(self.sinks, "sink", change["name"])
            return
        sink = Sink.from_dict(change["sink"])
        for name in sink.queries:
            self.query(name)
        self.sinks = dict(with_sink(self.sinks, sink, self.queries, epoch))

    def _refuse_used_summary(self, name: str) -> None:
        promises = [(user.name, user.asked.promise) for user in self.queries.values()]
        users = [who for who, p in promises if p and name in dict(p.summaries).values()]
        if users:
            raise BindError(
                f"summary {name!r} is in use",
                f"{len(users)} queries are judged by it, {users[0]!r} first",
                "drop the queries first, or choose another name",
            )

    def _drop_stream(self, name: str) -> None:
        self.stream(name)
        judged = [s.name for s in self.summaries.values() if s.stream == name]
        if judged:
            raise BindError(
                f"stream {name!r} is in use",
                f"summary {judged[0]!r} is kept of it",
                f"write DROP SUMMARY {judged[0]} first",
            )
        users = [q.name for q in self.queries.values() if name in streams_of(q.asked)]
        if users:
            raise BindError(
                f"stream {name!r} is in use",
                f"{len(users)} queries read it, {users[0]!r} first",
                "drop the queries first",
            )
        del self.streams[name]

    def _put_window(self, name: str, window: Window, epoch: int, told: Mapping[str, Taken]) -> None:
        old = self.windows.get(name)
        self.windows[name] = window
        users = self._window_users(name)
        try:
            for user in users:
                self._bind(user.query)
        except StreamgaugeError:
            if old is not None:
                self.windows[name] = old
            raise
        for user in users:
            # What a query keeps of its rows is as it was; who keeps it depends on the window.
            offer = told.get(user.name) or Taken(self._offered(user.query).technique, user.model)
            self.queries[user.name] = replace(next_version(user, epoch), **offer._asdict())

    def _window_users(self, name: str) -> list[Standing]:
        everyone = self.queries.values()
        return [q for q in everyone if isinstance(q.asked, Query) and q.asked.window == name]

    def _drop_window(self, name: str) -> None:
        users = [user.name for user in self._window_users(name)]
        if users:
            raise BindError(
                f"window {name!r} is in use",
                f"{len(users)} queries read it, {users[0]!r} first",
                "drop or alter the queries first",
            )
        self._drop(self.windows, "window", name)

    def _register(self, query: Query | View, epoch: int, told: Taken | None = None) -> None:
        if query.name in self.queries:
            raise BindError(
                f"query {query.name!r} exists already",
                f"it asks {self.queries[query.name].asked}",
                "choose another name, or alter it",
            )
        technique, model = self._checked(query, told)
        self.queries[query.name] = Standing(
            self.next_id, query, epoch=epoch, born=epoch, model=model, technique=technique
        )
        self.next_id += 1

    def _checked(self, query: Query | View, told: Taken | None) -> Taken:
        """Check a query against what is declared; the offer that is taken, unless it was told."""
        if isinstance(query, Query):
            for name in query.streams:
                self._refuse_changes(query, self.stream(name))
            self._bind(query)
            self._refuse_bare_values(query)
        check_freshness(query, [self.stream(name) for name in query.streams], self.windows)
        if isinstance(query, View):
            absent = next((name for name in query.tables if name not in self.tables), None)
            if absent is not None:
                raise missing("table", absent, self.tables)
            check_promise(query, self.streams, self.summaries, self.windows)
        return self._offered(query) if told is None else offer_now(self, query, told)

    def _offered(self, asked: Query | View) -> Taken:
        """The offer that is taken, with the seed of what its synopsis keeps."""
        offer = taken(asked, Statistics.of(self, asked))
        if not offer.model or isinstance(asked, View):
            return Taken(offer.technique)
        kept = kept_by(asked, self.window_of(asked), self.stream(asked.stream).tick)
        return Taken(offer.technique, seeded(offer.model, self.seed, kept))

    def _bind(self, query: Query) -> None:
        query.bind(self.stream(query.stream), self.windows, self.functions, self.tables)
        check_promise(query, self.streams, self.summaries, self.windows)

    def _refuse_changes(self, query: Query, stream: Stream) -> None:
        """Sketches across streams count rows that stay."""
        if query.parts and stream.changes is not None:
            raise BindError(
                f"{query.select} is of streams that only grow",
                f"stream {stream.name!r} takes rows back in column {stream.changes!r}",
                "leave WITHIN out: the rows themselves are counted exactly",
            )

    def _refuse_bare_values(self, query: Query) -> None:
        """Rows of bounds are read with their widths; the newest bounds need no rows."""
        for stream in (self.stream(name) for name in query.streams):
            if not bounded(query, stream):
                refuse_bare_values(query.name, columns_of(query, stream), stream)

    def _alter(self, query: Query | View, epoch: int, told: Taken | None = None) -> None:
        old = self.query(query.name)
        technique, model = self._checked(query, told)
        trial = {query.name: replace(old, asked=query)}
        for standing in self.alerts.values():
            if standing.alert.query == query.name:
                check_alert(standing.alert, trial)
        check_delivered(self.sinks, trial[query.name])
        self._drop_shadows(query.name)
        self.queries[query.name] = replace(
            next_version(old, epoch), asked=query, model=model, technique=technique
        )

    def _drop_shadows(self, name: str) -> None:
        """Shadows ask what a query asked; they go with it."""
        for shadow in shadows_of(name):
            self.queries.pop(shadow, None)

    def as_dict(self) -> dict[str, Any]:
        """JSON snapshot."""
        more = {
            "tables": [table.as_dict() for table in self.tables.values()],
            "functions": [function.as_dict() for function in self.functions.values()],
            "names": self.names,
            "summaries": [summary.as_dict() for summary in self.summaries.values()],
            "costs": self.costs.as_dict() if self.costs != Costs() else {},
            "alerts": [standing.as_dict() for standing in self.alerts.values()],
            "sinks": [standing.as_dict() for standing in self.sinks.values()],
            "seed": self.seed,
            "shards": self.shards,
        }
        return {
            "epoch": self.epoch,
            "changed": self.changed,
            "next_id": self.next_id,
            "streams": [stream.as_dict() for stream in self.streams.values()],
            "windows": {name: window.as_dict() for name, window in self.windows.items()},
            "queries": [standing.as_dict() for standing in self.queries.values()],
            **{name: kept for name, kept in more.items() if kept},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Registry:
        """Read a snapshot."""
        streams = [Stream.from_dict(item) for item in data["streams"]]
        named = {stream.name: stream for stream in streams}
        queries = [Standing.from_dict(item) for item in data["queries"]]
        found = cls(
            data["epoch"],
            data["changed"],
            data["next_id"],
            named,
            {name: Window.from_dict(item) for name, item in data["windows"].items()},
            StandingQueries((standing.name, standing) for standing in queries),
            {item["name"]: Table.from_dict(item) for item in data.get("tables", ())},
            {item["name"]: Function(**item) for item in data.get("functions", ())},
            dict(data.get("names", {})),
            {item["name"]: Summary.from_dict(item) for item in data.get("summaries", ())},
            Costs(**data.get("costs", {})),
            {a["alert"]["name"]: StandingAlert.from_dict(a) for a in data.get("alerts", ())},
            {s.sink.name: s for s in map(StandingSink.from_dict, data.get("sinks", ()))},
            data.get("seed"),
            data.get("shards", 0),
        )
        for one in [one for one in queries if one.technique in FORMER]:
            offer = offer_now(found, one.asked, Taken(one.technique, one.model))
            found.queries[one.name] = replace(one, technique=offer.technique)
        return found


def _single(record: Record) -> list[Record]:
    """Split a bulk record into single changes."""
    if record["do"] in ASKING:
        queries = record["queries"] if "queries" in record else [record["query"]]
        common = {name: record[name] for name in ("do", "born") if name in record}
        changes = [{**common, "query": query} for query in queries]
        if "taken" in record:
            pairs = zip(changes, record["taken"], strict=True)
            return [{**change, "taken": offer} for change, offer in pairs]
        return changes
    if record["do"] in ("pause", "resume", "drop"):
        return [{"do": record["do"], "name": name} for name in record["names"]]
    return [record]
