"""Routes of alerts: list, show, create, drop; what is raised and what waits to be delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from streamgauge.alerts.crossing import RAISED
from streamgauge.alerts.report import Report, read
from streamgauge.alerts.watcher import watched
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.errors import QueryNotFound
from streamgauge.language.statements import Change, CreateAlert
from streamgauge.plan.alert import LEVELS, Alert, StandingAlert
from streamgauge.server.access import Admin, Name, Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.problems import Refused
from streamgauge.server.shapes import NAME_LENGTH, AnswerShape, Sent, said
from streamgauge.targets.table import KINDS, OF_ALERTS
from streamgauge.targets.target_kind import TargetKind

router = APIRouter(tags=["alerts"])

# Groups of an alert that are told, the raised ones first; and newest answers beside them.
STATES = 100
NEAREST = 3
When = Literal[
    "certainly above",
    "possibly above",
    "certainly below",
    "possibly below",
    "contract broken",
    "interrupted",
    "alarm",
]
if TYPE_CHECKING:
    Kind: TypeAlias = str
else:
    Kind = Literal[OF_ALERTS]
Number = Annotated[float, Field(allow_inf_nan=False)]


class NewTarget(Sent):
    """Where an alert is delivered: an address, and for mail whom it is for, for Kafka the topic."""

    kind: Kind
    address: str = Field(min_length=1, max_length=2000)
    detail: str = Field("", max_length=500)


class NewAlert(Sent):
    """An alert; without a query it is on the auditor's alarms."""

    name: str = Field(min_length=1, max_length=NAME_LENGTH)
    query: str | None = Field(None, max_length=NAME_LENGTH)
    when: When
    level: Number | None = None
    clear: Number | None = None
    group: list[str | bool | int | float | None] = Field(default_factory=list, max_length=20)
    targets: list[NewTarget] = Field(min_length=1, max_length=10)
    replace: bool = False


class CrossingShape(BaseModel):
    """An alert raised or cleared for a group, by which answer; what is delivered."""

    id: str
    alert: str
    version: int
    query: str | None
    group: list[Any]
    condition: str
    state: str
    n: int
    at: str
    because: str | None
    answer: AnswerShape | None


class AlertShape(BaseModel):
    """An alert: its condition, where it goes, what is raised, and the newest answers nearest to it.

    Targets are told without what may be secret in their addresses.
    """

    name: str
    query: str | None
    group: list[Any]
    when: str
    level: float | None
    clear: float | None
    condition: str
    targets: list[str]
    status: str
    version: int
    raised: int
    crossed: int
    states: list[CrossingShape]
    latest: list[AnswerShape]


class TargetShape(BaseModel):
    """A target with what waits for it, and why the last attempt failed."""

    target: str
    waiting: int
    tries: int
    reason: str | None
    alerts: list[str]


class KindShape(BaseModel):
    """A kind of target: what it and its address are called, and what else is written of it."""

    word: str
    address: str
    example: str
    detail: str | None
    sample: str | None


class TargetKinds(BaseModel):
    """The kinds of targets by the names they are written with."""

    kinds: dict[str, KindShape]


class AlertPage(BaseModel):
    """All alerts, and how their deliveries go; `epoch` is the last one that was judged."""

    epoch: int | None
    watched: bool
    total: int
    raised: int
    waiting: int
    failing: int
    alerts: list[AlertShape]
    targets: list[TargetShape]


@router.get("/targets", response_model=TargetKinds)
def target_kinds(_caller: Reader) -> Response:
    """Kinds of targets that an alert can be delivered to, and how each is written."""
    return said({"kinds": {name: _asked(KINDS[name]) for name in OF_ALERTS}})


def _asked(kind: TargetKind) -> dict[str, str | None]:
    detail, sample = (kind.detail.label, kind.detail.sample) if kind.detail else (None, None)
    return {
        "word": kind.title,
        "address": kind.address,
        "example": kind.example,
        "detail": detail,
        "sample": sample,
    }


