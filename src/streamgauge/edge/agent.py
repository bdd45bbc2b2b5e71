"""The agent: readings in one thread, talk with the coordinator in another.

The thread that reads never waits for the network. What it hands over is filtered at once; what
passes is put into reports on the disk, and the other thread brings them over, oldest first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from streamgauge.edge.backoff import Backoff
from streamgauge.edge.clock import Clock
from streamgauge.edge.link import Credentials, Link, LinkRefused, open_link
from streamgauge.edge.protocol import VERSION
from streamgauge.edge.readings import Key, Reading, Readings
from streamgauge.edge.reporter import Reporter
from streamgauge.edge.spool import LIMIT, Spool, SpoolFailure
from streamgauge.kernel.errors import BindError, SourceFailure, StreamgaugeError
from streamgauge.kernel.time import SECOND, DurationLike, InstantLike, duration, instant

# Longest time that reading waits without looking whether it is to stop.
LOOK = 0.2
# Memory for reports when there is no directory for them.
IN_MEMORY = 8 << 20

Log = Callable[[str, dict[str, Any]], None]


def no_log(event: str, facts: dict[str, Any]) -> None:
    """Say nothing."""


class Agent:
    """An agent beside a source.

    Parameters
    ----------
    to
        The coordinator's address (`http://host:port`, `mqtt://broker`), or a link.
    stream
        The stream that the readings belong to.
    name
        The agent's name, one of a kind within the stream.
    state
        Directory for what must survive a restart; None: memory only.
    credentials
        Token, user and certificates.
    beat
        Longest silence between two messages.
    linger
        How long to gather updates of one moment before they are sent.
    timeout
        Seconds to wait for a reply; three beats, at least 3 s, when not given.
    separator
        Cuts keys that come as one text into parts.
    settle
        An object that is not read for so long after a start is taken to be gone.
    limit
        Bytes of reports that may wait; beyond that only the newest value of each object is kept.
    clock
        Local time and labels.
    log
        Called with an event and its facts.

    Examples
    --------
    Feed it yourself::

        with Agent("http://127.0.0.1:8600", "hosts", "web1") as agent:
            agent.feed(("web1", "requests"), 17.0)

    or let it read: `agent.run(open_readings("host"))`.
    """

    def __init__(
        self,
        to: str | Link,
        stream: str,
        name: str,
        *,
        state: Path | str | None = None,
        credentials: Credentials | None = None,
        beat: DurationLike = "1 s",
        linger: float = 0.02,
        timeout: float | None = None,
        separator: str = "/",
        settle: DurationLike = "1 min",
        limit: int | None = None,
        clock: Clock | None = None,
        log: Log = no_log,
    ) -> None:
        if not name or len(name) > 200:
            raise BindError("an agent needs a name", repr(name), "give 1 to 200 characters")
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._contact = threading.Event()
        self._link = to
        if isinstance(to, str):
            self._link = open_link(to, stream, name, credentials, self._wake.set)
        directory = None if state is None else Path(state)
        room = limit or (IN_MEMORY if state is None else LIMIT)
        self.name = name
        self.stream = stream
        self.reporter = Reporter(
            name,
            clock or Clock(),
            Spool(name, directory, limit=room),
            separator=separator,
            beat=duration(beat),
            settle=duration(settle),
            resend=max(2 * duration(beat), 2 * SECOND),
        )
        self._linger = linger
        self._timeout = timeout or max(3.0, 3.0 * duration(beat) / SECOND)
        self._log = log
        self._lock = threading.Lock()
        self._backoff = Backoff(f"{stream}/{name}")
        self._deadline: float | None = None
        self._failure: StreamgaugeError | None = None
        self._trouble: StreamgaugeError | None = None
        self._reached = False
        self._ended = False
        self._default: float | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Agent:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to talk with the coordinator."""
        if self._thread is None:
            self._log("start", {"agent": self.name, "stream": self.stream, "protocol": VERSION})
            self._thread = threading.Thread(target=self._talk, name="edge-link", daemon=True)
            self._thread.start()

    def feed(self, key: Key, value: float, at: InstantLike | None = None) -> None:
        """Take one reading; `at` is its time on this machine's clock."""
        self.feed_many([(key, float(value), None if at is None else instant(at))])

    def feed_many(self, batch: list[Reading]) -> None:
        """Take readings of one moment."""
        if self._failure is not None:
            raise self._failure
        with self._lock:
            self.reporter.feed(batch)
            waiting = self.reporter.waiting
        if waiting:
            self._wake.set()

    def run(self, readings: Readings, *, once: bool = False) -> None:
        """Read until the source ends or `halt` is called; `once`: until nothing more is there."""
        self.start()
        self._default = readings.period
        if readings.period is not None:
            self.reporter.settle = max(self.reporter.settle, round(2 * SECOND * readings.period))
        began, some, outages, blind = time.monotonic(), False, readings.outages, False
        while not self._stop.is_set():
            if readings.period is not None:
                readings.period = self.reporter.sample or self._default
            batch = readings.read(LOOK)
            if readings.outages != outages or readings.blind != blind:
                outages, blind = readings.outages, readings.blind
                self._look(blind)
            if readings.bad != self.reporter.counts.unreadable:
                if not self.reporter.counts.unreadable:
                    self._log("unreadable", {"readings": readings.bad})
                self.reporter.counts.unreadable = readings.bad
            if batch is None:
                break
            if batch:
                some = True
                self.feed_many(batch)
            elif once and not readings.ends and (some or time.monotonic() - began > 5.0):
                break
        self.check()

    def contact(self, seconds: float) -> bool:
        """Wait until the coordinator has answered for the first time; whether it did."""
        self.start()
        return self._contact.wait(seconds)

    def _look(self, blind: bool) -> None:
        """Note that the source was lost, or found again."""
        self._log("blind" if blind else "sighted", {})
        with self._lock:
            if blind:
                self.reporter.look_away()
            else:
                self.reporter.look_again()

    def halt(self) -> None:
        """Make `run` return soon; may be called from a signal handler."""
        self._stop.set()

    def stop(self, grace: float = 5.0) -> bool:
        """Tell what is left within `grace` seconds, then end; whether all was acknowledged.

        What was not acknowledged waits in the state directory for the next start.
        """
        self._stop.set()
        if self._thread is not None:
            self._deadline = time.monotonic() + grace
            self._wake.set()
            self._thread.join()
            self._thread = None
        told = self.reporter.told
        if not self._ended:
            self._ended = True
            if not told and self._failure is None:
                # What was not said yet waits with the rest.
                self.reporter.seal()
            self.reporter.spool.close()
            self._log("stop", {"told": told, **self.status()})
        return told

    def check(self) -> None:
        """Raise what ended the talk with the coordinator, if anything did."""
        if self._failure is not None:
            raise self._failure

    @property
    def trouble(self) -> StreamgaugeError | None:
        """Why the coordinator cannot be reached at present."""
        return self._failure or self._trouble

    def status(self) -> dict[str, Any]:
        """Figures of this agent: what it read, what it sent, what waits."""
        reporter = self.reporter
        return {
            "objects": reporter.known,
            **asdict(reporter.counts),
            "waiting_bytes": reporter.spool.waiting,
            "unacknowledged": reporter.spool.newest - reporter.spool.acked,
            "offset_us": reporter.clock.offset,
            "clock_jumps": reporter.clock.jumps,
        }

    def _talk(self) -> None:
        """Bring reports over until everything is told after a stop, or its grace is over."""
        try:
            while not self._over():
                with self._lock:
                    message = self.reporter.message()
                if message is not None:
                    self._exchange(message)
                    continue
                self._wake.wait(self._pause())
                self._wake.clear()
                self._stop.wait(self._linger)
                self._take_pushed()
        except (SpoolFailure, LinkRefused) as error:
            self._failure = error
            self._log("failure", error.as_dict())
            self._stop.set()
            self._contact.set()
        finally:
            self._ends().close()

    def _ends(self) -> Link:
        assert not isinstance(self._link, str)
        return self._link

    def _over(self) -> bool:
        if self._deadline is None:
            return False
        return self.reporter.told or time.monotonic() >= self._deadline

    def _pause(self) -> float:
        with self._lock:
            due = self.reporter.due()
        return due if self._deadline is None else min(due, self._linger)

    def _exchange(self, message: bytes) -> None:
        timeout = self._timeout
        if self._deadline is not None:
            timeout = min(timeout, max(0.1, self._deadline - time.monotonic()))
        try:
            reply = self._ends().exchange(message, timeout)
            with self._lock:
                self.reporter.take(reply)
        except SpoolFailure:
            raise
        except SourceFailure as error:
            self._lost(error)
            return
        if self._trouble is not None or not self._reached:
            self._log("reached", {"offset_us": self.reporter.clock.offset})
        self._trouble, self._reached = None, True
        if self.reporter.begun:
            self._contact.set()
        self._backoff.reset()
        self._take_pushed()

    def _take_pushed(self) -> None:
        for reply in self._ends().pushed():
            try:
                with self._lock:
                    self.reporter.take(reply)
            except SpoolFailure:
                raise
            except SourceFailure as error:
                self._log("unreadable", error.as_dict())

    def _lost(self, error: SourceFailure) -> None:
        """Wait before the next attempt; what happens meanwhile goes to the disk."""
        if isinstance(error, LinkRefused) and not self._reached:
            raise error
        wait = self._backoff.wait(getattr(error, "wait", None))
        if self._trouble is None or self._trouble.what != error.what:
            self._log("unreachable", {**error.as_dict(), "wait": round(wait, 3)})
        self._trouble = error
        with self._lock:
            self.reporter.lost()
        end = time.monotonic() + wait
        while (left := end - time.monotonic()) > 0 and not self._over():
            self._wake.clear()
            self._wake.wait(min(left, 1.0))
            # A wake that asks for news must not shorten the wait, nor make it a busy one.
            self._stop.wait(self._linger)
            if self._deadline is not None:
                threading.Event().wait(min(max(left, 0.0), 0.2))
                break
            with self._lock:
                self.reporter.seal()
