"""Attempts: what attempts at an epoch that is not committed yet have found out about its queries.

Each attempt at a shard has a marker with the name of the operator that is at work. Whoever ends in
order removes it, so a marker that stays names the operator at which a process died. Failures that
were found are written down before the epoch runs again without their queries.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import number_name, numbered, read_json, write_json
from streamgauge.log.home import Home

SIZE = 512
# What the interpreter writes when it ends a process whose time is over.
_OVER = b"Timeout ("
_SUSPENDING = "suspending.json"


class Marker:
    """The marker of one attempt at a shard.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> marker = Marker(Path(mkdtemp()) / "attempts" / "shard-0.a1", 12)
    >>> marker.write("plant/latest")
    >>> read_marker(marker.path)
    (12, 'plant/latest', False)
    >>> marker.remove()
    """

    __slots__ = ("_lines", "_page", "epoch", "file", "path")

    def __init__(self, path: Path, epoch: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.epoch = path, epoch
        self.file = path.open("w+b", buffering=0)
        self.file.truncate(SIZE)
        # Where the interpreter writes when it ends the process.
        self.file.seek(SIZE)
        # A page of the file in memory: the system keeps it when the process is killed.
        self._page = mmap.mmap(self.file.fileno(), SIZE)
        self._lines: dict[str, bytes] = {}

    def write(self, name: str) -> None:
        """Say who is at work; nobody when empty."""
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = f"{self.epoch}\n{name}\n".encode().ljust(SIZE)
        self._page[:] = line

    def overran(self) -> None:
        """Say that whoever is at work did not end in time."""
        os.pwrite(self.file.fileno(), _OVER, SIZE)

    def remove(self) -> None:
        """Nothing is at work any more."""
        self._page.close()
        self.file.close()
        self.path.unlink(missing_ok=True)


@lru_cache(4096)
def marker_name(name: str) -> str:
    """A name that fits into a marker.

    >>> marker_name("plant/latest"), len(marker_name("x" * 1000))
    ('plant/latest', 233)
    """
    if len(name.encode()) <= SIZE // 2 and name.isprintable():
        return name
    return f"{name[:200]!a} {blake2b(name.encode(), digest_size=15).hexdigest()}"


def read_marker(path: Path) -> tuple[int, str, bool]:
    """The epoch of an attempt, who was at work, and whether that took too long."""
    data = path.read_bytes()
    epoch, name, *_ = [*data[:SIZE].decode("utf-8", "replace").split("\n"), "", ""]
    return int(epoch) if epoch.isdigit() else 0, name, _OVER in data[SIZE:]


def folder(home: Home) -> Path:
    """Where markers are, and what was found."""
    return home.root / "attempts"


def marker_path(home: Home, shard: int, attempt: str) -> Path:
    """The marker of an attempt at a shard."""
    return folder(home) / f"shard-{shard}.{attempt}"


def died_at(home: Home, shard: int, epoch: int) -> tuple[Counter[str], set[str]]:
    """How many attempts at a shard and epoch died at each operator; which took too long."""
    deaths: Counter[str] = Counter()
    late: set[str] = set()
    for path in folder(home).glob(f"shard-{shard}.*"):
        try:
            at, name, overran = read_marker(path)
        except FileNotFoundError:
            continue
        if at == epoch and name:
            deaths[name] += 1
            if overran:
                late.add(name)
    return deaths, late


def found_failures(home: Home, epoch: int, *, trial: bool = False) -> list[dict[str, Any]]:
    """Records of suspensions of an epoch: those of its commit, else those found by attempts.

    With `trial` also those that the next attempt is to try.
    """
    for path in (home.commit(epoch), _found(home, epoch)):
        try:
            told = read_json(path, f"what suspends queries in epoch {epoch}")
        except (FileNotFoundError, StateTooOld):
            # Of a damaged one, the page after it says the same.
            continue
        if isinstance(told, dict):
            found: list[dict[str, Any]] = told.get("suspended", [])
            return [*found, *told.get("trial", ())] if trial else found
    return []


def note_failures(
    home: Home,
    epoch: int,
    found: Sequence[dict[str, Any]],
    trial: Sequence[dict[str, Any]] = (),
) -> None:
    """Write down whose failure was found, and who sits out the next attempt to find out more."""
    write_json(_found(home, epoch), {"suspended": list(found), "trial": list(trial)})


def forget_attempts(home: Home, upto: int) -> None:
    """Remove what attempts at committed epochs left."""
    for number in numbered(folder(home), ".json"):
        if number <= upto:
            _found(home, number).unlink(missing_ok=True)
    for path in folder(home).glob("shard-*"):
        try:
            if read_marker(path)[0] <= upto:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue


def note_suspending(home: Home, epoch: int) -> None:
    """Write down that an epoch suspends queries, for those who look at few commits."""
    known = suspending(home)
    if epoch not in known:
        write_json(folder(home) / _SUSPENDING, {"epochs": [*known, epoch]})


def suspending(home: Home) -> list[int]:
    """Epochs that suspend queries."""
    try:
        found: list[int] = read_json(folder(home) / _SUSPENDING, "the note of them")["epochs"]
    except FileNotFoundError:
        return []
    return found


def _found(home: Home, epoch: int) -> Path:
    return folder(home) / number_name(epoch, ".json")
