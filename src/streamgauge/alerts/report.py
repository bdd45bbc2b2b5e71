"""Report: the alerts of a home as they stand, for whoever looks: states, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.alerts.crossing import CLEARED, RAISED, Crossing
from streamgauge.alerts.outbox import ACKNOWLEDGED, Lane, acknowledged
from streamgauge.alerts.watcher import FOLDER
from streamgauge.kernel.files import read_json
from streamgauge.log.home import Home
from streamgauge.results.follower import STATE, readable


@dataclass(frozen=True, slots=True)
class Waiting:
    """Deliveries to a target that wait: how many, how often the first was tried, and why in vain.

    `target` is told without its secrets.
    """

    target: str
    waiting: int
    tries: int
    reason: str
    alerts: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "target": self.target,
            "waiting": self.waiting,
            "tries": self.tries,
            "reason": self.reason or None,
            "alerts": list(self.alerts),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What a watcher made of a home so far.

    Parameters
    ----------
    epoch
        The last epoch that was judged; None where no watcher has run.
    states
        The last crossing of each group that ever crossed, by alert.
    targets
        Where deliveries go, with what waits.
    raised, cleared, delivered, failed
        Crossings and deliveries since the first watcher; `failed` counts attempts.
    """

    epoch: int | None = None
    states: dict[str, tuple[Crossing, ...]] | None = None
    targets: tuple[Waiting, ...] = ()
    raised: int = 0
    cleared: int = 0
    delivered: int = 0
    failed: int = 0

    def of(self, alert: str) -> tuple[Crossing, ...]:
        """The last crossings of an alert, those that are raised first, the newest first."""
        found = (self.states or {}).get(alert, ())
        newest = sorted(found, key=lambda crossing: crossing.at, reverse=True)
        return tuple(sorted(newest, key=lambda crossing: crossing.state != RAISED))

    @property
    def standing(self) -> int:
        """How many groups are raised now."""
        every = (crossing for found in (self.states or {}).values() for crossing in found)
        return sum(crossing.state == RAISED for crossing in every)

    @property
    def waiting(self) -> int:
        """Deliveries that wait."""
        return sum(target.waiting for target in self.targets)

    @property
    def failing(self) -> int:
        """Deliveries that wait for a target whose last attempt failed."""
        return sum(target.waiting for target in self.targets if target.tries)


def read(home: Home) -> Report:
    """Read what the watcher of a home has saved."""
    kept = home.root / FOLDER / STATE
    try:
        with readable(kept):
            return _read(kept)
    except FileNotFoundError:
        return Report()


def _read(kept: Path) -> Report:
    known = read_json(kept)
    state = known["state"]
    gone = set(acknowledged(kept.with_name(ACKNOWLEDGED)))
    lanes = [Lane.from_dict(item) for item in state["lanes"]]
    return Report(
        known["epoch"],
        {
            alert: tuple(Crossing.from_dict(item) for item in found.values())
            for alert, found in state["states"].items()
        },
        tuple(_waiting(lane, gone) for lane in lanes),
        state["totals"][RAISED],
        state["totals"][CLEARED],
        state["delivered"],
        state["failed"],
    )


def _waiting(lane: Lane, gone: set[tuple[str, int]]) -> Waiting:
    left = [d for d in lane.waiting if (lane.target.key, d.place) not in gone]
    alerts = tuple(dict.fromkeys(delivery.crossing.alert for delivery in left))
    tries, reason = (lane.tries, lane.reason) if left else (0, "")
    return Waiting(str(lane.target), len(left), tries, reason, alerts)
