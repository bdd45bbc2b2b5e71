"""Route of sinks: where answers are delivered, how far, and what hinders it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from streamgauge.server.access import Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.shapes import said
from streamgauge.sinks.report import Progress, read

router = APIRouter(tags=["sinks"])


class HindranceShape(BaseModel):
    """What went wrong at the last attempt."""

    message: str
    detail: str | None
    hint: str | None


class SinkShape(BaseModel):
    """A sink: whose answers it delivers (null: all), where, how far it is.

    `state` is current, behind or failing. The target is told without what may be secret in it.
    """

    name: str
    queries: list[str] | None
    target: str
    history: bool
    version: int
    state: str
    epoch: int
    waiting: int
    delivered: int
    tries: int
    failure: HindranceShape | None


class SinkPage(BaseModel):
    """All sinks by name; `epoch` is the newest that is committed."""

    epoch: int
    sinks: list[SinkShape]


@router.get("/sinks", response_model=SinkPage)
def listing(desk: AtDesk, _caller: Reader) -> Response:
    """Sinks in force by name, with how far each is."""
    home = desk.gauge.home
    known = read(home, desk.catalog.committed().sinks)
    return said({"epoch": home.committed(), "sinks": [_as_dict(desk, p) for p in known]})


def _as_dict(desk: Desk, progress: Progress) -> dict[str, Any]:
    told = progress.failure
    if told is None:
        return progress.as_dict()
    parts = {part: told.get(part) for part in ("message", "detail", "hint")}
    hidden = {part: text and desk.problems.hidden(text) for part, text in parts.items()}
    return {**progress.as_dict(), "failure": hidden}
