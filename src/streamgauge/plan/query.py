"""Query: what is asked, of which stream, when it answers and what it is owed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.contracts.contract import Contract
from streamgauge.contracts.picture import facts_html
from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.kernel.time import Duration, DurationLike, duration, duration_text
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.evaluate import type_of
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.latest import bind_latest, refuse_latest_terms
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over
from streamgauge.plan.part import Part
from streamgauge.promise.promise import Promise
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import LATEST, Window

DECAYING = ("count", "sum", "avg", "var", "stddev")


@dataclass(frozen=True, slots=True)
class Cadence:
    """When a query answers, in event time.

    Examples
    --------
    >>> print(every("1 minute"), "|", on_change(0.5), "|", on_close())
    every 1 min | on change of 0.5 | on close
    """

    kind: str
    period: Duration = 0
    by: float = 0.0

    def __str__(self) -> str:
        if self.kind == "every":
            return f"every {duration_text(self.period)}"
        if self.kind == "close":
            return "on close"
        return "on change" + (f" of {self.by:g}" if self.by else "")


def every(period: DurationLike) -> Cadence:
    """Answer at every whole multiple of `period`."""
    width = duration(period)
    if width <= 0:
        raise BindError("a cadence needs a positive period", f"got {period!r}", "every('1 s')")
    return Cadence("every", period=width)


def on_change(by: float = 0.0) -> Cadence:
    """Answer when the value has moved by more than `by` since the last answer."""
    if not by >= 0.0:
        raise BindError("a change must be 0 or more", f"got {by}", "write on_change(0.5)")
    return Cadence("change", by=by)


def on_close() -> Cadence:
    """Answer whenever the window moves by a slide."""
    return Cadence("close")


@dataclass(frozen=True, slots=True)
class Query:
    """A standing query, as a value.

    With the window `Latest()`, or with `series`, `members` or `group_by` and no window, it asks of
    the *latest values* of series. With another window it asks of the rows in it that pass `where`,
    per group of `group_by`.

    Parameters
    ----------
    name, stream
        Name of the query and of the stream it reads.
    select
        The aggregate.
    series, weights
        Members of a query over latest values; weights go with sum and avg.
    window
        A window value, the name of a window created before, or `Latest()`. A query that has neither
        a window nor anything about series is refused when it is registered.
    where, group_by
        Filter and grouping columns; the filter applies to the rows inside the window. Without a
        window the grouping columns are attributes of a series, one cell for each of their values.
    answer
        Cadence; on change by default.
    contract
        What is owed; exact by default.
    history
        Whether a new window is filled from kept history (True) or starts empty (False).
    parts
        Streams of a question across several; made by the planner.
    derived
        Columns computed from each row, each named by the text of its expression.
    memory
        Bytes that the synopsis of each group and pane may take; None: what the contract needs.
    over
        Ask for the largest or smallest value that the query had within a window.
    members
        Ask for one value for each key of a stored table, of the series it lists.
    regime
        timer or watch, how a deferred query is brought up to date; empty: by cost.
    trend
        Whether answers carry a slope, so that a reader carries the value on: value + slope * s.
    promise
        What it prefers when it cannot look at every row; None: it always can.
    latest
        Whether latest values were asked for by name; set by `window=Latest()`.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> q = Query("heat", "plant", avg("value"), series=("s1", "s2"), answer=on_change(0.5))
    >>> print(q)
    avg(value) of 2 series of plant, on change of 0.5, exact
    >>> Query.from_dict(q.as_dict()) == q
    True
    """

    name: str
    stream: str
    select: Aggregate
    series: tuple[str, ...] | None = None
    weights: tuple[float, ...] | None = None
    window: Window | str | None = None
    where: Predicate | None = None
    group_by: tuple[str, ...] = ()
    answer: Cadence = Cadence("change")
    contract: Contract = field(default_factory=Contract)
    history: bool = True
    parts: tuple[Part, ...] = ()
    derived: tuple[tuple[str, Expr], ...] = ()
    memory: int | None = None
    over: Over | None = None
    members: Members | None = None
    regime: str = ""
    trend: bool = False
    promise: Promise | None = None
    latest: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.where is not None and not isinstance(self.where, Predicate):
            raise BindError(
                f"where of query {self.name!r} is not a condition",
                f"got {self.where!r}",
                'write where=(col("k") == "a") & (col("v") > 3)',
            )
        if self.window == LATEST or getattr(self.window, "kind", "") == LATEST:
            object.__setattr__(self, "window", None)
            object.__setattr__(self, "latest", True)
        for name in ("series", "group_by", "weights"):
            given = getattr(self, name)
            if isinstance(given, str):
                object.__setattr__(self, name, (given,))
            elif given is not None and not isinstance(given, tuple):
                object.__setattr__(self, name, tuple(given))

    def bind(
        self,
        stream: Stream,
        windows: dict[str, Window],
        functions: Functions | None = None,
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        """Check the query against its stream; raise what a user can act on."""
        stream = widened(stream, dict(self.derived), functions or {})
        if self.parts:
            refuse_latest_terms(self)
            self._bind_parts()
            return
        self.select.bind(stream.schema)
        if self.select.summary:
            self._bind_summary(windows)
        if self.answer.kind == "every" and self.answer.period % stream.tick:
            raise BindError(
                f"cadence {self.answer} is not a whole number of ticks",
                f"the tick of stream {stream.name!r} is {duration_text(stream.tick)}",
                f"use a multiple of {duration_text(stream.tick)}",
            )
        if self.window is None:
            bind_latest(self, stream, tables or {})
        else:
            refuse_latest_terms(self)
            self._bind_window(stream, self.resolve(windows))

    def _bind_parts(self) -> None:
        """A question across streams is of windows of time."""
        for part in self.parts:
            if part.window.kind not in ("now", "range", "landmark"):
                raise UnsupportedWindow(
                    f"{self.select} needs windows of time",
                    f"stream {part.stream!r} has {part.window}",
                    "write [RANGE 1 MINUTE] after each stream",
                )

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions that its derived columns call, by name in lower case."""
        parts = [part for _, expr in self.derived for part in expr.walk() if part.op == "call"]
        return tuple(dict.fromkeys(str(part.value).lower() for part in parts))

    @property
    def owed(self) -> str:
        """The contract in words; over latest values a confidence is a share of time."""
        return self.contract.words(over_time=self.over_time)

    @property
    def over_time(self) -> bool:
        """Whether its contract is judged by the share of time that it holds."""
        return self.window is None and not self.parts

    @property
    def cells(self) -> tuple[str, ...]:
        """Columns that tell its answers apart: those of its groups, or of its table of members."""
        return self.group_by if self.members is None else self.members.by

    @property
    def tables(self) -> tuple[str, ...]:
        """Stored tables it reads."""
        return () if self.members is None else (self.members.table,)

    @property
    def streams(self) -> tuple[str, ...]:
        """Streams it reads, each once."""
        found = [part.stream for part in self.parts] or [self.stream]
        return tuple(dict.fromkeys(found))

    def _bind_summary(self, windows: dict[str, Window]) -> None:
        """Summaries are of windows of time; their contract is judged when a synopsis is chosen."""
        kind = None if self.window is None else self.resolve(windows).kind
        if kind not in ("now", "range", "landmark"):
            raise UnsupportedWindow(
                f"{self.select} needs a window of time",
                f"query {self.name!r} has {'no window' if kind is None else self.window}",
                "write [RANGE 1 MINUTE] or [SINCE '2026-01-01']; in Python Range('1 minute')",
            )
        if self.select.name == "top_k" and self.answer.kind == "change":
            raise BindError(
                "top_k answers whole lists, which do not change by an amount",
                f"query {self.name!r} answers {self.answer}",
                "write EVERY 10 SECONDS or ON CLOSE; in Python answer=every('10 s')",
            )

    def _bind_window(self, stream: Stream, window: Window) -> None:
        window.bind(stream.tick)
        if window.kind in ("session", "decay"):
            self._bind_special(window)
        if self.series is not None or self.weights is not None:
            raise BindError(
                f"query {self.name!r} has both a window and a list of series",
                f"window {window}",
                f"filter by where=col({stream.key[0] if stream.key else 'key'!r}).isin(...)",
            )
        for column in (*self.group_by, *window.by):
            stream.schema.type(column)
        if self.where is not None:
            self.where.bind(stream.schema)
        if stream.late.policy == "revise" and window.kind in ("rows", "partition"):
            raise UnsupportedWindow(
                f"{window} cannot be revised",
                f"stream {stream.name!r} revises late rows; row windows forget the order",
                "use Range(...), or declare late=Late.allow(...) on the stream",
            )

    def _bind_special(self, window: Window) -> None:
        """Sessions are of rows; a decay has a value at any instant, so it is told which."""
        if window.kind == "session":
            raise UnsupportedWindow(
                f"{window} is a window of rows that come and go",
                f"query {self.name!r} asks {self.select} of it",
                "select rows: gauge.sql('SELECT ... FROM stream [SESSION ...]')",
            )
        if self.select.name not in DECAYING:
            raise UnsupportedWindow(
                f"{self.select} is not asked of rows that fade",
                f"query {self.name!r} has the window {window}",
                f"use {', '.join(DECAYING)}, or a window of time",
            )
        if self.answer.kind != "every":
            raise UnsupportedWindow(
                f"{window} moves at every instant",
                f"query {self.name!r} answers {self.answer}",
                "write EVERY 10 SECONDS; in Python answer=every('10 s')",
            )

    def resolve(self, windows: Mapping[str, Window]) -> Window:
        """The window as a value, looked up by name where it is shared."""
        if isinstance(self.window, Window):
            return self.window
        assert self.window is not None
        if self.window not in windows:
            raise BindError(
                f"unknown window {self.window!r}",
                f"windows are {', '.join(sorted(windows)) or 'none'}",
                f"create it first: gauge.create_window({self.window!r}, Range('1 minute'))",
            )
        return windows[self.window]

    def as_dict(self) -> dict[str, Any]:
        """JSON form; what is at its default is left out, so that thousands stay small."""
        out: dict[str, Any] = {"name": self.name, "stream": self.stream}
        out["select"] = {k: v for k, v in self.select.as_dict().items() if v is not None}
        out["answer"] = [self.answer.kind, self.answer.period, self.answer.by]
        if self.series is not None:
            out["series"] = list(self.series)
        if self.weights is not None:
            out["weights"] = list(self.weights)
        if self.window is not None:
            named = isinstance(self.window, str)
            out["window"] = self.window if named else self.window.as_dict()  # type: ignore[union-attr]
        if self.where is not None:
            out["where"] = self.where.as_dict()
        if self.group_by:
            out["group_by"] = list(self.group_by)
        if self.contract != Contract():
            out["contract"] = self.contract.as_dict()
        if not self.history:
            out["history"] = False
        if self.parts:
            out["parts"] = [part.as_dict() for part in self.parts]
        if self.memory is not None:
            out["memory"] = self.memory
        if self.over is not None:
            out["over"] = self.over.as_dict()
        if self.members is not None:
            out["members"] = self.members.as_dict()
        if self.regime:
            out["regime"] = self.regime
        if self.trend:
            out["trend"] = True
        if self.promise is not None:
            out["promise"] = self.promise.as_dict()
        if self.derived:
            out["derived"] = [[name, expr.as_json()] for name, expr in self.derived]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Query:
        """Read the JSON form."""
        window = data.get("window")
        kind, period, by = data.get("answer", ["change", 0, 0.0])
        series, weights = data.get("series"), data.get("weights")
        return cls(
            name=data["name"],
            stream=data["stream"],
            select=Aggregate(**data["select"]),
            series=None if series is None else tuple(series),
            weights=None if weights is None else tuple(weights),
            window=Window.from_dict(window) if isinstance(window, dict) else window,
            latest=window is None,
            where=Predicate.from_dict(data["where"]) if "where" in data else None,
            group_by=tuple(data.get("group_by", ())),
            answer=Cadence(kind, period, by),
            contract=Contract(**data.get("contract", {})),
            history=data.get("history", True),
            parts=tuple(Part.from_dict(part) for part in data.get("parts", ())),
            derived=tuple((name, Expr.from_json(expr)) for name, expr in data.get("derived", ())),
            memory=data.get("memory"),
            over=Over.from_dict(data["over"]) if "over" in data else None,
            members=Members.from_dict(data["members"]) if "members" in data else None,
            regime=data.get("regime", ""),
            trend=data.get("trend", False),
            promise=Promise.from_dict(data["promise"]) if "promise" in data else None,
        )

    def _repr_html_(self) -> str:
        latest = "latest values" + ("" if self.series is None else f" of {len(self.series)} series")
        about = {
            "asks": self.select,
            "of": ", ".join(self.streams),
            "over": latest if self.window is None else self.window,
            "where": self.where,
            "by": ", ".join(self.cells) or None,
            "answers": self.answer,
            "owed": self.owed,
        }
        return facts_html(
            self.name, {name: fact for name, fact in about.items() if fact is not None}
        )

    def __str__(self) -> str:
        if self.parts:
            named = (f"p{number} = {part}" for number, part in enumerate(self.parts))
            source = f"from {'; '.join(named)}"
        elif self.members is not None:
            source = f"of series of {self.stream}, members {self.members}"
        elif self.window is None:
            members = "all" if self.series is None else f"{len(self.series)}"
            weighted = " weighted" if self.weights else ""
            by = f" by {', '.join(self.group_by)}" if self.group_by else ""
            where = f" where {self.where}" if self.where is not None else ""
            source = f"of {members}{weighted} series of {self.stream}{where}{by}"
        else:
            source = f"from {self.stream} [{self.window}]"
            source += f" where {self.where}" if self.where is not None else ""
            source += f" group by {', '.join(self.group_by)}" if self.group_by else ""
        start = "" if self.history else ", from now"
        start += f", by {self.regime}" if self.regime else ""
        start += ", with trend" if self.trend else ""
        start += liking(self.promise)
        extreme = f"{self.over} of " if self.over else ""
        return f"{extreme}{self.select} {source}, {self.answer}, {self.owed}{start}"


