"""Routes of the auditor: what it has found of all queries, and of one."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel

from streamgauge.audit.report import read
from streamgauge.audit.shadow import Reason, shadow_of
from streamgauge.server.access import Name, Reader
from streamgauge.server.desk import AtDesk
from streamgauge.server.shapes import AnswerShape, said

router = APIRouter(tags=["audit"])


class AlarmShape(BaseModel):
    """That a promise is broken: of a query, or of all together when it is null."""

    id: str
    query: str | None
    epoch: int
    at: str
    text: str


class AuditedShape(BaseModel):
    """What is known of one query: the share of bars that held, with its own bar.

    `evidence` is a power of ten; from `limit` on it is an alarm. It is null when a bar that cannot
    fail missed, and before anything is known.
    """

    name: str
    version: int
    promised: float
    held: AnswerShape
    comparisons: int
    misses: int
    worst: float | None
    luck: str
    evidence: float | None
    limit: float
    alarm: AlarmShape | None
    last: str | None
    now: bool


class SkippedShape(BaseModel):
    """A query that is not audited, and why."""

    name: str
    reason: str


class ReportShape(BaseModel):
    """What the auditor has found; `begun` is false where none has run."""

    epoch: int
    false_alarm: float
    comparisons: int
    misses: int
    rounds: int
    waiting: int
    at_once: int
    allowed: int
    share: float
    slower: float | None
    begun: bool
    held: AnswerShape
    rounds_evidence: float | None
    rounds_limit: float
    families_evidence: float | None
    families_limit: float
    queries: list[AuditedShape]
    alarms: list[AlarmShape]
    skipped: list[SkippedShape]


class AuditShape(BaseModel):
    """The audit of one query; null before its turn, with a reason where there will be none."""

    name: str
    audited: AuditedShape | None
    reason: str | None


@router.get("/audit", response_model=ReportShape)
def report(desk: AtDesk, _caller: Reader) -> Response:
    """What the auditor has found of all queries."""
    return said(read(desk.gauge.home, desk.catalog.committed()).as_dict())


@router.get("/queries/{name}/audit", response_model=AuditShape)
def one(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """What it has found of one query."""
    standing = desk.one(name).standing
    registry = desk.catalog.expected()
    found = read(desk.gauge.home, registry).query(name)
    shadow = shadow_of(standing, registry)
    reason = shadow.text if isinstance(shadow, Reason) else None
    known = None if found is None else found.as_dict()
    return said({"name": name, "audited": known, "reason": reason})
