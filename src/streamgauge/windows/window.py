"""Window: a frozen value that says which rows are alive at an instant.

At the instant t a window holds, of the rows with time <= t:

- `Now()`: those of the last tick;
- `Range(length, slide)`: those in (e - length, e], e = t rounded down to a whole slide;
- `Landmark(start)`: those at or after `start`;
- `Rows(n)`: the n newest;
- `Partition(by, n)`: the n newest of each key;
- `Unbounded()`: all;
- `Session(gap, by)`: those of a run whose last row is less than `gap` old, per key;
- `Decay(half_life)`: all, each with a weight that halves every `half_life`.

Ends are half open so that panes tile time and windows share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import UnsupportedWindow
from streamgauge.kernel.time import (
    Duration,
    DurationLike,
    Instant,
    InstantLike,
    duration,
    duration_text,
    instant,
    instant_text,
)

KINDS = ("now", "range", "landmark", "rows", "partition", "session", "decay")
BEGINNING = -(2**62)
# Not a window of rows: a query that has it reads the latest value of each series.
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Window:
    """A window as a value; build it with `Now`, `Range`, `Landmark`, `Rows` or `Partition`.

    Examples
    --------
    >>> print(Range("30 minutes", slide="1 minute"))
    range 30 min slide 1 min
    >>> print(Partition(["symbol"], 10))
    partition by symbol rows 10
    """

    kind: str
    length: Duration = 0
    slide: Duration | None = None
    start: Instant = 0
    rows: int = 0
    by: tuple[str, ...] = ()

    @property
    def unbounded(self) -> bool:
        """Whether every row stays for ever."""
        return self.kind == "landmark" and self.start == BEGINNING

    def slide_for(self, tick: Duration, every: Duration | None) -> Duration:
        """Step at which the window moves: as given, else the query's own cadence, else a tick."""
        return self.slide or every or tick

    def pane_width(self, tick: Duration, every: Duration | None) -> Duration:
        """Width of its panes; 0 for a landmark, which is one, and the half-life of a decay."""
        if self.kind == "now":
            return tick
        if self.kind == "landmark":
            return 0
        if self.kind == "decay":
            return self.length
        return math.gcd(self.length, self.slide_for(tick, every))

    def bind(self, tick: Duration) -> None:
        """Check that the window fits the stream's tick."""
        for name, width in (("length", self.length), ("slide", self.slide or 0)):
            if width % tick:
                raise UnsupportedWindow(
                    f"{name} of {self} is not a whole number of ticks",
                    f"{duration_text(width)} against a tick of {duration_text(tick)}",
                    f"use a multiple of {duration_text(tick)}, or declare a finer tick",
                )

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "kind": self.kind,
            "length": self.length,
            "slide": self.slide,
            "start": self.start,
            "rows": self.rows,
            "by": list(self.by),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Window:
        """Read the JSON form."""
        return cls(**{**data, "by": tuple(data["by"])})

    def __str__(self) -> str:
        if self.kind == "range":
            slide = f" slide {duration_text(self.slide)}" if self.slide else ""
            return f"range {duration_text(self.length)}{slide}"
        if self.kind == "landmark":
            return "unbounded" if self.unbounded else f"since {instant_text(self.start)}"
        if self.kind == "decay":
            return f"decay {duration_text(self.length)}"
        if self.kind == "session":
            by = f" partition by {', '.join(self.by)}" if self.by else ""
            return f"session {duration_text(self.length)}{by}"
        if self.kind == "partition":
            return f"partition by {', '.join(self.by)} rows {self.rows}"
        return f"rows {self.rows}" if self.kind == "rows" else self.kind


def Now() -> Window:  # noqa: N802
    """Rows of the current tick."""
    return Window("now")


def Range(length: DurationLike, slide: DurationLike | None = None) -> Window:  # noqa: N802
    """Rows of the last `length` of event time, moving in steps of `slide`."""
    span, step = duration(length), None if slide is None else duration(slide)
    if span <= 0 or (step is not None and step <= 0):
        raise UnsupportedWindow(
            "a range needs a positive length and a positive slide",
            f"got length {length!r}, slide {slide!r}",
            "write Range('30 minutes', slide='1 minute')",
        )
    return Window("range", length=span, slide=step)


def Landmark(start: InstantLike) -> Window:  # noqa: N802
    """All rows since `start`."""
    return Window("landmark", start=instant(start))


def Unbounded() -> Window:  # noqa: N802
    """All rows."""
    return Window("landmark", start=BEGINNING)


def Latest() -> Window:  # noqa: N802
    """The latest value of each series; only a query as a value takes it."""
    return Window(LATEST)


def Session(gap: DurationLike, by: list[str] | tuple[str, ...] | str = ()) -> Window:  # noqa: N802
    """Rows of the run that goes on: no two neighbours, nor the last and now, `gap` apart."""
    span = duration(gap)
    if span <= 0:
        raise UnsupportedWindow(
            "a session needs a positive gap", f"got {gap!r}", "write Session('30 minutes', 'user')"
        )
    return Window("session", length=span, by=(by,) if isinstance(by, str) else tuple(by))


def Decay(half_life: DurationLike) -> Window:  # noqa: N802
    """All rows, each with a weight that halves every `half_life`."""
    span = duration(half_life)
    if span <= 0:
        raise UnsupportedWindow(
            "a decay needs a positive half-life", f"got {half_life!r}", "write Decay('5 minutes')"
        )
    return Window("decay", length=span)


def Rows(n: int) -> Window:  # noqa: N802
    """The `n` newest rows."""
    return Window("rows", rows=_positive(n))


def Partition(by: list[str] | tuple[str, ...] | str, n: int) -> Window:  # noqa: N802
    """The `n` newest rows of each key."""
    keys = (by,) if isinstance(by, str) else tuple(by)
    if not keys:
        raise UnsupportedWindow(
            "a partition needs at least one column", "got none", "write Partition(['symbol'], 10)"
        )
    return Window("partition", rows=_positive(n), by=keys)


def _positive(n: int) -> int:
    if n <= 0:
        raise UnsupportedWindow(
            "a window of rows needs a positive number", f"got {n}", "write Rows(100)"
        )
    return n