@router.get("/alerts", response_model=AlertPage)
def listing(
    desk: AtDesk, _caller: Reader, limit: Annotated[int, Query(ge=1, le=1000)] = 200
) -> Response:
    """Alerts by name, those that are raised first."""
    report = read(desk.gauge.home)
    known = desk.catalog.expected().alerts
    names = sorted(known, key=lambda name: (not _raised(report, name), name))
    held = desk.catalog.committed().alerts
    shown = [_as_dict(desk, known[name], held.get(name), report) for name in names[:limit]]
    hide = desk.problems.hidden
    targets = [{**t.as_dict(), "reason": hide(t.reason) or None} for t in report.targets]
    return said(
        {
            "epoch": report.epoch,
            "watched": watched(desk.gauge.home),
            "total": len(known),
            "raised": sum(_raised(report, name) for name in known),
            "waiting": report.waiting,
            "failing": report.failing,
            "alerts": shown,
            "targets": targets,
        }
    )


@router.get("/alerts/{name}", response_model=AlertShape)
def show(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """One alert; its ETag is its version."""
    return _one(desk, name)


@router.post("/alerts", status_code=201, response_model=AlertShape)
def create(sent: NewAlert, desk: AtDesk, caller: Admin) -> Response:
    """Create an alert, or a new version of one. Its targets are reached from here: admins only."""
    with desk.changing() as trial:
        if sent.name in trial.registry.alerts and not sent.replace:
            raise Refused(
                f"alert {sent.name!r} exists already",
                f"it is {trial.registry.alerts[sent.name].alert}",
                "choose another name, or send replace: true",
                status=409,
            )
        made = CreateAlert(
            sent.name,
            sent.query or "",
            sent.when,
            sent.level,
            sent.clear,
            tuple(sent.group),
            tuple((target.kind, target.address, target.detail, ()) for target in sent.targets),
            sent.replace,
        )
        desk.script(trial, caller).execute(made)
    return _one(desk, sent.name, 201)


@router.delete("/alerts/{name}", status_code=204, response_model=None)
def drop(name: Name, desk: AtDesk, _caller: Admin) -> Response:
    """Drop an alert; what waits of it is not delivered any more."""
    desk.execute(Change("drop", "alert", (name,)))
    return Response(status_code=204)


def _one(desk: Desk, name: str, status: int = 200) -> Response:
    known = desk.catalog.expected().alerts
    if name not in known:
        raise QueryNotFound(
            f"no alert named {name!r}",
            f"there are {', '.join(sorted(known)[:5]) or 'none'}",
            "check the spelling",
        )
    held = desk.catalog.committed().alerts.get(name)
    told = _as_dict(desk, known[name], held, read(desk.gauge.home))
    return said(told, status, {"ETag": f'"{known[name].version}"'})


def _raised(report: Report, name: str) -> int:
    return sum(crossing.state == RAISED for crossing in report.of(name))


def _as_dict(
    desk: Desk, standing: StandingAlert, held: StandingAlert | None, report: Report
) -> dict[str, Any]:
    alert, states = standing.alert, report.of(standing.alert.name)
    return {
        "name": alert.name,
        "query": alert.query or None,
        "group": list(alert.group),
        "when": alert.when,
        "level": alert.level,
        "clear": alert.clear,
        "condition": alert.words,
        "targets": [str(target) for target in alert.targets],
        "status": "in force" if held == standing else "waiting",
        "version": standing.version,
        "raised": sum(crossing.state == RAISED for crossing in states),
        "crossed": len(states),
        "states": [crossing.as_dict() for crossing in states[:STATES]],
        "latest": [answer.as_dict() for answer in _nearest(desk, alert)],
    }


def _nearest(desk: Desk, alert: Alert) -> list[Answer]:
    """The newest answers that are nearest to raising an alert, or farthest beyond."""
    _, newest = desk.newest.read()
    found = [a for a in newest.get(alert.query, []) if alert.group in ((), a.group)]
    known = [answer for answer in found if answer.value is not None]
    if alert.when not in LEVELS:
        known.sort(key=lambda answer: answer.contract_met)
    elif alert.above:
        known.sort(key=lambda answer: -(answer.low if alert.certain else answer.high))
    else:
        known.sort(key=lambda answer: answer.high if alert.certain else answer.low)
    return known[:NEAREST]
