"""Coordinator: hears the agents of one stream, shares width out, closes ticks.

It lives beside the job, in threads: the doors take reports, one loop closes ticks and adjusts
widths. Everything it decides follows from the spool, so it may be killed at any point.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import numpy as np

from streamgauge.coordinator.allotment import Allotment, warm
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.demands import Demands
from streamgauge.coordinator.door_http import HttpDoor
from streamgauge.coordinator.door_kafka import KafkaDoor
from streamgauge.coordinator.door_mqtt import MqttDoor
from streamgauge.coordinator.intake import Intake
from streamgauge.coordinator.landing import Landing
from streamgauge.coordinator.options import Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.edge.protocol import Reply
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.files import write_json, write_whole
from streamgauge.kernel.time import SECOND, Duration, Instant
from streamgauge.log.home import Home
from streamgauge.results.agents import FORGET
from streamgauge.streams.stream import Stream

# A new part of the spool is begun when one has grown to this, or this old.
PART_BYTES = 16 << 20
PART_AGE = 60 * SECOND
# Ticks wait this long for a job that is behind, so that many are taken together.
PATIENCE = 10 * SECOND
REFRESH = SECOND
LOOP_SECONDS = 0.05
# Objects whose figures are shown, those of the largest burden.
SHOWN_OBJECTS = 1000


class Door(Protocol):
    """A way in for reports."""

    def start(self) -> None:
        """Open it."""

    def stop(self) -> None:
        """Close it; requests in work are finished."""


def steady_clock() -> Callable[[], Instant]:
    """A clock that starts at the wall clock's time and never goes back."""
    begun, steady = time.time_ns() // 1000, time.monotonic_ns() // 1000
    return lambda: begun + time.monotonic_ns() // 1000 - steady


