"""Routes of streams: declare, show, drop, and the rows that could not be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Annotated, Any

import pyarrow.compute as pc
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from streamgauge.contracts.answer import Answer
from streamgauge.execute.script import Script
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, duration, duration_text, instant_text
from streamgauge.language.parse import parse
from streamgauge.language.statements import Change, CreateStream
from streamgauge.log.feeding import feeding_of
from streamgauge.plan.registry import streams_of
from streamgauge.plan.shadows import is_shadow
from streamgauge.server.access import Admin, Name, Reader
from streamgauge.server.desk import AtDesk, Desk, fitting
from streamgauge.server.outlook import cells_of
from streamgauge.server.shapes import NewStream, Rows, StreamShape, said
from streamgauge.server.statements import rows_of
from streamgauge.streams.stream import Stream

router = APIRouter(tags=["streams"])

MOST_SILENT = 20
LATE = ("drop", "allow", "revise")
SOURCES = {
    "files": ("path", "format", "time_unit", "header", "delimiter", "null", "idle"),
    "plant": ("n_sensors", "seed", "speed"),
    "rate": ("rows_per_second",),
    "replay": ("path", "stream", "speed", "since", "until", "shift", "loop"),
    "push": ("time_unit",),
    "edge": ("path", "latency", "beat", "broker", "tokens"),
}
SPANS = ("latency", "beat", "idle")


class Streams(BaseModel):
    """All streams."""

    streams: list[StreamShape]


class _Silence:
    """What is silent, by stream: agents, and answers that rest on series that are.

    All streams are read at once; a listing of many would read the same answers for each.
    """

    def __init__(self, desk: Desk) -> None:
        self.readers: Counter[str] = Counter()
        self.answers: dict[str, list[Answer]] = {}
        self.agents: dict[str, list[dict[str, Any]]] = {}
        _, newest = desk.newest.read()
        for standing in desk.catalog.committed().queries.values():
            silent = [a for a in newest.get(standing.name, ()) if a.basis == "interrupted"]
            for stream in streams_of(standing.asked):
                self.readers[stream] += not is_shadow(standing.name)
                if silent:
                    self.answers.setdefault(stream, []).extend(silent)
        self.series: dict[str, set[str]] = {}
        if self.answers:
            self._name_series(desk)
        for row in desk.gauge.agents().to_pylist():
            self.agents.setdefault(row["stream"], []).append(row)

    def _name_series(self, desk: Desk) -> None:
        """Note which series of each stream are silent, as far as deferred queries rest on them."""
        queries = desk.catalog.committed().queries
        cells = cells_of(desk.gauge).select(("query", "silent_series"))
        for row in cells.filter(pc.greater(pc.list_value_length(cells[1]), 0)).to_pylist():
            if row["query"] in queries:
                for stream in streams_of(queries[row["query"]].asked):
                    self.series.setdefault(stream, set()).update(row["silent_series"])

    def told(self, stream: Stream) -> dict[str, Any]:
        """Who of a stream is silent, and since when."""
        silent = self.answers.get(stream.name, [])
        gone = [row for row in self._agents(stream) if row["state"] == "interrupted"]
        gap = stream.expected_gap
        return {
            "expected_gap": None if gap is None else duration_text(gap),
            "answers": len(silent),
            "queries": list(dict.fromkeys(answer.query for answer in silent))[:MOST_SILENT],
            "since": min((instant_text(answer.as_of) for answer in silent), default=None),
            "series": sorted(self.series.get(stream.name, ()))[:MOST_SILENT],
            "agents": [row["agent"] for row in gone[:MOST_SILENT]],
            "heard": [row["heard"] for row in gone[:MOST_SILENT]],
            "interrupted": bool(silent or gone),
        }

    def counted(self, stream: Stream) -> dict[str, int]:
        """How many agents feed a stream, and what they sent of what they read."""
        rows = self._agents(stream)
        gone = sum(row["state"] == "interrupted" for row in rows)
        sums = {name: sum(row[name] or 0 for row in rows) for name in ("readings", "updates")}
        return {"heard": len(rows) - gone, "interrupted": gone, **sums}

    def _agents(self, stream: Stream) -> list[dict[str, Any]]:
        return self.agents.get(stream.name, [])


def _shown(desk: Desk, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Streams as they are shown: those of some names, or all by name."""
    held, expected = desk.catalog.committed().streams, desk.catalog.expected()
    wanted = sorted(expected.streams) if names is None else names
    silence = _Silence(desk)
    desk.tally.read()
    return [_as_dict(desk, expected.stream(name), held, silence) for name in wanted]


