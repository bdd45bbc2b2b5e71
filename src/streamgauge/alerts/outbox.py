"""Outbox: deliveries that wait, one lane for each target, on disk before anybody sends them.

What waits is saved together with the epoch that made it. What was acknowledged since then is in a
small file beside it, a line each, so that a crash repeats no more than the one delivery in flight.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.alerts.crossing import Crossing
from streamgauge.kernel.files import write_whole
from streamgauge.plan.alert import Target

LOG = logging.getLogger(__name__)
ACKNOWLEDGED = "acknowledged.jsonl"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A crossing on its way to a target; `place` counts the deliveries of the lane from 1."""

    place: int
    crossing: Crossing


@dataclass(slots=True)
class Lane:
    """Deliveries to one target in their order, and how the last attempt went.

    `durable` is the place up to which they are on disk; `tries` counts attempts at the first one.
    """

    target: Target
    last: int = 0
    durable: int = 0
    waiting: list[Delivery] = field(default_factory=list)
    tries: int = 0
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """What is saved."""
        return {
            "target": self.target.as_dict(),
            "last": self.last,
            "tries": self.tries,
            "reason": self.reason,
            "waiting": [{"place": d.place, "crossing": d.crossing.as_dict()} for d in self.waiting],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Lane:
        """Read what was saved."""
        waiting = [
            Delivery(item["place"], Crossing.from_dict(item["crossing"]))
            for item in data["waiting"]
        ]
        return cls(
            Target.from_dict(data["target"]), data["last"], data["last"], waiting, data["tries"],
            data["reason"],
        )  # fmt: skip


class Outbox:
    """All lanes.

    Parameters
    ----------
    folder
        Where acknowledgements are kept between two savings.
    """

    def __init__(self, folder: Path) -> None:
        self.lanes: dict[str, Lane] = {}
        self.delivered = 0
        self.failed = 0
        self.dirty = False
        self._lock = threading.Lock()
        self._log = folder / ACKNOWLEDGED
        self._lines: list[str] = []
        self._saved_lines = 0
        self._ends: dict[str, int] = {}

    def put(self, crossing: Crossing, targets: Collection[Target]) -> None:
        """Let a crossing wait for all its targets; it is sent once it is saved."""
        with self._lock:
            for target in targets:
                lane = self.lanes.setdefault(target.key, Lane(target))
                lane.last += 1
                lane.waiting.append(Delivery(lane.last, crossing))
                self.dirty = True

    def head(self, key: str) -> Delivery | None:
        """The next delivery of a lane that is on disk, or None."""
        with self._lock:
            lane = self.lanes[key]
            first = lane.waiting[0] if lane.waiting else None
            return first if first is not None and first.place <= lane.durable else None

    def done(self, key: str, delivery: Delivery) -> None:
        """Note that a target has acknowledged a delivery."""
        with self._lock:
            lane = self.lanes[key]
            lane.waiting = [d for d in lane.waiting if d.place != delivery.place]
            lane.tries, lane.reason = 0, ""
            self.delivered += 1
            self.dirty = True
            line = json.dumps([key, delivery.place])
            self._lines.append(line)
            try:
                with self._log.open("a") as log:
                    # What was cut short before ends here, so that it spoils no other line.
                    log.write(f"\n{line}\n")
                    log.flush()
                    os.fsync(log.fileno())
            except OSError as error:
                # The next saving knows it; only a crash until then would have it sent again.
                LOG.warning("alert %s was delivered, not noted: %s", delivery.crossing.id, error)

    def missed(self, key: str, reason: str) -> int:
        """Note that an attempt failed; the attempts at this delivery so far."""
        with self._lock:
            lane = self.lanes[key]
            lane.tries += 1
            lane.reason = reason
            self.failed += 1
            self.dirty = True
            return lane.tries

    def forget(self, alert: str, kept: Collection[str] = ()) -> None:
        """Give up what waits of an alert for targets that it no longer has."""
        with self._lock:
            for key, lane in self.lanes.items():
                if key not in kept:
                    lane.waiting = [d for d in lane.waiting if d.crossing.alert != alert]
                    if not lane.waiting:
                        lane.tries, lane.reason = 0, ""

    def busy(self) -> list[str]:
        """Lanes that have something to send."""
        with self._lock:
            return [
                key
                for key, lane in self.lanes.items()
                if lane.waiting and lane.waiting[0].place <= lane.durable
            ]

    def saved(self) -> dict[str, Any]:
        """What is to be saved; follow it with `kept` when it is on disk."""
        with self._lock:
            self._saved_lines = len(self._lines)
            self._ends = {key: lane.last for key, lane in self.lanes.items()}
            self.dirty = False
            return {
                "lanes": [lane.as_dict() for lane in self.lanes.values()],
                "delivered": self.delivered,
                "failed": self.failed,
            }

    def kept(self) -> None:
        """What `saved` gave is on disk: send it, and let go of acknowledgements it knows."""
        with self._lock:
            for key, last in self._ends.items():
                self.lanes[key].durable = last
            if self._saved_lines:
                self._lines = self._lines[self._saved_lines :]
                write_whole(self._log, "".join(f"{line}\n" for line in self._lines).encode())
                self._saved_lines = 0

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from what was saved and what was acknowledged after that."""
        lanes = [Lane.from_dict(item) for item in data["lanes"]]
        self.lanes = {lane.target.key: lane for lane in lanes}
        self.delivered, self.failed = data["delivered"], data["failed"]
        for key, place in acknowledged(self._log):
            lane = self.lanes.get(key)
            if lane is not None and any(d.place == place for d in lane.waiting):
                lane.waiting = [d for d in lane.waiting if d.place != place]
                self.delivered += 1
                self.dirty = True
                self._lines.append(json.dumps([key, place]))


def acknowledged(log: Path) -> list[tuple[str, int]]:
    """Lane and place of each acknowledgement of a file; a line that was cut short is none."""
    try:
        lines = log.read_text(errors="replace").split("\n")
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError):
            key, place = json.loads(line)
            found.append((key, place))
    return found
