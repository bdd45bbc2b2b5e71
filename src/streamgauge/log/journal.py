"""Journal: numbered pages, one per epoch: the changes and the data that belong together.

A page is written once, whole, by the one lander, and never changes. Replaying pages in order is
replaying the life of the gauge.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import Cleared, EngineFailure
from streamgauge.kernel.files import damaged, number_name, numbered, parse_json, reading, write_json
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home


@dataclass(frozen=True, slots=True)
class Segment:
    """A reference to rows: a parquet file, or some of its row groups.

    `peak` is the largest event time that had arrived before these rows: with it, lateness is
    decided without reading what came before. `passed` is the instant up to which time had passed
    without rows: none of these takes effect before it has. `first` is the number of the first row
    in the stream, -1 where an earlier release did not count; `parts` has the rows and the largest
    event time of each row group, so that they can be read apart.
    """

    stream: str
    path: str
    groups: tuple[int, int]
    rows: int
    low: Instant
    high: Instant
    peak: Instant
    origin: str
    passed: Instant | None = None
    first: int = -1
    parts: tuple[tuple[int, Instant], ...] = ()

    def as_list(self) -> list[Any]:
        """JSON form, short because there are many."""
        more = [self.passed, self.first, [list(part) for part in self.parts]]
        return [
            self.stream, self.path, *self.groups, self.rows, self.low, self.high, self.peak,
            self.origin, *more,
        ]  # fmt: skip

    @classmethod
    def from_list(cls, data: list[Any]) -> Segment:
        """Read the JSON form."""
        stream, path, start, stop, rows, low, high, peak, origin, *more = data
        # Pages of earlier releases say less.
        passed = more[0] if more else None
        first, parts = more[1:] or (-1, ())
        groups = tuple((n, top) for n, top in parts)
        return cls(
            stream, path, (start, stop), rows, low, high, peak, origin, passed, first, groups
        )


@dataclass(frozen=True, slots=True)
class Page:
    """One epoch: control changes first, then data.

    `lanes` says of streams that are read from partitions how far each of those has come; `peaks`
    then has what all of them have reached. `passed` says of streams that brought no rows up to
    which instant time has passed all the same. `unusable` has the rows of each stream that could
    not be used: the tick that would have seen them first, and how many. `idle` names the streams
    that were silent for longer than they declare, and since when by the clock of the lander;
    `peaks` has where they stand without rows. `scans` says which rows are read once and sent
    to the shards that need them, and how; each shard reads the others itself. `clocks` has the
    instant up to which all ticks of a stream are closed, where it has begun; pages of earlier
    releases leave it to `peaks` and `passed`, and have changes that only move a clock. `shards` is
    how many shards run the page, once that is another number than the home was made with.
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
    passed: dict[str, Instant] = field(default_factory=dict)
    unusable: dict[str, list[list[int]]] = field(default_factory=dict)
    idle: dict[str, Instant] = field(default_factory=dict)
    scans: dict[str, Any] = field(default_factory=dict)
    clocks: dict[str, Instant] = field(default_factory=dict)
    shards: int = 0

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
        more = {
            "lanes": self.lanes,
            "passed": self.passed,
            "unusable": self.unusable,
            "idle": self.idle,
            "scans": self.scans,
            "clocks": self.clocks,
            "shards": self.shards,
        }
        return {**plain, **{name: given for name, given in more.items() if given}}

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
            data.get("passed", {}),
            data.get("unusable", {}),
            data.get("idle", {}),
            data.get("scans", {}),
            data.get("clocks", {}),
            data.get("shards", 0),
        )


def parse_page(data: bytes, path: Path) -> Page:
    """Read a page from the bytes of its file."""
    what = f"page {int(path.stem)} of the journal"
    with reading(path, what):
        page = Page.from_dict(parse_json(data, path, what))
        if page.number != int(path.stem):
            raise damaged(path, what, f"it says that it is page {page.number}")
        for change in page.changes:
            change["do"]
        return page


def home_for(home: Home, page: Page) -> Home:
    """The home with as many shards as run a page."""
    return replace(home, shards=page.shards) if page.shards else home


def refuse_cleared(home: Home, epoch: int) -> None:
    """Raise when an epoch is one of those that were cleared away."""
    cleared = home.cleared()
    if epoch <= cleared:
        raise Cleared(
            f"epoch {epoch} was cleared away",
            f"{home.path} keeps what came after epoch {cleared}",
            f"read from epoch {cleared} on, and keep answers for longer: streamgauge clear --help",
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
        path = self.home.journal / number_name(number, ".json")
        try:
            return parse_page(path.read_bytes(), path)
        except FileNotFoundError:
            refuse_cleared(self.home, number)
            raise damaged(path, f"page {number} of the journal", "it is absent") from None

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