def _as_dict(
    desk: Desk, stream: Stream, held: Collection[str], silence: _Silence
) -> dict[str, Any]:
    tally, name = desk.tally, stream.name
    reached = tally.reached.get(name)
    declaration = stream.as_dict()
    hide = desk.problems.hidden
    source = declaration["source"].items()
    shown = {name: hide(value) if isinstance(value, str) else value for name, value in source}
    return {
        "name": name,
        "declaration": {**declaration, "source": shown},
        "in_force": name in held,
        "rows": tally.rows[name],
        "late": tally.late_in_all if len(held) == 1 else tally.late.get(name, 0),
        "lateness": tally.behind.get(name, 0) / SECOND,
        "dead_letters": tally.dead(name),
        "reached": None if reached is None else instant_text(reached),
        "idle_since": instant_text(tally.idle[name]) if name in tally.idle else None,
        "interruption": silence.told(stream),
        "agents": silence.counted(stream),
        "feed": _fed(desk, name),
        "readers": silence.readers[name],
    }


def _fed(desk: Desk, name: str) -> dict[str, str] | None:
    """How a stream is fed; none where nothing has to feed it."""
    told = feeding_of(desk.gauge.home, name)
    if told is None:
        return None
    reason = desk.problems.hidden(told.reason)
    return {"state": told.state, "reason": reason, "since": instant_text(told.since)}


@router.get("/streams", response_model=Streams)
def listing(desk: AtDesk, _caller: Reader) -> Response:
    """All streams with their figures."""
    return said({"streams": _shown(desk)})


@router.get("/streams/{name}", response_model=StreamShape)
def show(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """One stream: declaration, rows, late rows, dead letters, how far it has come."""
    return _one(desk, name)


def _one(desk: Desk, name: str, status: int = 200) -> Response:
    return said(_shown(desk, [name])[0], status)


@router.post("/streams", status_code=201, response_model=StreamShape)
def create(sent: NewStream, desk: AtDesk, caller: Admin) -> Response:
    """Declare a stream; declaring the same again changes nothing."""
    statement = _statement(sent)
    with desk.changing() as trial:
        script: Script = desk.script(trial, caller)
        fitting(lambda: script.execute(statement), "the declaration")
    return _one(desk, statement.name, 201)


def _statement(sent: NewStream) -> CreateStream:
    if sent.text is None:
        return fitting(lambda: _from_fields(sent), "the declaration")
    read = parse(sent.text)
    if not isinstance(read, CreateStream):
        raise BindError(
            "this declares no stream",
            f"it is {type(read).__name__}",
            "send CREATE STREAM ...; other statements go to /v1/statements",
        )
    return read


def _from_fields(sent: NewStream) -> CreateStream:
    """The statement that says the same."""
    if not sent.name:
        raise BindError("a stream needs a name", "name is empty", 'send {"name": "plant", ...}')
    source = dict(sent.source)
    kind = str(source.pop("kind", ""))
    unknown = sorted(set(source) - set(SOURCES.get(kind, ())))
    if kind not in SOURCES or unknown:
        raise BindError(
            f"unknown source {kind!r}" if kind not in SOURCES else f"unknown {unknown[0]!r}",
            f"sources are {', '.join(SOURCES)}; {kind} has {', '.join(SOURCES.get(kind, ()))}",
            'send {"source": {"kind": "files", "path": "data", "format": "csv"}}',
        )
    path = str(source.pop("path", ""))
    options: dict[str, Any] = {
        name: duration(str(value)) if name in SPANS else value for name, value in source.items()
    }
    for name in ("tick", "gap", "keep", "future", "idle"):
        if (span := getattr(sent, name)) is not None:
            options[name] = duration(span)
    for name in ("changes", "capacity", "width"):
        if (given := getattr(sent, name)) is not None:
            options[name] = given
    if sent.late is not None:
        options["late"] = _late(sent.late.policy, sent.late.by)
    columns = tuple(sent.columns.items())
    key = tuple(sent.key)
    return CreateStream(sent.name, kind, path, columns, sent.time, key, tuple(options.items()))


def _late(policy: str, by: str) -> tuple[Any, ...]:
    if policy not in LATE:
        raise BindError(
            f"unknown policy {policy!r} for late rows",
            f"policies are {', '.join(LATE)}",
            'send {"late": {"policy": "allow", "by": "5 s"}}',
        )
    return ("drop",) if policy == "drop" else (policy, duration(by))


@router.delete("/streams/{name}", status_code=204, response_model=None)
def drop(name: Name, desk: AtDesk, _caller: Admin) -> Response:
    """Forget a stream that no query reads."""
    desk.execute(Change("drop", "stream", (name,)))
    return Response(status_code=204)


@router.get("/streams/{name}/dead-letters", response_model=Rows)
def dead_letters(
    name: Name,
    desk: AtDesk,
    _caller: Reader,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> Response:
    """Rows that could not be used, newest first, with their origin and the reason."""
    # The name becomes a directory only once it is known to be that of a stream.
    stream = desk.catalog.expected().stream(name)
    found = desk.gauge.dead_letters(stream.name)
    newest = found.slice(max(found.num_rows - limit, 0))
    shown = rows_of(desk, newest, limit)
    return said({"rows": shown["rows"][::-1], "total": found.num_rows})
