"""Routes of standing queries: list, show, register, alter, pause, resume, drop, explain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response

from streamgauge.contracts.answer import Answer
from streamgauge.engine.waiting import Reasons, incomplete
from streamgauge.execute.ask import check_parameters
from streamgauge.execute.outcome import Outcome
from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.language.parse import parse
from streamgauge.language.statements import Ask, Change, CreateQuery, Explain
from streamgauge.plan.registry import Listed, Registry, Standing, streams_of
from streamgauge.plan.shadows import is_shadow
from streamgauge.plan.view import View
from streamgauge.server.access import Author, Name, Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.logs import note
from streamgauge.server.problems import Refused
from streamgauge.server.shapes import NewQuery, Plan, QueryPage, QueryShape, QueryText, said

router = APIRouter(tags=["queries"])

# Newest answers that a query is listed with; all are at answers/latest.
GROUPS = 10
IfMatch = Annotated[str | None, Header(description='The version, quoted: "3".')]
Status = Literal["running", "paused", "suspended", "waiting"]


def as_dict(item: Listed, answers: list[Answer], reasons: Reasons) -> dict[str, Any]:
    """A query as it is shown; `waiting` says why it has no answer yet."""
    standing = item.standing
    asked = standing.asked
    of_rows = isinstance(asked, View)
    waiting = None
    if not answers:
        waiting = reasons.hindrance(standing) if of_rows else reasons.of(standing)
    return {
        "name": standing.name,
        "answers": "rows" if of_rows else "numbers",
        "streams": list(streams_of(asked)),
        "question": str(asked),
        "text": asked.text if isinstance(asked, View) else None,
        "cadence": str(asked.answer),
        "contract": {**asked.contract.as_dict(), "words": asked.owed},
        "status": item.status,
        "version": standing.version,
        "epoch": standing.epoch,
        "groups": len(answers),
        "latest": [answer.as_dict() for answer in answers[:GROUPS]],
        "waiting": None if waiting is None else waiting.as_dict(),
        "note": incomplete(reasons.registry, standing, answers),
    }


@router.get("/queries", response_model=QueryPage)
def listing(
    desk: AtDesk,
    _caller: Reader,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    status: Status | None = None,
    search: Annotated[str | None, Query(description="A part of the name.")] = None,
) -> Response:
    """Queries by name, with their newest answers."""
    listed = desk.listed()
    names = sorted(
        name
        for name, item in listed.items()
        if status in (None, item.status) and (search or "") in name and not is_shadow(name)
    )
    following = [name for name in names if cursor is None or name > cursor]
    epoch, newest = desk.newest.read()
    reasons = Reasons(desk.gauge.home, desk.catalog.committed())
    page = [
        as_dict(listed[name], _current(listed[name], newest), reasons) for name in following[:limit]
    ]
    more = following[limit - 1] if len(following) > limit else None
    return said({"epoch": epoch, "total": len(names), "queries": page, "next": more})


def _current(item: Listed, newest: dict[str, list[Answer]]) -> list[Answer]:
    """Newest answers of this version; those of an older one answer another question."""
    found = newest.get(item.standing.name, [])
    return [answer for answer in found if answer.version == item.standing.version]


@router.get("/queries/{name}", response_model=QueryShape)
def show(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """One query; its ETag is its version."""
    return _one(desk, name)


def _one(desk: Desk, name: str, status: int = 200) -> Response:
    item = desk.one(name)
    _, newest = desk.newest.read()
    headers = {"ETag": f'"{item.standing.version}"'}
    reasons = Reasons(desk.gauge.home, desk.catalog.committed())
    return said(as_dict(item, _current(item, newest), reasons), status, headers)


@router.post("/queries", status_code=201, response_model=QueryPage)
def register(sent: NewQuery, desk: AtDesk, _caller: Author) -> Response:
    """Register a question; one with several aggregates becomes several queries."""
    with _noted(sent.name), desk.changing() as trial:
        ask = _question(sent.text)
        taken = trial.standing(sent.name)
        if taken is not None:
            raise Refused(
                f"query {sent.name!r} exists already",
                f"it asks {taken.asked}",
                "choose another name, or change it with PUT",
                status=409,
            )
        outcome = desk.script(trial).execute(ask, sent.name)
    return _told(desk, outcome, 201)


@contextmanager
def _noted(name: str) -> Iterator[None]:
    """Write down that a question was refused."""
    try:
        yield
    except (StreamgaugeError, Refused) as error:
        note("query refused", level="warning", query=name, why=error.what)
        raise


def _question(text: str) -> Ask:
    asked = parse(text)
    if not isinstance(asked, Ask):
        raise BindError(
            "this is no question",
            f"it is {type(asked).__name__}",
            "send SELECT ... FROM ...; other statements go to /v1/statements",
        )
    check_parameters(asked, text)
    return asked


def _told(desk: Desk, outcome: Outcome, status: int = 200) -> Response:
    listed = desk.listed()
    epoch, newest = desk.newest.read()
    there = [listed[name] for name in outcome.names if name in listed]
    reasons = Reasons(desk.gauge.home, desk.catalog.committed())
    shown = [as_dict(item, _current(item, newest), reasons) for item in there]
    return said({"epoch": epoch, "total": len(shown), "queries": shown, "next": None}, status)


@router.put("/queries/{name}", response_model=QueryShape)
def alter(
    name: Name, sent: QueryText, desk: AtDesk, _caller: Author, if_match: IfMatch = None
) -> Response:
    """Ask another question under the same name; If-Match says which version is meant."""
    with _noted(name), desk.changing() as trial:
        ask = _question(sent.text)
        check_version(trial.registry, name, if_match, required=True)
        outcome = desk.script(trial).execute(CreateQuery(name, ask, replace=True))
        if outcome.names != (name,):
            raise BindError(
                f"this question would become {len(outcome.names)} queries",
                f"they are {', '.join(outcome.names[:5])}",
                "ask for one aggregate, or register it under a new name",
            )
    return _one(desk, name)


@router.delete("/queries/{name}", status_code=204, response_model=None)
def drop(name: Name, desk: AtDesk, _caller: Author, if_match: IfMatch = None) -> Response:
    """Forget a query; If-Match says which version is meant."""
    _change(desk, "drop", name, if_match, required=True)
    return Response(status_code=204)


@router.post("/queries/{name}/pause", response_model=QueryShape)
def pause(name: Name, desk: AtDesk, _caller: Author, if_match: IfMatch = None) -> Response:
    """Stop checking a query; it keeps what it remembers."""
    _change(desk, "pause", name, if_match)
    return _one(desk, name)


@router.post("/queries/{name}/resume", response_model=QueryShape)
def resume(name: Name, desk: AtDesk, _caller: Author, if_match: IfMatch = None) -> Response:
    """Run a paused or suspended query again."""
    _change(desk, "resume", name, if_match)
    return _one(desk, name)


def _change(
    desk: Desk, verb: str, name: str, if_match: str | None, *, required: bool = False
) -> None:
    with desk.changing() as trial:
        check_version(trial.registry, name, if_match, required=required)
        desk.script(trial).execute(Change(verb, "query", (name,)))


def check_version(
    registry: Registry, name: str, if_match: str | None, *, required: bool
) -> Standing:
    """The query a request means; raise unless it is of the version that the request names."""
    standing = registry.query(name)
    if if_match is None:
        if not required:
            return standing
        raise Refused(
            "which version is meant?",
            f"query {name!r} is at version {standing.version}, and there is no If-Match",
            f'look at it, then send If-Match: "{standing.version}"',
            status=428,
        )
    wanted = [tag.strip() for tag in if_match.split(",")]
    if "*" not in wanted and f'"{standing.version}"' not in wanted:
        raise Refused(
            f"query {name!r} has changed",
            f"it is at version {standing.version}, the request means {if_match[:50]}",
            "look at it again, then decide",
            status=412,
        )
    return standing


@router.get("/queries/{name}/plan", response_model=Plan)
def plan(name: Name, desk: AtDesk, _caller: Reader, analyze: bool = False) -> Response:
    """EXPLAIN, or EXPLAIN ANALYZE: what it reads, what it shares, who spends the error."""
    desk.catalog.expected().query(name)
    text = desk.shown(Explain(name, analyze))
    return said({"name": name, "plan": desk.problems.hidden(str(text))})
