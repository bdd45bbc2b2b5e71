"""Home: the directory a gauge lives in, and the names of everything in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.kernel.allowed import NOTHING, Allowed
from streamgauge.kernel.errors import BindError, StateTooOld
from streamgauge.kernel.files import damaged, number_name, numbered, read_json, reading, write_json
from streamgauge.kernel.memory import allowance, bytes_of
from streamgauge.kernel.roots import NO_ROOTS, Roots
from streamgauge.kernel.time import SECOND, DurationLike, duration

FORMAT = 2
# The format of earlier releases: which shard owns a group followed from a hash of its text.
BY_TEXT = 1
NAME_BYTES = 200
CLEARED = "cleared.json"
# Seconds that an operator may work on one epoch.
QUERY_TIMEOUT = 600.0
# Where files go that cannot be believed, so that nothing of them is lost.
ASIDE = "damaged"


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below a gauge's directory. Plain data, so that it travels to executors.

    `form` is the format it was made with: it says which shard owns a group. `query_timeout` is for
    how many seconds an operator may work on one epoch.
    """

    path: str
    shards: int
    allowed: Allowed = NOTHING
    roots: Roots = NO_ROOTS
    memory: int | None = None
    spread: bool = False
    form: int = FORMAT
    query_timeout: float = QUERY_TIMEOUT
    given: dict[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        shards: int,
        allowed: Allowed = NOTHING,
        roots: Roots = NO_ROOTS,
        memory: int | str | None = None,
        spread: bool = False,
        query_timeout: DurationLike = QUERY_TIMEOUT,
    ) -> Home:
        """Open a home, or make one; an existing home keeps its number of shards.

        `memory` is what the state of all shards of a machine may take, a share of what it has if
        None; `spread` says that shards lie on several machines. `query_timeout` is a number of
        seconds or a text as "10 min".
        """
        root, room = Path(path).absolute(), bytes_of(memory)
        card = root / "gauge.json"
        if root.exists() and not root.is_dir():
            raise BindError(
                f"{str(root)!r} is a file, not a data directory",
                f"it has {root.stat().st_size} bytes",
                "pass a directory, which Streamgauge creates if it does not exist",
            )
        if not card.exists():
            if numbered(root / "journal", ".json"):
                # Another number of shards would mix up the state of those that were.
                raise damaged(card, "this data directory", "there is a journal beside it, not it")
            write_json(card, {"format": FORMAT, "shards": shards})
        with reading(card, "this data directory"):
            found = read_json(card, "this data directory")
            form, count = found["format"], found.get("shards")
            if form not in (BY_TEXT, FORMAT):
                raise StateTooOld(
                    f"home {root} is of format {form}",
                    f"this release reads formats {BY_TEXT} and {FORMAT}",
                    "run the release that wrote it, or choose another home",
                )
            if not isinstance(count, int) or count < 1:
                raise damaged(card, "this data directory", f"its number of shards is {count!r}")
            timeout = _seconds(query_timeout)
            return cls(str(root), count, allowed, roots, room, spread, form, timeout)

    @property
    def allowance(self) -> int:
        """Bytes that the state of one shard may take on this machine."""
        here = min(self.shards, os.cpu_count() or 1) if self.spread else self.shards
        return allowance(self.memory, here)

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

    def state(self, epoch: int, shard: int, attempt: str = "") -> Path:
        """State that an attempt leaves of a shard after an epoch; earlier releases name none."""
        return (
            self.root / "state" / number_name(epoch, "") / _name(f"shard-{shard}", attempt, "sgst")
        )

    def answers(self, epoch: int, shard: int, attempt: str = "") -> Path:
        """Answers that an attempt has a shard give in an epoch."""
        name = _name(f"shard-{shard}", attempt, "arrow")
        return self.root / "answers" / number_name(epoch, "") / name

    def rows(self, epoch: int, shard: int, serial: int, attempt: str = "") -> Path:
        """Rows a shard gave as answers in an epoch; one file for each set of columns."""
        name = _name(f"rows-{shard}-{serial}", attempt, "arrow")
        return self.root / "answers" / number_name(epoch, "") / name

    def file_of(self, path: Path) -> str:
        """Name of a file below this directory, as records have it."""
        return path.relative_to(self.root).as_posix()

    def committed(self) -> int:
        """The newest committed epoch, 0 when there is none."""
        return max(numbered(self.commits, ".json"), default=0)

    def cleared(self) -> int:
        """The newest epoch whose answers and page were cleared away, 0 when none was."""
        path, what = self.root / CLEARED, "the note of what was cleared away"
        try:
            with reading(path, what):
                return int(read_json(path, what)["epoch"])
        except FileNotFoundError:
            return 0

    def commit(self, epoch: int) -> Path:
        """Commit file of an epoch."""
        return self.commits / number_name(epoch, ".json")


def _seconds(value: DurationLike) -> float:
    """A limit of time as an operator writes it.

    >>> _seconds("10 min"), _seconds(2.5)
    (600.0, 2.5)
    >>> _seconds(0)
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: a query timeout must be positive
      detail: got 0
      hint: write '10 min', or leave it out
    """
    seconds = duration(value) / SECOND
    if not seconds > 0.0:
        raise BindError(
            "a query timeout must be positive", f"got {value!r}", "write '10 min', or leave it out"
        )
    return seconds


def _name(what: str, attempt: str, suffix: str) -> str:
    """Name of a file of an epoch: what it holds, and whose work it is."""
    return f"{what}.{attempt}.{suffix}" if attempt else f"{what}.{suffix}"


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
