"""What an agent must not forget: reports until they are acknowledged, its objects, their widths.

One file of lines, each with its length and checksum. A report is on the disk before it is sent.
A last line that was cut off by a crash was never sent, so it is dropped; damage further up means
that reports which were sent are gone, and then the agent counts anew under another boot.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from streamgauge.edge.protocol import Report
from streamgauge.filters.bound import Grant
from streamgauge.kernel.errors import SourceFailure, StateTooOld, StreamgaugeError
from streamgauge.kernel.time import Instant

FORMAT = 1
LIMIT = 64 << 20
# Lines that are no longer needed are dropped when they are this many bytes and half of the file.
SLACK = 1 << 20
# Objects in one report at most.
ANNOUNCED = 1_000
FILE = "spool"

HEAD, REPORT, GRANTS, ACK, LATEST = b"H", b"R", b"G", b"A", b"L"


class SpoolFailure(SourceFailure):
    """The agent's memory cannot be written; it stops rather than forget."""


class Spool:
    """Reports that wait for their acknowledgement, on disk or, without a directory, in memory.

    Parameters
    ----------
    agent
        Name of the agent; a directory belongs to one.
    directory
        Where the file is. None keeps everything in memory: a restart then is a new boot.
    limit
        Bytes of waiting reports beyond which it is full.
    sync
        Brings a file to the disk.

    Examples
    --------
    >>> spool = Spool("pump")
    >>> spool.append(Report("pump", spool.boot, 1, 0, 5, [(0, ("flow",))]))
    >>> spool.newest, spool.acked, spool.objects
    (1, 0, {0: ('flow',)})
    >>> spool.acknowledge(1)
    >>> spool.after(0) is None
    True
    """

    def __init__(
        self,
        agent: str,
        directory: Path | None = None,
        *,
        limit: int = LIMIT,
        sync: Callable[[int], None] = os.fsync,
    ) -> None:
        self.agent = agent
        self.limit = limit
        self.boot = uuid.uuid4().hex
        self.newest = 0
        self.acked = 0
        self.latest: Instant = 0
        self.objects: dict[int, tuple[str, ...]] = {}
        self.grants: dict[int, Grant] = {}
        self.restored = False
        self.waiting = 0
        self._sync = sync
        self._reports: deque[tuple[int, bytes | int, int]] = deque()
        self._path = None if directory is None else directory / FILE
        self._file: BinaryIO | None = None
        self._size = 0
        self._lock: BinaryIO | None = None
        if directory is not None:
            self._lock = _locked(directory)
            try:
                self._open()
            except StreamgaugeError:
                self.close()
                raise

    @property
    def full(self) -> bool:
        """Whether no further report is taken until one is acknowledged."""
        return self.waiting >= self.limit

    def append(self, report: Report) -> None:
        """Keep a report; it is on the disk when this returns."""
        data = report.encode()
        place: bytes | int = data
        if self._file is not None:
            place = self._write(REPORT, data) - len(data) - 1
            self._bring()
        self._reports.append((report.seq, place, len(data)))
        self.waiting += len(data)
        self.newest = report.seq
        self.latest = max(self.latest, _latest(report))
        self.objects.update(report.objects)

    def note(self, grants: Iterable[Grant]) -> None:
        """Keep grants; they are on the disk with the next report, which confirms them."""
        newer = [g for g in grants if not self._knows(g)]
        if newer:
            self.grants.update((g.number, g) for g in newer)
            self._write(GRANTS, _dump([_plain(g) for g in newer]))

    def reached(self, label: Instant) -> None:
        """Keep the latest instant that was spoken of, so that a restart does not go back."""
        if label > self.latest:
            self.latest = label
            self._write(LATEST, _dump(label))

    def acknowledge(self, seq: int) -> None:
        """Forget reports up to a number."""
        seq = min(seq, self.newest)
        if seq <= self.acked:
            return
        self.acked = seq
        while self._reports and self._reports[0][0] <= seq:
            self.waiting -= self._reports.popleft()[2]
        self._write(ACK, _dump(seq))
        if self._size > SLACK and self._size > 2 * self.waiting:
            self._rewrite()

    def after(self, seq: int) -> tuple[int, bytes] | None:
        """The first report after a number that waits, with its bytes."""
        if seq >= self.newest or not self._reports:
            return None
        index = max(0, seq + 1 - self._reports[0][0])
        number, place, length = self._reports[index]
        return number, self._read(place, length)

    def reborn(self) -> None:
        """Count anew under another boot; waiting reports keep what they say, widths are void."""
        waiting = [Report.decode(data) for data in self._bytes()]
        self.boot = uuid.uuid4().hex
        self.acked = self.waiting = 0
        self.grants.clear()
        known = list(self.objects.items())
        opening = [
            Report(self.agent, self.boot, 0, 0, 0, known[first : first + ANNOUNCED])
            for first in range(0, len(known), ANNOUNCED)
        ]
        self._reports = deque()
        for seq, report in enumerate(opening + waiting, 1):
            report.boot, report.seq, report.applied = self.boot, seq, []
            if seq > len(opening):
                report.objects = []
            report.updates = [update._replace(version=0) for update in report.updates]
            data = report.encode()
            self._reports.append((seq, data, len(data)))
            self.waiting += len(data)
        self.newest = len(self._reports)
        if self._file is not None:
            self._rewrite()

    def close(self) -> None:
        """Give the directory back; what waits is on the disk."""
        if self._file is not None:
            self._bring()
            self._file.close()
            self._file = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _knows(self, grant: Grant) -> bool:
        known = self.grants.get(grant.number)
        return known is not None and known.version >= grant.version

    def _bytes(self) -> Iterator[bytes]:
        for _, place, length in self._reports:
            yield self._read(place, length)

    def _read(self, place: bytes | int, length: int) -> bytes:
        if isinstance(place, bytes):
            return place
        assert self._file is not None
        return os.pread(self._file.fileno(), length, place)

    def _bring(self) -> None:
        if self._file is not None:
            try:
                self._file.flush()
                self._sync(self._file.fileno())
            except OSError as error:
                raise _unwritable(self._path, error) from error

    def _write(self, kind: bytes, data: bytes) -> int:
        if self._file is None:
            return 0
        line = _line(kind, data)
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._size += len(line)
        return self._size

    def _head(self) -> bytes:
        return _dump(
            {
                "format": FORMAT,
                "agent": self.agent,
                "boot": self.boot,
                "acked": self.acked,
                "newest": self.newest,
                "latest": self.latest,
                "objects": [[number, list(key)] for number, key in self.objects.items()],
                "grants": [_plain(grant) for grant in self.grants.values()],
            }
        )

    def _rewrite(self) -> None:
        try:
            self._write_anew()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _write_anew(self) -> None:
        """Write the file anew with what is still needed: whole, then in place of the old one."""
        assert self._path is not None
        partial = self._path.with_name(f".{FILE}.tmp")
        fresh: deque[tuple[int, bytes | int, int]] = deque()
        with partial.open("wb") as file:
            size = file.write(_line(HEAD, self._head()))
            for (seq, _, length), data in zip(self._reports, self._bytes(), strict=True):
                size += file.write(_line(REPORT, data))
                fresh.append((seq, size - length - 1, length))
            file.flush()
            self._sync(file.fileno())
        if self._file is not None:
            self._file.close()
        partial.replace(self._path)
        _sync_directory(self._path.parent, self._sync)
        self._file = self._path.open("ab+")
        self._reports, self._size = fresh, size

    def _open(self) -> None:
        assert self._path is not None
        if not self._path.exists():
            self._rewrite()
            return
        self._file = self._path.open("rb+")
        good, damaged = self._replay(self._file)
        self._file.truncate(good)
        self._file.close()
        self._file, self._size = self._path.open("ab+"), good
        self.restored = True
        if damaged:
            self.reborn()
        elif self._size > SLACK:
            self._rewrite()

    def _replay(self, file: BinaryIO) -> tuple[int, bool]:
        """Take the lines in; bytes that are good, and whether more than the last line is bad."""
        good = 0
        for line in file:
            record = _record(line)
            if record is None:
                return good, bool(file.read(1)) or good == 0
            kind, data = record
            good += len(line)
            if kind == REPORT:
                self._replay_report(data, good - len(data) - 1)
            else:
                self._replay_rest(kind, json.loads(data))
        return good, good == 0

    def _replay_report(self, data: bytes, place: int) -> None:
        report = Report.decode(data)
        self.objects.update(report.objects)
        self.newest = report.seq
        self.latest = max(self.latest, _latest(report))
        self._reports.append((report.seq, place, len(data)))
        self.waiting += len(data)

    def _replay_rest(self, kind: bytes, body: Any) -> None:
        if kind == ACK:
            self.acked = body
            while self._reports and self._reports[0][0] <= body:
                self.waiting -= self._reports.popleft()[2]
        elif kind == LATEST:
            self.latest = max(self.latest, body)
        elif kind == GRANTS:
            self.grants.update((parts[0], _grant(parts)) for parts in body)
        else:
            _check(body, self.agent, self._path)
            self.boot, self.latest = body["boot"], body["latest"]
            self.acked, self.newest = body["acked"], body["newest"]
            # Reports follow the head, so the newest number is theirs when any wait.
            self.objects = {number: tuple(key) for number, key in body["objects"]}
            self.grants = {parts[0]: _grant(parts) for parts in body["grants"]}