def liking(promise: Promise | None) -> str:
    """What is preferred and what may be spent, to be said after a question.

    >>> count = Expr("estimate", (Expr("column", value="k"),), "count")
    >>> liking(Promise("desc", (count,), probes=5))
    ', desc COUNT(k), 5 probes a tick'
    """
    if promise is None:
        return ""
    parts = [f"{promise.order} {', '.join(map(str, promise.exprs))}"]
    parts += [f"fading by {promise.fade:g}"] if promise.fade < 1.0 else []
    if promise.probes is not None:
        parts.append(f"{promise.probes:,} probe{'s' * (promise.probes != 1)} a tick")
    parts += [f"{promise.cpu:g} cores"] if promise.cpu is not None else []
    return "".join(f", {part}" for part in parts)


def widened(stream: Stream, derived: dict[str, Expr], functions: Functions) -> Stream:
    """The stream as if the derived columns were among its own; a duration is a whole number."""
    own = set(stream.schema.names)
    more = []
    for name, expr in derived.items():
        if name in own:
            raise BindError(
                f"column {name!r} is computed and declared",
                f"stream {stream.name!r} has a column of that name",
                "rename the column of the stream",
            )
        kind = type_of(expr, stream.schema, functions)
        more.append((name, {"duration": "int", "null": "float"}.get(kind, kind)))
    return stream.computing(Schema((*stream.schema.columns, *more))) if more else stream
