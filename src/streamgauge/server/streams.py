"""Routes of streams: declare, show, drop, and the rows that could not be used."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from streamgauge.execute.script import Script
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import duration, duration_text, instant_text
from streamgauge.language.parse import parse
from streamgauge.language.statements import Change, CreateStream
from streamgauge.plan.registry import streams_of
from streamgauge.server.access import Admin, Name, Reader
from streamgauge.server.desk import AtDesk, Desk, fitting
from streamgauge.server.shapes import NewStream, Rows, StreamShape, said
from streamgauge.server.statements import rows_of
from streamgauge.streams.stream import Stream

router = APIRouter(tags=["streams"])

MOST_AGENTS = 20
LATE = ("drop", "allow", "revise")
SOURCES = {
    "files": ("path", "format", "time_unit", "header", "delimiter"),
    "plant": ("n_sensors", "seed", "speed"),
    "rate": ("rows_per_second",),
    "push": (),
    "edge": ("path", "latency", "beat", "broker", "tokens"),
}
SPANS = ("latency", "beat")


class Streams(BaseModel):
    """All streams."""

    streams: list[StreamShape]


def _as_dict(desk: Desk, stream: Stream, *, in_force: bool, alone: bool) -> dict[str, Any]:
    tally = desk.tally
    tally.read()
    reached = tally.reached.get(stream.name)
    late = tally.late_in_all if alone else tally.late.get(stream.name, 0)
    declaration = stream.as_dict()
    hide = desk.problems.hidden
    source = declaration["source"].items()
    shown = {name: hide(value) if isinstance(value, str) else value for name, value in source}
    return {
        "name": stream.name,
        "declaration": {**declaration, "source": shown},
        "in_force": in_force,
        "rows": tally.rows[stream.name],
        "late": late,
        "dead_letters": tally.dead(stream.name),
        "reached": None if reached is None else instant_text(reached),
        "interruption": _interruption(desk, stream),
    }


def _interruption(desk: Desk, stream: Stream) -> dict[str, Any]:
    """What is silent: agents of the stream, and answers that rest on series that are."""
    _, newest = desk.newest.read()
    readers = [
        standing.name
        for standing in desk.catalog.committed().queries.values()
        if stream.name in streams_of(standing.asked)
    ]
    silent = sum(
        answer.basis == "interrupted" for name in readers for answer in newest.get(name, ())
    )
    agents = desk.gauge.agents(stream.name).to_pylist()
    gone = [row["agent"] for row in agents if row["state"] == "interrupted"]
    gap = stream.expected_gap
    return {
        "expected_gap": None if gap is None else duration_text(gap),
        "answers": silent,
        "agents": gone[:MOST_AGENTS],
        "interrupted": bool(silent or gone),
    }


@router.get("/streams", response_model=Streams)
def listing(desk: AtDesk, _caller: Reader) -> Response:
    """All streams with their figures."""
    held, expected = desk.catalog.committed().streams, desk.catalog.expected().streams
    shown = [
        _as_dict(desk, stream, in_force=name in held, alone=len(held) == 1)
        for name, stream in sorted(expected.items())
    ]
    return said({"streams": shown})


@router.get("/streams/{name}", response_model=StreamShape)
def show(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """One stream: declaration, rows, late rows, dead letters, how far it has come."""
    return _one(desk, name)


def _one(desk: Desk, name: str, status: int = 200) -> Response:
    stream = desk.catalog.expected().stream(name)
    held = desk.catalog.committed().streams
    shown = _as_dict(desk, stream, in_force=name in held, alone=len(held) == 1)
    return said(shown, status)


@router.post("/streams", status_code=201, response_model=StreamShape)
def create(sent: NewStream, desk: AtDesk, _caller: Admin) -> Response:
    """Declare a stream; declaring the same again changes nothing."""
    statement = _statement(sent)
    with desk.changing() as trial:
        script: Script = desk.script(trial)
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
    for name in ("tick", "gap", "keep", "future"):
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
