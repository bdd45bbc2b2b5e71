"""Route that says what this server is and what the caller may do."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from streamgauge.server.access import Reader
from streamgauge.server.desk import AtDesk
from streamgauge.server.shapes import said

router = APIRouter(tags=["health"])


class About(BaseModel):
    """Who asks, in which role, of a job where; whether a guided story is told."""

    name: str
    role: str
    job: str
    story: bool


@router.get("/about", response_model=About)
def about(request: Request, desk: AtDesk, caller: Reader) -> Response:
    """Who the caller is to this server."""
    story = getattr(request.app.state, "story", None) is not None
    return said({"name": caller.name, "role": caller.role, "job": desk.job(), "story": story})
