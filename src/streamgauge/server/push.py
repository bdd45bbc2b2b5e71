"""Push: rows into a stream over HTTP, acknowledged when they are on disk."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from streamgauge.coordinator.agents import Refusal
from streamgauge.execute.catalog import Catalog
from streamgauge.kernel.errors import QueryNotFound, StreamgaugeError
from streamgauge.log.home import Home, check_directory_name
from streamgauge.server.access import Author, Name
from streamgauge.server.bodies import ARROW, JSON_LINES, KINDS, Body
from streamgauge.server.logs import note
from streamgauge.server.problems import Refused
from streamgauge.server.receipts import Receipt
from streamgauge.server.spool import Limits, PushSpool, spool_directory
from streamgauge.streams.stream import Stream

LONGEST_KEY = 255
# A declaration that was looked at is taken to stand for so long.
TRUSTED_SECONDS = 1.0

router = APIRouter(tags=["streams"])


class Acknowledged(BaseModel):
    """Rows taken, rows that became dead letters, and the number of the request."""

    rows: int
    rejected: int
    serial: int


class Wakeups:
    """Wakes requests whose rows are on disk, many at once.

    A flush ends the wait of many requests; waking the loop for each would cost more than the flush.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    async def wait(self, pushed: Future[Receipt]) -> Receipt:
        """Wait for a receipt."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def done(_pushed: Future[Receipt]) -> None:
            with self._lock:
                ready = self._ready.setdefault(loop, [])
                ready.append(waiter)
            if len(ready) == 1:
                try:
                    loop.call_soon_threadsafe(self._wake, loop)
                except RuntimeError:
                    # The loop is closed: nobody waits.
                    self._ready.pop(loop, None)

        pushed.add_done_callback(done)
        await waiter
        return pushed.result()

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            ready = self._ready.pop(loop, [])
        for waiter in ready:
            if not waiter.done():
                waiter.set_result(None)


class Spools:
    """The spools of a home, one for each stream that is pushed to.

    Parameters
    ----------
    home
        Where they are.
    catalog
        What is declared.
    limits
        How much each holds.
    """

    def __init__(self, home: Home, catalog: Catalog, limits: Limits | None = None) -> None:
        self.home = home
        self.catalog = catalog
        self.limits = limits or Limits()
        self.wakeups = Wakeups()
        self._lock = threading.Lock()
        # Held while files are read, which may take a while; the other never is.
        self._opening = threading.Lock()
        self._open: dict[str, tuple[PushSpool, float]] = {}

    def at_hand(self, name: str) -> PushSpool | None:
        """The spool of a stream, unless it is this caller's turn to look how it is declared."""
        with self._lock:
            spool, until = self._open.get(name, (None, 0.0))
            now = time.monotonic()
            if spool is None or now < until:
                return spool
            # One looks, the others go on meanwhile.
            self._open[name] = (spool, now + TRUSTED_SECONDS)
            return None

    def find(self, name: str) -> PushSpool:
        """The spool of a stream as it is declared now; that of an earlier declaration is closed."""
        stream = self.catalog.expected().streams.get(name)
        with self._opening:
            spool, _ = self._open.get(name, (None, 0.0))
            if spool is not None and spool.stream == stream and not spool.closed:
                return spool
            if spool is not None:
                with self._lock:
                    del self._open[name]
                spool.close()
            pushed = _pushed(name, stream)
            check_directory_name("stream", name)
            spool = PushSpool(self.home, pushed, self.limits)
            spool.open()
            with self._lock:
                self._open[name] = (spool, time.monotonic() + TRUSTED_SECONDS)
            return spool

    def resume(self) -> None:
        """Let what an earlier server acknowledged become files, without waiting for a push."""
        for name, stream in self.catalog.expected().streams.items():
            pushed = stream.source_dict().get("kind") == "push"
            if not pushed or not spool_directory(self.home, name).is_dir():
                continue
            try:
                self.find(name)
            except StreamgaugeError as error:
                # Everything else can be served; who pushes is told.
                note("push refused", level="warning", stream=name, why=error.what)

    def close(self) -> None:
        """Take no more; what was acknowledged becomes files."""
        with self._opening:
            with self._lock:
                spools = [spool for spool, _ in self._open.values()]
                self._open.clear()
            for spool in spools:
                spool.close()


def _pushed(name: str, stream: Stream | None) -> Stream:
    """A stream that may be pushed to."""
    if stream is None:
        raise QueryNotFound(
            f"no stream named {name!r}", "nothing of that name is declared", "check the spelling"
        )
    kind = stream.source_dict().get("kind")
    if kind != "push":
        raise Refused(
            f"stream {stream.name!r} takes no rows from outside",
            f"its rows come from {kind}",
            "declare a stream FROM PUSH, and push to that one",
            status=409,
        )
    return stream


_making = threading.Lock()


def spools_of(app: Any) -> Spools:
    """The spools of an application, made when they are first asked for."""
    with _making:
        found: Spools | None = getattr(app.state, "spools", None)
        if found is None:
            found = Spools(app.state.gauge.home, app.state.desk.catalog)
            app.state.spools = found
        return found


async def _body(request: Request) -> Body:
    """The body with what its headers say of it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if kind not in KINDS or packed not in ("", "identity"):
        raise Refused(
            "rows of a kind that is not taken",
            f"Content-Type is {kind[:100]!r}, Content-Encoding is {packed[:100]!r}",
            f"send {' or '.join(KINDS)}, not compressed",
            status=415,
        )
    key = request.headers.get("idempotency-key")
    if key is not None and not (
        0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()
    ):
        raise Refused(
            "an idempotency key that cannot be used",
            f"it has {len(key)} characters, 1 to {LONGEST_KEY} plain ones may be",
            "send a random number or a UUID, the same when the request is repeated",
            status=400,
        )
    return Body(await request.body(), kind, key)


_DESCRIBED = {
    "requestBody": {
        "required": True,
        "content": {
            JSON_LINES: {"schema": {"type": "string", "description": "One JSON object a line."}},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    },
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "Makes the request repeatable: a repeated key gives the same answer "
            "and lands nothing twice.",
            "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
        }
    ],
}


@router.post(
    "/streams/{name}/rows",
    response_model=Acknowledged,
    openapi_extra=_DESCRIBED,
    summary="Push rows",
)
async def push(request: Request, name: Name, _caller: Author) -> Response:
    """Take rows; they are on disk when this answers. Malformed ones become dead letters."""
    body, spools = await _body(request), spools_of(request.app)
    spool = spools.at_hand(name)
    if spool is None:
        spool = await run_in_threadpool(spools.find, name)
    try:
        receipt = await spools.wakeups.wait(spool.push(body))
    except Refusal as refusal:
        note("push refused", level="warning", stream=name, why=refusal.what)
        raise Refused(
            refusal.what,
            refusal.detail,
            refusal.hint,
            status=refusal.status,
            retry=refusal.retry,
        ) from None
    return JSONResponse(receipt.as_dict())
