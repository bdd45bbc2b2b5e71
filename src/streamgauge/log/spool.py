"""Spool: what was told and has been decided, in order, on the disk.

All else follows from it: who starts reads the newest snapshot and the records after it, and is
where the last one was. A record is a length, a checksum and bytes; the last one may be torn and
then never was. Many threads that wait for the disk share one flush.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from streamgauge.kernel.errors import EngineFailure, StateTooOld
from streamgauge.kernel.files import (
    damaged,
    number_name,
    numbered,
    read_json,
    sync_directory,
    write_json,
)

HEAD = struct.Struct("<II")
FORMAT = 1
PART = ".spool"
SNAPSHOT = ".json"


class Spool:
    """Records in numbered parts, each after a snapshot of what went before.

    Parameters
    ----------
    directory
        Where the parts and snapshots are.

    Examples
    --------
    >>> import tempfile
    >>> directory = Path(tempfile.mkdtemp())
    >>> spool = Spool(directory)
    >>> spool.snapshot(), list(spool.records())
    (None, [])
    >>> spool.begin({"closed": 0})
    >>> spool.commit(spool.append(b"first"))
    >>> spool.close()
    >>> again = Spool(directory)
    >>> again.snapshot(), list(again.records())
    ({'closed': 0}, [b'first'])
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.number = max(numbered(directory, SNAPSHOT), default=0)
        self._file: BinaryIO | None = None
        self._lock = threading.Condition()
        self._waiting: list[bytes] = []
        self._appended = 0
        self._durable = 0
        self._flushing = False
        self._failure: OSError | None = None
        self.size = 0
        self.flushes = 0

    def snapshot(self) -> Any:
        """The newest snapshot; None when there is none."""
        path = self.directory / number_name(self.number, SNAPSHOT)
        if not path.exists():
            return None
        kept = read_json(path, "the snapshot of a spool")
        if not isinstance(kept, dict) or "state" not in kept:
            raise damaged(path, "the snapshot of a spool", "it holds no state")
        if kept.get("format") != FORMAT:
            raise StateTooOld(
                "a spool of another release",
                f"{path} has format {kept.get('format')!r}, this release reads {FORMAT}",
                "run the release that wrote it, or remove the directory and start agents anew",
            )
        return kept["state"]

    def records(self) -> Iterator[bytes]:
        """Records after the newest snapshot; one that is torn at the end is left out."""
        parts = [number for number in numbered(self.directory, PART) if number >= self.number]
        for number in parts:
            yield from _read(self.directory / number_name(number, PART), number == parts[-1])

    def begin(self, state: Any) -> None:
        """Start a new part after a snapshot; all that the snapshot covers is let go.

        The caller sees to it that nothing is appended meanwhile.
        """
        self.commit(self._appended)
        number = max([self.number, *numbered(self.directory, PART)]) + 1
        write_json(
            self.directory / number_name(number, SNAPSHOT), {"format": FORMAT, "state": state}
        )
        if self._file is not None:
            self._file.close()
        path = self.directory / number_name(number, PART)
        self._file = path.open("ab")
        sync_directory(self.directory)
        self.number, self.size = number, 0
        for suffix in (PART, SNAPSHOT):
            for old in numbered(self.directory, suffix):
                if old < number:
                    (self.directory / number_name(old, suffix)).unlink(missing_ok=True)

    def append(self, payload: bytes) -> int:
        """Put a record after the others; return the ticket by which `commit` waits for it."""
        record = framed(payload)
        with self._lock:
            self._waiting.append(record)
            self._appended += 1
            self.size += len(record)
            return self._appended

    @property
    def ticket(self) -> int:
        """Ticket of the newest record."""
        return self._appended

    def commit(self, ticket: int) -> None:
        """Return when a record is on the disk; whoever comes first flushes for all."""
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._durable >= ticket or not self._flushing)
                if self._failure is not None:
                    raise _stopped(self.directory, self._failure)
                if self._durable >= ticket:
                    return
                self._flushing = True
                batch, self._waiting = self._waiting, []
                upto = self._appended
            self._flush(batch, upto)

    def _flush(self, batch: list[bytes], upto: int) -> None:
        failure: OSError | None = None
        try:
            assert self._file is not None, "append before begin"
            self._file.write(b"".join(batch))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            # What the disk holds now is unknown, so nothing may be added to it.
            failure = error
        with self._lock:
            self._flushing = False
            self._failure = failure or self._failure
            if failure is None:
                self._durable = max(self._durable, upto)
                self.flushes += 1
            self._lock.notify_all()

    def close(self) -> None:
        """Let the file go; what was not committed may be lost."""
        if self._file is not None:
            self._file.close()
            self._file = None


def framed(payload: bytes) -> bytes:
    """A record as it lies on the disk."""
    return HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def record_at(data: bytes | memoryview, place: int) -> bytes | None:
    """The payload of the record at a place; None where no whole record is.

    >>> data = framed(b"first") + framed(b"second")
    >>> record_at(data, len(framed(b"first"))), record_at(data[:-1], len(framed(b"first")))
    (b'second', None)
    """
    if place + HEAD.size > len(data):
        return None
    size, check = HEAD.unpack_from(data, place)
    payload = bytes(data[place + HEAD.size : place + HEAD.size + size])
    # Zeros that a crash left behind the end look like an empty record; there is none.
    whole = 0 < size == len(payload)
    return payload if whole and zlib.crc32(payload) == check else None


def goes_on(data: bytes | memoryview, place: int) -> bool:
    """Whether a whole record follows one that is not: then it is damaged, not torn by a crash.

    >>> data = bytearray(framed(b"first") + framed(b"second"))
    >>> data[10] ^= 1
    >>> goes_on(bytes(data), 0), goes_on(bytes(data[:12]), 0)
    (True, False)
    """
    if place + HEAD.size > len(data):
        return False
    size, _ = HEAD.unpack_from(data, place)
    return size > 0 and record_at(data, place + HEAD.size + size) is not None


def _read(path: Path, last: bool) -> Iterator[bytes]:
    data = path.read_bytes()
    place = 0
    while place < len(data):
        payload = record_at(data, place)
        if payload is None:
            if last and not goes_on(data, place):
                return
            raise StateTooOld(
                f"the spool {path.name} is damaged",
                f"a record at byte {place} of {len(data)} does not match its checksum",
                "restore the file from a copy; streamgauge check says what it held",
            )
        yield payload
        place += HEAD.size + len(payload)


def _stopped(directory: Path, error: OSError) -> EngineFailure:
    return EngineFailure(
        "the spool can no longer write what is heard",
        f"{error} in {directory}",
        "mend the disk and start again: nothing that was acknowledged is lost",
    )
