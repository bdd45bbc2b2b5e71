"""Journal: numbered pages, one per epoch: the changes and the data that belong together.

A page is written once, whole, by the one lander, and never changes. Replaying pages in order is
replaying the life of the gauge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.files import number_name, numbered, read_json, write_json
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home


@dataclass(frozen=True, slots=True)
class Segment:
    """A reference to rows: a parquet file, or some of its row groups.

    `peak` is the largest event time that had arrived before these rows: with it, lateness is
    decided without reading what came before.
    """

    stream: str
    path: str
    groups: tuple[int, int]
    rows: int
    low: Instant
    high: Instant
    peak: Instant
    origin: str

    def as_list(self) -> list[Any]:
        """JSON form, short because there are many."""
        return [
            self.stream, self.path, *self.groups, self.rows, self.low, self.high, self.peak,
            self.origin,
        ]  # fmt: skip

    @classmethod
    def from_list(cls, data: list[Any]) -> Segment:
        """Read the JSON form."""
        stream, path, first, last, rows, low, high, peak, origin = data
        return cls(stream, path, (first, last), rows, low, high, peak, origin)


@dataclass(frozen=True, slots=True)
class Page:
    """One epoch: control changes first, then data.

    `lanes` says of streams that are read from partitions how far each of those has come; `peaks`
    then has what all of them have reached.
    """

    number: int
    landed_at: Instant
    changes: tuple[dict[str, Any], ...]
    segments: tuple[Segment, ...]
    peaks: dict[str, Instant]
    taken: dict[str, list[str]]
    inbox: tuple[str, ...]
    refused: tuple[dict[str, str], ...] = ()
    dead: int = 0
    lanes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def reach(self, stream: str) -> Instant | None:
        """The largest event time that has arrived; None when nothing has."""
        lanes = self.lanes.get(stream)
        far = [self.peaks[stream]] if stream in self.peaks else []
        return max((*far, *(lanes["peaks"].values() if lanes else ())), default=None)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain = {
            "number": self.number,
            "landed_at": self.landed_at,
            "changes": list(self.changes),
            "segments": [segment.as_list() for segment in self.segments],
            "peaks": self.peaks,
            "taken": self.taken,
            "inbox": list(self.inbox),
            "refused": list(self.refused),
            "dead": self.dead,
        }
        return {**plain, "lanes": self.lanes} if self.lanes else plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Page:
        """Read the JSON form."""
        return cls(
            data["number"],
            data["landed_at"],
            tuple(data["changes"]),
            tuple(Segment.from_list(item) for item in data["segments"]),
            data["peaks"],
            data["taken"],
            tuple(data["inbox"]),
            tuple(data["refused"]),
            data["dead"],
            data.get("lanes", {}),
        )


@dataclass(frozen=True, slots=True)
class Journal:
    """The pages of a home."""

    home: Home

    def last(self) -> int:
        """Number of the newest page, 0 when there is none."""
        return max(numbered(self.home.journal, ".json"), default=0)

    def page(self, number: int) -> Page:
        """Read one page."""
        return Page.from_dict(read_json(self.home.journal / number_name(number, ".json")))

    def append(self, page: Page) -> None:
        """Write the next page, whole."""
        path = self.home.journal / number_name(page.number, ".json")
        if path.exists():
            raise EngineFailure(
                f"page {page.number} of the journal exists already",
                f"another process lands on {self.home.path}",
                "let one process run a home; others may register and read",
            )
        write_json(path, page.as_dict())
