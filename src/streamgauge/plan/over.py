"""Over: the largest or smallest value that a query had within a window of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.windows.window import Window

KINDS = ("max", "min")


@dataclass(frozen=True, slots=True)
class Over:
    """The extreme of a value over a window: of the last half hour, or since an instant.

    Parameters
    ----------
    kind
        max or min.
    window
        `Range(length)` without a slide, or `Landmark(start)`.

    Examples
    --------
    >>> from streamgauge.windows.window import Range
    >>> print(Over("max", Range("30 minutes")))
    max over range 30 min
    >>> Over.from_dict(Over("max", Range("30 minutes")).as_dict()).kind
    'max'
    """

    kind: str
    window: Window

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BindError(
                f"unknown extreme {self.kind!r}",
                f"extremes are {', '.join(KINDS)}",
                "write Over('max', Range('30 minutes'))",
            )
        if self.window.kind not in ("range", "landmark"):
            raise UnsupportedWindow(
                f"the {self.kind} of a value needs a window of time",
                f"got [{self.window}]",
                "write [RANGE 30 MINUTES] or [SINCE '2026-01-01']; in Python Range('30 minutes')",
            )
        if self.window.slide is not None:
            raise UnsupportedWindow(
                f"the {self.kind} of a value is of the time up to now, which moves with each tick",
                f"got [{self.window}]",
                "leave the slide out",
            )

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"kind": self.kind, "window": self.window.as_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Over:
        """Read the JSON form."""
        return cls(data["kind"], Window.from_dict(data["window"]))

    def __str__(self) -> str:
        return f"{self.kind} over {self.window}"