def _latest(report: Report) -> Instant:
    return max([report.through, *(update.at for update in report.updates)])


def _line(kind: bytes, data: bytes) -> bytes:
    return b"%s %08x %d %s\n" % (kind, zlib.crc32(data), len(data), data)


def _record(line: bytes) -> tuple[bytes, bytes] | None:
    """Kind and content of a line; None when it is not whole."""
    try:
        kind, check, length, data = line[:-1].split(b" ", 3)
        whole = line.endswith(b"\n") and len(data) == int(length)
        return (kind, data) if whole and zlib.crc32(data) == int(check, 16) else None
    except ValueError:
        return None


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _plain(grant: Grant) -> list[Any]:
    # The language of JSON has no infinity that others could read; ours is read by us alone.
    return list(grant)


def _grant(parts: list[Any]) -> Grant:
    return Grant(parts[0], parts[1], float(parts[2]), parts[3])


def _check(head: dict[str, Any], agent: str, path: Path | None) -> None:
    if head.get("format") != FORMAT:
        raise StateTooOld(
            "the agent's memory is of another release",
            f"{path} has format {head.get('format')!r}, this release reads {FORMAT}",
            "run the release that wrote it until its reports are acknowledged, then remove it",
        )
    if head.get("agent") != agent:
        raise SourceFailure(
            "the directory is another agent's memory",
            f"{path} is of {head.get('agent')!r}, this is {agent!r}",
            "give each agent a directory of its own with --state",
        )


def _locked(directory: Path) -> BinaryIO:
    directory.mkdir(parents=True, exist_ok=True)
    file = (directory / "lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise SourceFailure(
            "the agent runs already",
            f"another process holds {directory}",
            "stop it, or give this one another name and --state directory",
        ) from None
    return file


def _sync_directory(directory: Path, sync: Callable[[int], None]) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        sync(handle)
    finally:
        os.close(handle)


def _unwritable(path: Path | None, error: OSError) -> SpoolFailure:
    return SpoolFailure(
        "the agent cannot keep its reports",
        f"{path}: {error.strerror or error}",
        "free some space on the disk or choose another --state directory, then start it again",
    )
