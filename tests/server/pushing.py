"""What tests of pushed rows share: a stream to push to, bodies, and what has landed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.engine.lander import Lander
from streamgauge.log.dead_letters import dead_letters
from streamgauge.log.home import Home
from streamgauge.log.inbox import submit
from streamgauge.log.journal import Journal
from streamgauge.server.bodies import ARROW, KEPT, Body
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from tests.owner import as_owner

T = TypeVar("T")

SCHEMA = Schema.of(id="int", ts="time", value="float")
STREAM = Stream("rows", SCHEMA, "ts", ("id",), (("kind", "push"),))


class Client:
    """Speaks to an application without a network, from any thread."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._web = httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=as_owner(app)
        )

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._wait(self._web.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def post(self, path: str, content: bytes, headers: dict[str, Any]) -> httpx.Response:
        return self._wait(self._web.post(path, content=content, headers=headers, timeout=60))

    def _wait(self, doing: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(60)


def home_at(path: Path) -> Home:
    """A home with the stream declared."""
    home = Home.open(path, shards=1)
    submit(home, {"do": "stream", "stream": STREAM.as_dict()})
    return home


def lines(ids: Iterable[int], *more: str) -> bytes:
    """Good rows by their ids, then other lines."""
    rows = [json.dumps({"id": n, "ts": 1_000_000 + n, "value": n / 2}) for n in ids]
    return "\n".join([*rows, *more]).encode()


def arrow(table: pa.Table, codec: str | None = None) -> Body:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return Body(bytes(sink.getvalue()), ARROW)


def table(ids: list[int]) -> pa.Table:
    return pa.table({"id": ids, "ts": [1_000_000 + n for n in ids], "value": [n / 2 for n in ids]})


def take_all(home: Home) -> None:
    """Let a job take what lies there."""
    lander = Lander(home, max_rows=1_000_000)
    before = -1
    while before != lander.number:
        before = lander.number
        lander.land()


def taken_ids(home: Home) -> list[int]:
    """Ids of all rows that the journal has, sorted."""
    journal = Journal(home)
    pages = [journal.page(number) for number in range(1, journal.last() + 1)]
    segments = [segment for page in pages for segment in page.segments]
    return sorted(n for s in segments for n in pq.read_table(s.path)["id"].to_pylist())


def left_out(home: Home) -> list[str]:
    """Texts of rows that became dead letters, sorted."""
    letters = dead_letters(home, STREAM.name).to_pylist()
    return sorted(one["row"] for one in letters if not one["reason"].endswith(KEPT))
