"""Report: the sinks of a home as they stand, for whoever looks: how far, and what hinders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.files import read_json
from streamgauge.log.home import Home
from streamgauge.plan.sink import StandingSink
from streamgauge.results.change_log import epochs_after
from streamgauge.results.follower import STATE, readable

FOLDER = "sinks"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one sink is.

    Parameters
    ----------
    standing
        The sink.
    epoch
        The last epoch that is delivered.
    waiting
        Committed epochs with answers after that one.
    delivered
        Answers and changes of rows delivered since its birth.
    tries
        Attempts in vain since the last that was not.
    failure
        What went wrong at the last of them, in three parts.
    """

    standing: StandingSink
    epoch: int
    waiting: int
    delivered: int = 0
    tries: int = 0
    failure: dict[str, str] | None = None

    @property
    def state(self) -> str:
        """Current, behind or failing."""
        if self.tries:
            return "failing"
        return "behind" if self.waiting else "current"

    def as_dict(self) -> dict[str, Any]:
        """JSON form, without what is secret in the address of the target."""
        sink = self.standing.sink
        return {
            "name": sink.name,
            "queries": list(sink.queries) or None,
            "target": str(sink.to),
            "history": sink.history,
            "version": self.standing.version,
            "state": self.state,
            "epoch": self.epoch,
            "waiting": self.waiting,
            "delivered": self.delivered,
            "tries": self.tries,
            "failure": self.failure,
        }


def read(home: Home, sinks: Mapping[str, StandingSink]) -> list[Progress]:
    """How far the sinks of a home are, by name."""
    return [_read(home, sinks[name]) for name in sorted(sinks)]


def _read(home: Home, standing: StandingSink) -> Progress:
    kept = home.root / FOLDER / standing.sink.name / STATE
    try:
        with readable(kept):
            known = read_json(kept)
            epoch, state = known["epoch"], known["state"]
            if state["born"] == standing.born:
                told = {name: state[name] for name in ("delivered", "tries", "failure")}
                return Progress(standing, epoch, len(epochs_after(home, epoch)), **told)
    except FileNotFoundError:
        pass
    return Progress(standing, standing.first, len(epochs_after(home, standing.first)))