class Coordinator:
    """The coordinator of one stream.

    Parameters
    ----------
    home
        The home whose job answers the queries.
    stream
        A stream that agents feed.
    options
        How it listens and waits; those of the stream's declaration when None.
    now
        Its clock; the machine's when None.
    """

    def __init__(
        self,
        home: Home,
        stream: Stream,
        options: Options | None = None,
        *,
        now: Callable[[], Instant] | None = None,
    ) -> None:
        self.home = home
        self.stream = stream
        self.options = options or Options.of(stream)
        self.now = now or steady_clock()
        self.directory = edge_directory(home, stream.name)
        self.intake = Intake(stream, self.options, self.directory / "spool", self.now)
        self.landing = Landing(home, stream)
        self.allotment = Allotment(self.intake, Demands(home, stream))
        self.intake.allot = self.allotment.heard
        self.intake.sample = self.allotment.asked.sample
        self.doors: list[Door] = []
        self.failure: str | None = None
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None
        self._refreshed = self._adjusted = self._shown = self._parted = self.now()
        self._landed = self._parted
        self._patient_until = self._patience()
        if self.intake.begun:
            self._land()

    def take(
        self, data: bytes, claims: Claims = NO_CLAIMS, received: Instant | None = None
    ) -> Reply:
        """Take a report of an agent; give what to answer it."""
        return self.intake.take(data, self.now() if received is None else received, claims)

    # The clock

    def turn(self) -> None:
        """Do all that is due: close ticks, follow queries, adjust widths, show figures."""
        now = self.now()
        if _due(now, self._refreshed, REFRESH):
            self._refreshed = now
            self.allotment.refresh(now)
            self._forget_asked()
        if _due(now, self._adjusted, self.options.adjust):
            self._adjusted = now
            self.allotment.adjust(now)
        self._close(now)
        if _due(now, self._shown, SECOND):
            self._shown = now
            self.show()

    def _close(self, now: Instant) -> None:
        upto = self.intake.horizon(now)
        if upto <= self.intake.closed or now < self._patient_until:
            return
        if self.landing.behind and now - self._landed < PATIENCE:
            return
        self._landed = now
        self.intake.close(upto)
        if self.intake.begun:
            self._land()
        if self.intake.spool.size > PART_BYTES or _due(now, self._parted, PART_AGE):
            self._parted = now
            self.intake.rotate()

    def _land(self) -> None:
        """Land what was closed last; again after a kill, which changes nothing."""
        closing = self.intake.unlanded
        rows = [] if closing is None else closing.rows
        self.landing.land(self.intake.closed, rows, self.intake.cache.bounds)
        self.intake.landed()

    def _patience(self) -> Instant:
        """After a restart agents get the time to say what happened meanwhile."""
        return self.now() + (self.options.silence if self.intake.agents else 0)

    def start(self) -> None:
        """Open the doors and begin to close ticks."""
        self._halt.clear()
        warm()
        try:
            self._open()
        except StreamgaugeError:
            self.stop()
            raise
        self._patient_until = self._patience()
        name = f"streamgauge-coordinator-{self.stream.name}"
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def _open(self) -> None:
        tokens = Tokens.read(self.options.tokens)
        if self.options.listen is not None:
            door = HttpDoor(self, self.options, tokens)
            door.start()
            self.doors.append(door)
            write_whole(self.directory / "address", f"{door.address}\n".encode())
        if self.options.broker is not None:
            kafka = self.options.broker.scheme == "kafka"
            door_of = KafkaDoor if kafka else MqttDoor
            broker = door_of(self, self.options, tokens)
            broker.start()
            self.doors.append(broker)

    @property
    def address(self) -> str:
        """Where agents find it: the address of its web door."""
        return next((d.address for d in self.doors if isinstance(d, HttpDoor)), "")

    def _loop(self) -> None:
        try:
            while not self._halt.wait(LOOP_SECONDS):
                self.turn()
        except (StreamgaugeError, OSError) as error:
            self.failure = str(error)
        finally:
            # A mistake of ours is told to whoever waits, too, and not only to standard error.
            if not self._halt.is_set() and self.failure is None:
                self.failure = "the coordinator ended by a mistake; its trace is on standard error"

    def stop(self) -> None:
        """Close the doors; what was acknowledged is kept."""
        for door in self.doors:
            door.stop()
        self.doors.clear()
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.show()
        self.intake.stop()

    def forget(self, agent: str) -> None:
        """Wait no longer for an agent that is gone for good; its objects leave the answers."""
        with self.intake.lock:
            places = self.intake.cache.of(agent)
            self.intake.forget(agent)
            self.allotment.forget(places)

    def _forget_asked(self) -> None:
        for request in (self.directory / FORGET).glob("*"):
            self.forget(unquote(request.name))
            request.unlink()

    # Figures

    def show(self) -> None:
        """Write the figures where other processes find them."""
        write_json(self.directory / "status.json", self.status())

    def status(self) -> dict[str, Any]:
        """Figures of the stream, its agents and its objects."""
        now = self.now()
        with self.intake.lock:
            agents = [self._agent(name, now) for name in sorted(self.intake.agents)]
            objects = self._objects()
            intake, cache = self.intake, self.intake.cache
            totals = {
                name: sum(agent[name] for agent in agents)
                for name in (
                    "readings",
                    "reports",
                    "updates",
                    "beats",
                    "duplicates",
                    "late",
                    "refused",
                )
            }
            return {
                "stream": self.stream.name,
                "now": now,
                "closed": intake.closed,
                "address": self.address,
                "failure": self.failure,
                "agents": agents,
                "objects": objects,
                "totals": {
                    **totals,
                    "agents": len(agents),
                    "interrupted": sum(agent["state"] != "heard" for agent in agents),
                    "objects": len(cache.bounds),
                    "queries": self.allotment.asked.constraints.n_queries,
                    "unreadable": intake.refused,
                    "unknown_versions": cache.unknown_versions,
                    "rows": self.landing.rows,
                    "files": self.landing.files,
                    "flushes": intake.spool.flushes,
                },
            }

    def _agent(self, name: str, now: Instant) -> dict[str, Any]:
        agent = self.intake.agents[name]
        tally = agent.tally
        return {
            "agent": name,
            "state": "interrupted" if name in self.intake.cache.unheard else "heard",
            "boot": agent.boot,
            "heard": agent.heard,
            "silent": max(0, now - agent.heard) / SECOND,
            "through": agent.through,
            "offset": None if agent.offset is None else agent.offset / SECOND,
            "objects": len(agent.places),
            "waiting": len(agent.held),
            **{name: getattr(tally, name) for name in tally.__dataclass_fields__},
            "readings": tally.readings + agent.looked,
            **self.allotment.adviser.of(name)._asdict(),
        }

    def _objects(self) -> list[dict[str, Any]]:
        figures = self.allotment.figures()
        burdens = np.nan_to_num(figures["burden"], posinf=0.0)
        bounds = self.intake.cache.bounds
        order = np.argsort(-burdens, kind="stable").tolist()
        # Those that came since the last refresh are not in the figures yet.
        order += range(len(order), len(bounds))
        held = figures["held"]
        rows: list[dict[str, Any]] = []
        for place in order[:SHOWN_OBJECTS]:
            bound, known = bounds[place], place < len(held)
            rows.append(
                {
                    "key": list(bound.key),
                    "agent": bound.agent,
                    "value": _finite(bound.value),
                    "width": _finite(float(held[place])) if known else None,
                    "burden": float(burdens[place]) if known else 0.0,
                    "updates": bound.updates,
                    "version": bound.newest,
                }
            )
        return rows


def edge_directory(home: Home, stream: str) -> Path:
    """Where the coordinator of a stream keeps its files."""
    return home.root / "edge" / stream


def _due(now: Instant, last: Instant, period: Duration) -> bool:
    return now - last >= period


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
