"""Routes of the live feed: server-sent events, resumed by Last-Event-ID."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Send

from streamgauge.plan.shadows import is_shadow
from streamgauge.server.access import Caller, Name, Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.feed import Feed, Names, Place, subscription
from streamgauge.server.problems import Refused
from streamgauge.server.shapes import NAME_LENGTH

router = APIRouter(tags=["answers"])

MOST_QUERIES = 1000
LastId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=64)]
AfterEpoch = Annotated[int | None, Query(ge=0, le=2**53)]
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events answer and row; dropped or closing is the last one.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class EventStream(StreamingResponse):
    """Events for one subscriber; one that does not take an event in time is cut off."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: Feed,
        desk: Desk,
        wanted: Names,
        since: Place | None,
        status_code: int = 200,
        caller: str = "",
    ) -> None:
        self.feed, self.caller = feed, caller
        self.patience = desk.settings.patience
        self.events = subscription(feed, wanted, since, desk.settings.heartbeat)
        super().__init__(self.events, status_code, headers={"X-Accel-Buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        """Send events while they are taken."""
        self.feed.open_by[self.caller] += 1
        try:
            await self._send_events(send)
        finally:
            self.feed.open_by[self.caller] -= 1

    async def _send_events(self, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        async with aclosing(self.events) as events:  # type: ignore[type-var]
            async for part in events:
                try:
                    async with asyncio.timeout(self.patience):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                except TimeoutError:
                    # Without an end to the response the server closes the connection.
                    return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@router.get("/queries/{name}/live", response_class=EventStream, responses=EVENTS)
async def live_one(
    name: Name,
    request: Request,
    desk: AtDesk,
    caller: Reader,
    last_event_id: LastId = None,
    after_epoch: AfterEpoch = None,
) -> EventStream:
    """Answers of one query as they are given."""
    await run_in_threadpool(_check, desk, [name])
    return _opened(request, desk, caller, frozenset((name,)), last_event_id, after_epoch)


@router.get("/live", response_class=EventStream, responses=EVENTS)
async def live(
    request: Request,
    desk: AtDesk,
    caller: Reader,
    queries: Annotated[
        str | None, Query(description="Names with commas between; all when left out.")
    ] = None,
    last_event_id: LastId = None,
    after_epoch: AfterEpoch = None,
) -> EventStream:
    """Answers of some queries, or of all, as they are given.

    A name with a comma is followed by itself at /queries/{name}/live. Ids count the events of the
    queries that were asked for: come again with the same ones.
    """
    if queries is None:
        return _opened(request, desk, caller, None, last_event_id, after_epoch)
    names = [name for name in queries.split(",") if name]
    if not names or len(names) > MOST_QUERIES:
        raise Refused(
            "name the queries to follow",
            f"{len(names)} names, 1 to {MOST_QUERIES} are possible",
            "write ?queries=a,b; without it all are followed",
            status=422,
        )
    await run_in_threadpool(_check, desk, names)
    return _opened(request, desk, caller, frozenset(names), last_event_id, after_epoch)


def _check(desk: Desk, names: list[str]) -> None:
    registry = desk.catalog.expected()
    for name in names:
        # Shadows come and go by themselves; one that is away has no events.
        if not is_shadow(name):
            registry.query(name[: 2 * NAME_LENGTH])


def _opened(
    request: Request,
    desk: Desk,
    caller: Caller,
    wanted: Names,
    last: str | None,
    after: int | None,
) -> EventStream:
    feed: Feed = request.app.state.feed
    most, own = desk.settings.max_feeds, feed.open_by[caller.name]
    if feed.open_by.total() >= most or own >= max(1, most // 2):
        raise Refused(
            "too many live feeds are open",
            f"{own} of {caller.name!r}, {feed.open_by.total()} in all, at most {most}",
            "close some, or follow several queries in one feed: /v1/live?queries=a,b",
            status=503,
            retry=5.0,
        )
    since = Place.of(last) if last else (None if after is None else Place(after))
    return EventStream(feed, desk, wanted, since, caller=caller.name)
