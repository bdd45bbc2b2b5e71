"""Load for a server: clients that push at a steady rate, and subscribers that follow answers.

Plain sockets, since what measures has to take less of the machine than what is measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np

from streamgauge.kernel.time import instant

_ID = re.compile(rb"id: (\d+\.\d+)\n")
_DATA = re.compile(rb"data: (\{.*\})\n")
STREAM, QUERY = "pushed", "heat"
TICK_SECONDS = 0.25
SERIES = 1000
GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent: rows a second in requests of 1 to `largest` rows, in lots of one tick.

    All rows of a lot have the lot's instant, and a lot begins when the one before is
    acknowledged, so that no row is late by the order in which connections are served.
    """

    address: str
    token: str
    rows_per_second: int
    seconds: float
    subscribers: int
    warm_up: float = 2.0
    connections: int = 128
    largest: int = 100


@dataclass(slots=True)
class Seen:
    """What the clients saw.

    Parameters
    ----------
    sent
        When each request was sent, and the instant of its lot.
    acknowledged
        Seconds that each request took.
    rows
        Rows that were acknowledged, warm-up and all.
    measured
        Rows of them after the warm-up.
    refused
        Requests that were not.
    begun, seconds
        When the warm-up was over, and how long it went on.
    opened
        When the first request of each lot was sent, by the lot's instant.
    received
        When each subscriber got each answer, by id.
    instants
        Instants that answers are for, by id.
    """

    sent: list[tuple[float, int]] = field(default_factory=list)
    acknowledged: list[float] = field(default_factory=list)
    rows: int = 0
    measured: int = 0
    refused: int = 0
    begun: float = 0.0
    seconds: float = 0.0
    opened: dict[int, float] = field(default_factory=dict)
    received: list[dict[bytes, float]] = field(default_factory=list)
    instants: dict[bytes, int] = field(default_factory=dict)

    def delays(self) -> tuple[list[float], list[float]]:
        """Seconds from sending a request, and from closing its tick, to its answer.

        An answer counts when the median subscriber has it.
        """
        published = self._published()
        answers = np.array(sorted(published), dtype=np.int64)
        lots = np.array(sorted(self.opened), dtype=np.int64)
        from_push, from_close = [], []
        for sent, lot in self.sent:
            if sent < self.begun:
                continue
            at = int(np.searchsorted(answers, lot))
            if at < len(answers):
                from_push.append(published[int(answers[at])] - sent)
        for answer in answers.tolist():
            at = int(np.searchsorted(lots, answer, side="right"))
            closed = self.opened[int(lots[at])] if at < len(lots) else 0.0
            if closed >= self.begun:
                from_close.append(published[answer] - closed)
        return from_push, from_close

    def _published(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for name, at in self.instants.items():
            times = sorted(one[name] for one in self.received if name in one)
            if times:
                middle = times[len(times) // 2]
                found[at] = min(middle, found.get(at, middle))
        return found

    def missed(self) -> int:
        """Answers that some subscriber did not get."""
        return sum(len(self.instants) - len(one) for one in self.received)


async def run_load(load: Load) -> Seen:
    """Follow and push; return when all that was pushed is answered, or nothing more comes."""
    seen = Seen(received=[{} for _ in range(load.subscribers)])
    host, port = urlsplit(load.address).hostname, urlsplit(load.address).port
    followers = [
        asyncio.create_task(_follow(load, host, port, seen, number))
        for number in range(load.subscribers)
    ]
    await asyncio.sleep(1.0)
    links = [await asyncio.open_connection(host, port) for _ in range(load.connections)]
    last = await _push(load, links, seen)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and not _complete(seen, last):
        await asyncio.sleep(0.1)
    for task in followers:
        task.cancel()
    await asyncio.gather(*followers, return_exceptions=True)
    for _, writer in links:
        writer.close()
    return seen


def _complete(seen: Seen, last: int) -> bool:
    """Whether every subscriber has the answer for the last lot but one."""
    final = [name for name, at in seen.instants.items() if at >= last]
    return bool(final) and all(final[0] in one for one in seen.received) and seen.missed() == 0


Link = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _push(load: Load, links: Sequence[Link], seen: Seen) -> int:
    """Push lot by lot; return the instant of the last lot that a later one closes."""
    dice = np.random.default_rng(8)
    step = round(TICK_SECONDS * 1_000_000)
    lots = round(load.seconds / TICK_SECONDS)
    free: asyncio.Queue[Link] = asyncio.Queue()
    for link in links:
        free.put_nowait(link)
    started = time.perf_counter()
    warm = round(load.warm_up / TICK_SECONDS)
    instant_now = (time.time_ns() // 1000 // step + 1) * step
    owed = 0.0
    for lot in range(warm + lots):
        if lot == warm:
            # The pace is kept from here on, whatever the warm-up took.
            seen.begun = started = time.perf_counter()
            seen.measured = -seen.rows
        due = started + (lot - warm if lot >= warm else lot) * TICK_SECONDS
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        # Lots keep the pace of event time, so that no row is ahead of its arrival.
        instant_now += step
        owed += load.rows_per_second * TICK_SECONDS
        sizes = []
        while owed >= 1:
            sizes.append(min(int(dice.integers(1, load.largest + 1)), int(owed)))
            owed -= sizes[-1]
        seen.opened[instant_now] = time.perf_counter()
        bodies = [_body(instant_now, dice.integers(0, SERIES, size).tolist()) for size in sizes]
        await asyncio.gather(
            *(
                _send(load, free, seen, instant_now, body, n)
                for body, n in zip(bodies, sizes, strict=True)
            )
        )
    seen.seconds = time.perf_counter() - seen.begun
    seen.measured += seen.rows
    # One row more closes the last second that is counted.
    await _send(load, free, seen, instant_now + 2_000_000, _body(instant_now + 2_000_000, [0]), 1)
    return instant_now


def _body(at: int, ids: Sequence[int]) -> bytes:
    rows = [f'{{"id":{n},"ts":{at},"value":{n}.5}}' for n in ids]
    return "\n".join(rows).encode()


async def _send(
    load: Load, free: asyncio.Queue[Link], seen: Seen, lot: int, body: bytes, rows: int
) -> None:
    link = await free.get()
    reader, writer = link
    sent = time.perf_counter()
    head = (
        f"POST /v1/streams/{STREAM}/rows HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {load.token}\r\n"
        f"Content-Type: application/x-ndjson\r\nIdempotency-Key: {lot}-{len(seen.sent)}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    seen.sent.append((sent, lot))
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
    told = await reader.readexactly(int(length.group(1)) if length else 0)
    if seen.begun:
        seen.acknowledged.append(time.perf_counter() - sent)
    if answer.startswith(b"HTTP/1.1 200") and json.loads(told)["rows"] == rows:
        seen.rows += rows
    else:
        seen.refused += 1
    free.put_nowait(link)


async def _follow(load: Load, host: str | None, port: int | None, seen: Seen, number: int) -> None:
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 24)
    try:
        writer.write(f"GET /v1/queries/{QUERY}/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        mine = seen.received[number]
        while True:
            event = await reader.readuntil(b"\n\n")
            name = _ID.search(event)
            if name is None:
                continue
            mine[name.group(1)] = time.perf_counter()
            if name.group(1) not in seen.instants:
                data = _DATA.search(event)
                if data is not None:
                    seen.instants[name.group(1)] = instant(json.loads(data.group(1))["as_of"])
    except asyncio.IncompleteReadError:
        return
    finally:
        writer.close()
