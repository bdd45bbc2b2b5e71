"""Feed: answers as they are committed, for any number of subscribers.

The change log on disk is the buffer. One thread looks for new epochs and prepares their events
once for all; a subscriber keeps its place and nothing else, so one that reads slowly costs no
memory.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool as in_thread

from streamgauge.contracts.answer import Answer
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.log.commits import row_files
from streamgauge.log.home import Home
from streamgauge.results.change_log import as_answers, epoch_answers, epochs_after
from streamgauge.results.row_blocks import as_row_changes, epoch_rows, names_in
from streamgauge.server.problems import Refused
from streamgauge.server.shapes import plain

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.05
RETRY_MILLISECONDS = 1000
# Events that are sent at once, and bytes of events that are kept ready in all.
MOST_AT_ONCE = 1_000
MOST_BYTES = 64 * 1024 * 1024
# About what an answer takes before it is written out.
ANSWER_BYTES = 300
# Selections of queries whose events of an epoch are kept as they are sent.
MOST_SELECTIONS = 16
DIGITS = 16
Names = frozenset[str] | None


class Place(NamedTuple):
    """The last event that was seen: an epoch and a number in it; None: the epoch to its end.

    >>> Place.of("12.3"), Place.of("12"), str(Place(12, 3))
    (Place(epoch=12, number=3), Place(epoch=12, number=None), '12.3')
    """

    epoch: int
    number: int | None = None

    @classmethod
    def of(cls, text: str) -> Place:
        """Read what an event's id or a cursor says."""
        parts = text.strip().split(".")
        if len(parts) > 2 or not all(_is_count(part) for part in parts):
            raise Refused(
                "this is no place in the answers",
                f"got {text[:50]!r}",
                "send the id of the last event that was seen, such as 12.3, or an epoch",
                status=400,
            )
        return cls(*map(int, parts))

    @property
    def done(self) -> int:
        """The last epoch that was seen to its end."""
        return self.epoch if self.number is None else self.epoch - 1

    def skip(self, epoch: int) -> int:
        """Events of an epoch that were seen."""
        return self.number + 1 if self.number is not None and epoch == self.epoch else 0

    def __str__(self) -> str:
        return str(self.epoch) if self.number is None else f"{self.epoch}.{self.number}"


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS


class Batch:
    """What one epoch gave, by query."""

    def __init__(self, home: Home, epoch: int) -> None:
        self.epoch = epoch
        self.size = 0
        self._home = home
        self._lock = threading.Lock()
        self._numbers: dict[str, list[Answer]] = {}
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[Names, list[bytes]] = {}
        for answer in as_answers(epoch_answers(home, epoch)):
            self._numbers.setdefault(answer.query, []).append(answer)
            self.size += ANSWER_BYTES
        self._rows = names_of_rows(home, epoch)

    def names(self, wanted: Names) -> list[str]:
        """Queries of this epoch that are wanted, in their order."""
        there = self._numbers.keys() | self._rows
        return sorted(there if wanted is None else there & wanted)

    def items(self, name: str) -> list[dict[str, Any]]:
        """Answers of a query, or changes of its rows."""
        if name in self._numbers:
            return [answer.as_dict() for answer in self._numbers[name]]
        if name not in self._rows:
            return []
        changes = as_row_changes(epoch_rows(self._home, self.epoch, name))
        return [change.as_dict() for change in changes]

    def ready(self, wanted: Names) -> list[bytes] | None:
        """Events of the wanted queries, if they are worked out."""
        return self._parts.get(wanted)

    def parts(self, wanted: Names, skip: int) -> list[bytes]:
        """Events of the wanted queries from a number on, some at once; worked out once for all."""
        with self._lock:
            found = self._parts.get(wanted) if skip == 0 else None
            if found is None:
                said = [text for name in self.names(wanted) for text in self._said(name)]
                found = _numbered(self.epoch, said, skip)
                if skip == 0 and len(self._parts) < MOST_SELECTIONS:
                    self._parts[wanted] = found
                    self.size += sum(map(len, found))
            return found

    def _said(self, name: str) -> list[str]:
        if name not in self._texts:
            kind = "answer" if name in self._numbers else "row"
            self._texts[name] = [
                f"event: {kind}\ndata: {json.dumps(plain(item))}\n\n" for item in self.items(name)
            ]
            self.size += sum(map(len, self._texts[name]))
        return self._texts[name]


def names_of_rows(home: Home, epoch: int) -> set[str]:
    """Queries that rows of an epoch go to, read without the rows."""
    found: set[str] = set()
    for path in row_files(home, epoch):
        found |= names_in(path)
    return found


