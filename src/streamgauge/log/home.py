"""Home: the directory a gauge lives in, and the names of everything in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.kernel.allowed import NOTHING, Allowed
from streamgauge.kernel.errors import BindError, StateTooOld
from streamgauge.kernel.files import number_name, numbered, read_json, write_json

FORMAT = 1
NAME_BYTES = 200
CLEARED = "cleared.json"


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below a gauge's directory. Plain data, so that it travels to executors."""

    path: str
    shards: int
    allowed: Allowed = NOTHING
    given: dict[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(cls, path: str | Path, *, shards: int, allowed: Allowed = NOTHING) -> Home:
        """Open a home, or make one; an existing home keeps its number of shards."""
        root = Path(path).absolute()
        card = root / "gauge.json"
        if not card.exists():
            write_json(card, {"format": FORMAT, "shards": shards})
        found = read_json(card)
        if found["format"] != FORMAT:
            raise StateTooOld(
                f"home {root} is of format {found['format']}",
                f"this release reads format {FORMAT}",
                "run the release that wrote it, or choose another home",
            )
        return cls(str(root), found["shards"], allowed)

    @property
    def root(self) -> Path:
        """The directory itself."""
        return Path(self.path)

    @property
    def control(self) -> Path:
        """Inbox of control records."""
        return self.root / "control"

    @property
    def journal(self) -> Path:
        """Numbered pages."""
        return self.root / "journal"

    @property
    def registry(self) -> Path:
        """Snapshots of the registry."""
        return self.root / "registry"

    @property
    def commits(self) -> Path:
        """One file per committed epoch."""
        return self.root / "commits"

    @property
    def checkpoint(self) -> Path:
        """Spark's own checkpoint."""
        return self.root / "checkpoint"

    def compacted(self, stream: str) -> Path:
        """Small segments of a stream put together, each file with its index."""
        return self.root / "compacted" / stream

    def segments(self, stream: str) -> Path:
        """Landed segments of a stream."""
        return self.root / "segments" / stream

    def incoming(self, stream: str) -> Path:
        """Files written for a stream by a generator or a landing query."""
        return self.root / "incoming" / stream

    def dead(self, stream: str) -> Path:
        """Dead letters of a stream."""
        return self.root / "dead" / stream

    def state(self, epoch: int, shard: int) -> Path:
        """State of a shard after an epoch."""
        return self.root / "state" / number_name(epoch, "") / f"shard-{shard}.sgst"

    def answers(self, epoch: int, shard: int) -> Path:
        """Answers a shard gave in an epoch."""
        return self.root / "answers" / number_name(epoch, "") / f"shard-{shard}.arrow"

    def rows(self, epoch: int, shard: int, serial: int) -> Path:
        """Rows a shard gave as answers in an epoch; one file for each set of columns."""
        return self.root / "answers" / number_name(epoch, "") / f"rows-{shard}-{serial}.arrow"

    def committed(self) -> int:
        """The newest committed epoch, 0 when there is none."""
        return max(numbered(self.commits, ".json"), default=0)

    def cleared(self) -> int:
        """The newest epoch whose answers and page were cleared away, 0 when none was."""
        try:
            found: int = read_json(self.root / CLEARED)["epoch"]
        except FileNotFoundError:
            return 0
        return found

    def commit(self, epoch: int) -> Path:
        """Commit file of an epoch."""
        return self.commits / number_name(epoch, ".json")


def check_directory_name(kind: str, name: str) -> None:
    """Raise unless a name can be that of a directory in the home.

    >>> check_directory_name("stream", "../rows")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: a stream cannot be named '../rows'
      detail: it begins with a dot, or has a slash or a sign that is not printed, or is too long
      hint: choose letters, digits and _; a stream keeps files under its name
    """
    plain = name.isprintable() and not set(name) & set("/\\")
    if name and plain and name[0] != "." and len(name.encode("utf-8", "replace")) <= NAME_BYTES:
        return
    raise BindError(
        f"a {kind} cannot be named {name[:50]!r}",
        "it begins with a dot, or has a slash or a sign that is not printed, or is too long",
        f"choose letters, digits and _; a {kind} keeps files under its name",
    )
