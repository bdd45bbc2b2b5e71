"""Routes that say how it goes: health for whoever watches the process, progress for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.time import SECOND
from streamgauge.log.journal import Journal
from streamgauge.server.access import Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.shapes import said

router = APIRouter(tags=["health"])


def vital_signs(desk: Desk) -> dict[str, Any]:
    """Whether the server and the job are well.

    A job is ready when it runs, here or elsewhere, and is not stuck: epochs are committed as long
    as pages wait.
    """
    home, clock = desk.gauge.home, desk.settings.clock
    journal = Journal(home)
    epoch, landed = home.committed(), journal.last()
    now = clock()
    age = (now - journal.page(epoch).landed_at) / SECOND if epoch else None
    # The oldest page that waits says for how long nothing was committed.
    lag = (now - journal.page(epoch + 1).landed_at) / SECOND if landed > epoch else 0.0
    job = desk.job()
    return {
        "live": True,
        "ready": job != "stopped" and lag <= desk.settings.stale,
        "job": job,
        "epoch": epoch,
        "epoch_age_seconds": age,
        "lag_seconds": max(lag, 0.0),
        "waiting": landed - epoch,
    }


class Health(BaseModel):
    """Whether the server and the job are well."""

    live: bool
    ready: bool
    job: str
    epoch: int
    epoch_age_seconds: float | None
    lag_seconds: float
    waiting: int


@router.get("/health", response_model=Health, responses={503: {"model": Health}})
def health(desk: AtDesk) -> Response:
    """Live when it answers at all; ready (200, else 503) when the job runs and comes along."""
    signs = vital_signs(desk)
    return said(signs, 200 if signs["ready"] else 503)


@router.get("/v1/progress")
def progress(request: Request, desk: AtDesk, _caller: Reader) -> Response:
    """How the job goes, from its newest commits."""
    signs = vital_signs(desk)
    figures = asdict(desk.gauge.progress())
    followers = request.app.state.feed.subscribers
    return said({**figures, **signs, "subscribers": followers, "failure": _failure(desk)})


def _failure(desk: Desk) -> str | None:
    """What ended the job of this process, if something did."""
    # An empty subscription raises what ended the job.
    waiting = desk.gauge.subscribe(since_epoch=desk.gauge.home.committed(), timeout=0.0)
    try:
        next(waiting, None)
    except StreamgaugeError as error:
        return desk.problems.hidden(error.detail.strip().splitlines()[-1])
    return None
