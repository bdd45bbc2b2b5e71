"""Lanes: partitions of a log that advance each by itself, and the time that all have reached.

Rows of one lane come in their order; lanes are read side by side, and one may be far behind. What
the stream has reached is therefore what its slowest lane has. A lane that has brought nothing for a
while is not waited for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamgauge.kernel.time import Duration, Instant

NO_PEAK = -(2**62)
NO_BATCH = -1


@dataclass(slots=True)
class Lanes:
    """How far each lane of a stream has come.

    Parameters
    ----------
    done
        Newest batch that has landed whole.
    peaks
        Largest event time of each lane.
    heard
        When each lane last brought something, by the clock of the lander.

    Examples
    --------
    >>> lanes = Lanes()
    >>> lanes.expect(["t-0", "t-1"], now=0)
    >>> lanes.land("t-0", 50)
    >>> lanes.reached(idle=10) == NO_PEAK
    True
    >>> lanes.land("t-1", 20)
    >>> lanes.reached(idle=10)
    20
    >>> lanes.expect(["t-0"], now=30)
    >>> lanes.reached(idle=10)
    50
    """

    done: int = NO_BATCH
    peaks: dict[str, Instant] = field(default_factory=dict)
    heard: dict[str, Instant] = field(default_factory=dict)

    def expect(self, lanes: list[str], now: Instant) -> None:
        """Note that lanes bring something; until it has landed it holds the others back."""
        for lane in lanes:
            self.peaks.setdefault(lane, NO_PEAK)
            self.heard[lane] = max(now, self.heard.get(lane, now))

    def land(self, lane: str, high: Instant) -> None:
        """Note the largest time of rows that landed."""
        self.peaks[lane] = max(self.peaks.get(lane, NO_PEAK), high)

    def reached(self, idle: Duration) -> Instant:
        """The time that all lanes have reached that are waited for."""
        newest = max(self.heard.values(), default=0)
        live = [lane for lane, heard in self.heard.items() if heard >= newest - idle]
        return min((self.peaks[lane] for lane in live), default=NO_PEAK)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"done": self.done, "peaks": dict(self.peaks), "heard": dict(self.heard)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Lanes:
        """Read the JSON form."""
        return cls(data["done"], dict(data["peaks"]), dict(data["heard"]))