class Subscriber:
    """One who follows the feed: which queries, and how to wake it."""

    def __init__(self, wanted: Names) -> None:
        self.wanted = wanted
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Say, from any thread, that there is something new."""
        self._loop.call_soon_threadsafe(self._woken.set)

    async def wait(self, seconds: float) -> bool:
        """Wait to be woken; False when the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class Feed:
    """Looks for new epochs, for all subscribers.

    Parameters
    ----------
    home
        The home.
    behind
        Epochs with answers that a subscriber may be behind before it is dropped.
    """

    def __init__(self, home: Home, *, behind: int) -> None:
        self.home = home
        self.behind = behind
        self.reads = 0
        # Feeds that are open, by the name of the caller.
        self.open_by: Counter[str] = Counter()
        self._recent: OrderedDict[int, Batch] = OrderedDict()
        self._subscribers: set[Subscriber] = set()
        # Epochs with answers after `_base`; what is before it is looked up on disk.
        self._known: list[int] = []
        self._base: int | None = None
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def subscribers(self) -> int:
        """How many follow the feed."""
        return len(self._subscribers)

    def join(self, subscriber: Subscriber) -> None:
        """Wake a subscriber at each new epoch from now on."""
        with self._lock:
            self._subscribers.add(subscriber)
            if self._thread is None and not self.closed():
                self._thread = threading.Thread(
                    target=self._watch, name="streamgauge-feed", daemon=True
                )
                self._thread.start()

    def leave(self, subscriber: Subscriber) -> None:
        """Wake it no longer."""
        with self._lock:
            self._subscribers.discard(subscriber)

    def close(self) -> None:
        """End all subscriptions."""
        self._halt.set()
        self._wake()
        if self._thread is not None:
            self._thread.join()

    def closed(self) -> bool:
        """Whether subscriptions end."""
        return self._halt.is_set()

    def after(self, place: Place) -> list[int]:
        """Epochs with answers that a subscriber has not seen to their end."""
        with self._lock:
            if self._base is not None and place.done >= self._base:
                return [epoch for epoch in self._known if epoch > place.done]
        return epochs_after(self.home, place.done)

    def at_hand(self, place: Place, wanted: Names) -> dict[int, list[bytes]] | None:
        """What a subscriber has not seen, when all of it is prepared; looking takes no time."""
        with self._lock:
            if self._base is None or place.number is not None or place.done < self._base:
                return None
            fresh = [epoch for epoch in self._known if epoch > place.done]
        found = {}
        for epoch in fresh:
            batch = self._recent.get(epoch)
            ready = None if batch is None else batch.ready(wanted)
            if ready is None:
                return None
            found[epoch] = ready
        return found

    def parts(self, epoch: int, wanted: Names, skip: int = 0) -> list[bytes]:
        """Events of an epoch, which is read once while it is recent."""
        with self._reading:
            batch = self._recent.get(epoch)
            if batch is None:
                batch = Batch(self.home, epoch)
                self.reads += 1
                self._recent[epoch] = batch
        found = batch.parts(wanted, skip)
        with self._reading:
            kept = sum(batch.size for batch in self._recent.values())
            while len(self._recent) > 1 and (len(self._recent) > self.behind or kept > MOST_BYTES):
                kept -= self._recent.popitem(last=False)[1].size
        return found

    def _watch(self) -> None:
        seen = self.home.committed()
        with self._lock:
            self._base = seen
        while not self._halt.wait(POLL_SECONDS):
            if not self._subscribers:
                continue
            committed = self.home.committed()
            if committed == seen:
                continue
            try:
                self._take(seen, committed)
            except (OSError, StreamgaugeError) as error:
                # Whoever wants the epoch meets the same error and is told.
                LOG.warning("cannot prepare epoch %s: %s", committed, error)
            seen = committed
            self._wake()

    def _take(self, seen: int, committed: int) -> None:
        fresh = [epoch for epoch in epochs_after(self.home, seen) if epoch <= committed]
        with self._lock:
            selections = {subscriber.wanted for subscriber in self._subscribers}
        for epoch in fresh[-self.behind :]:
            for wanted in list(selections)[:MOST_SELECTIONS]:
                self.parts(epoch, wanted)
        most = 2 * self.behind
        # Told only now, so that whoever looks finds them prepared.
        with self._lock:
            known = self._known + fresh
            if len(known) > most:
                self._base = known[-most - 1]
            self._known = known[-most:]

    def _wake(self) -> None:
        with self._lock:
            for subscriber in self._subscribers:
                subscriber.wake()


async def subscription(
    feed: Feed, wanted: Names, since: Place | None, heartbeat: float
) -> AsyncIterator[bytes]:
    """The events of some queries from a place on, or from now; ends when it falls behind."""
    place = since if since is not None else Place(await in_thread(feed.home.committed))
    subscriber = Subscriber(wanted)
    feed.join(subscriber)
    try:
        yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
        caught_up = False
        while not feed.closed():
            ready = feed.at_hand(place, wanted)
            fresh = list(ready) if ready is not None else await in_thread(feed.after, place)
            if caught_up and len(fresh) > feed.behind:
                yield _dropped(place, len(fresh))
                return
            for epoch in fresh:
                skip = place.skip(epoch)
                parts = ready[epoch] if ready else await in_thread(feed.parts, epoch, wanted, skip)
                for part in parts:
                    yield part
                place = Place(epoch)
                if feed.closed():
                    break
            caught_up = caught_up or not fresh
            if not fresh and not await subscriber.wait(heartbeat):
                yield b": still here\n\n"
        yield _last("closing", "the server stops", f"after {place}", "come again with the last id")
    except (OSError, StreamgaugeError) as error:
        LOG.warning("a live feed ended at %s: %s", place, error)
        yield _last("failed", "answers cannot be read", f"after {place}", "look at the log")
    finally:
        feed.leave(subscriber)


def _numbered(epoch: int, said: list[str], skip: int) -> list[bytes]:
    """Events with their ids, some at once."""
    return [
        "".join(
            f"id: {epoch}.{number}\n{text}"
            for number, text in enumerate(said[start : start + MOST_AT_ONCE], start)
        ).encode()
        for start in range(skip, len(said), MOST_AT_ONCE)
    ]


def _dropped(place: Place, missed: int) -> bytes:
    return _last(
        "dropped",
        "this subscriber is too slow",
        f"it is {missed} epochs behind, at {place}",
        "read faster or follow fewer queries, then come again with the last id",
    )


def _last(event: str, title: str, detail: str, hint: str) -> bytes:
    told = json.dumps({"title": title, "detail": detail, "hint": hint})
    return f"event: {event}\ndata: {told}\n\n".encode()
