"""Messages of a broker that cannot repeat them, on the disk until they are used.

Messages lie in parts, each named after the number of its first message. A part begins with what is
known of the newest messages before it, by which a message that is delivered again is recognised;
groups of messages follow as Arrow, each group flushed at once. What is used up goes part by part.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from streamgauge.kernel.errors import EngineFailure, StateTooOld
from streamgauge.kernel.files import number_name, numbered, sync_directory
from streamgauge.log.spool import HEAD, framed, goes_on, record_at

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("payload", pa.binary()),
        ("received", pa.timestamp("us", tz="UTC")),
        ("qos", pa.int32()),
        ("retained", pa.bool_()),
        ("size", pa.int64()),
        ("packet", pa.int32()),
        ("digest", pa.int64()),
    ]
)
# Columns before those by which a message is recognised.
SHOWN = 6
PART = ".spool"
PART_BYTES = 16 << 20
# Groups are found by pieces of about this size, so that few numbers are kept of many groups.
PIECE_BYTES = 64 << 10
_GROUP, _KNOWN = b"g", b"k"
_SEEN = struct.Struct("<iq")

Seen = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some messages of one part: where they are, and which of them are meant."""

    path: str
    place: int
    size: int
    first: int
    rows: int
    start: int
    stop: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The messages that are meant, as columns."""
        with Path(self.path).open("rb") as file:
            file.seek(self.place)
            data = file.read(self.size)
        number, place = self.first, 0
        while place < len(data):
            record = record_at(data, place)
            if record is None or record[:1] != _GROUP:
                raise _damaged(Path(self.path), self.place + place)
            place += HEAD.size + len(record)
            batch = _batch(record)
            low, high = max(self.start - number, 0), min(self.stop - number, batch.num_rows)
            if low < high:
                yield batch.slice(low, high - low)
            number += batch.num_rows

    def numbered(self) -> Iterator[pa.RecordBatch]:
        """The columns that a reader wants, and the number of each message."""
        number = self.start
        for batch in self.batches():
            numbers = pa.array(range(number, number + batch.num_rows), pa.int64())
            number += batch.num_rows
            columns = [*batch.columns[:SHOWN], numbers]
            yield pa.RecordBatch.from_arrays(columns, names=[*SCHEMA.names[:SHOWN], "number"])


class Messages:
    """Messages in numbered parts, with one writer and any readers.

    Parameters
    ----------
    directory
        Where the parts are.
    limit
        Bytes it may hold; `full` says when they are reached.
    window
        How many of the newest messages are known by packet number and digest.
    start
        Number of the first message where there is none yet.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> messages = Messages(place, limit=1 << 20, window=100)
    >>> one = ("room/1", b"20.5", 0, 1, False, 4, 7, 1234)
    >>> messages.append(pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, one))], SCHEMA))
    >>> messages.close()
    >>> again = Messages(place, limit=1 << 20, window=100)
    >>> [b["topic"].to_pylist() for p in again.pieces(0, 1) for b in p.batches()], list(again.seen)
    ([['room/1']], [(7, 1234)])
    >>> again.close()
    """

    def __init__(self, directory: Path, *, limit: int, window: int, start: int = 0) -> None:
        self.directory = directory
        self.limit = limit
        self.seen: deque[Seen] = deque(maxlen=window)
        self.bytes = 0
        self.flushes = 0
        self._lock = threading.Lock()
        self._pieces: list[Piece] = []
        self._sizes: dict[int, int] = {}
        self._broken: OSError | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self.next = start
        self._recover()
        self._file: BinaryIO = self._begin()

    @property
    def first(self) -> int:
        """Number of the oldest message that is kept."""
        with self._lock:
            return self._pieces[0].first if self._pieces else self.next

    @property
    def full(self) -> bool:
        """Whether no more may be appended for now."""
        return self.bytes >= self.limit

    def append(self, batch: pa.RecordBatch) -> None:
        """Put messages after the others; they are on the disk when this returns."""
        known = zip(batch["packet"].to_pylist(), batch["digest"].to_pylist(), strict=True)
        record = framed(_GROUP + batch.serialize().to_pybytes())
        place = self._write(record)
        self.seen.extend(pair for pair in known if pair[0])
        with self._lock:
            self._add(Path(self._file.name), place, len(record), batch.num_rows)
        if place + len(record) > min(PART_BYTES, self.limit // 8):
            self._file.close()
            self._file = self._begin()

    def forget_seen(self) -> None:
        """Know no message any more: the broker has begun to number them anew."""
        self.seen.clear()
        self._write(framed(_KNOWN))

    def pieces(self, start: int, stop: int) -> list[Piece]:
        """Where the messages from `start` up to `stop` are."""
        with self._lock:
            if start < stop and (not self._pieces or start < self._pieces[0].first):
                oldest = self._pieces[0].first if self._pieces else self.next
                raise StateTooOld(
                    f"messages of {self.directory} are gone",
                    f"asked for {start} to {stop}, the oldest that is kept is {oldest}",
                    "remove the checkpoint that asks for them, or bring the directory back",
                )
            return [
                replace(piece, start=max(start, piece.first), stop=min(stop, _end(piece)))
                for piece in self._pieces
                if piece.first < stop and _end(piece) > start
            ]

    def let_go(self, number: int) -> None:
        """Delete parts whose messages all come before a number."""
        with self._lock:
            parts = sorted(self._sizes)
            for part, after in pairwise(parts):
                if after <= number:
                    (self.directory / number_name(part, PART)).unlink(missing_ok=True)
                    self.bytes -= self._sizes.pop(part)
                    self._pieces = [piece for piece in self._pieces if piece.first >= after]

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def _write(self, record: bytes) -> int:
        if self._broken is not None:
            raise _stopped(self.directory, self._broken)
        place = self._file.tell()
        try:
            self._file.write(record)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            # What the disk holds now is unknown, so nothing may be added to it.
            self._broken = error
            raise _stopped(self.directory, error) from error
        self.flushes += 1
        with self._lock:
            self.bytes += len(record)
            self._sizes[int(Path(self._file.name).stem)] += len(record)
        return place

    def _add(self, path: Path, place: int, size: int, rows: int) -> None:
        """Note where a group is, in the piece before it where that is small."""
        number, last = self.next, self._pieces[-1] if self._pieces else None
        self.next += rows
        behind = last is not None and (last.path, last.place + last.size) == (str(path), place)
        if last is not None and behind and last.size < PIECE_BYTES:
            self._pieces[-1] = replace(last, size=last.size + size, rows=last.rows + rows)
        else:
            self._pieces.append(Piece(str(path), place, size, number, rows, number, number))

    def _begin(self) -> BinaryIO:
        """Start a part, which begins with what is known."""
        # One that holds no message yet, and only what is known, is gone on with.
        self._file = (self.directory / number_name(self.next, PART)).open("ab")
        with self._lock:
            begun = self._sizes.setdefault(self.next, 0)
        if not begun:
            self._write(framed(_KNOWN + b"".join(_SEEN.pack(*pair) for pair in self.seen)))
        sync_directory(self.directory)
        return self._file

    def _recover(self) -> None:
        parts = numbered(self.directory, PART)
        for part in parts:
            if self._sizes and part != self.next:
                path = self.directory / number_name(part, PART)
                raise StateTooOld(
                    f"messages of {self.directory} are missing",
                    f"{path.name} comes after message {self.next}",
                    "bring the missing parts back, or begin anew in an empty directory",
                )
            self.next = part
            self._read_part(part, last=part == parts[-1])

    def _read_part(self, part: int, *, last: bool) -> None:
        path = self.directory / number_name(part, PART)
        data, place = path.read_bytes(), 0
        while place < len(data):
            record = record_at(data, place)
            if record is None:
                if not last or goes_on(data, place):
                    raise _damaged(path, place)
                _cut(path, place)
                break
            size = HEAD.size + len(record)
            if record[:1] == _KNOWN:
                self.seen.clear()
                self.seen.extend(_SEEN.iter_unpack(record[1:]))
            else:
                batch = _batch(record)
                known = zip(batch["packet"].to_pylist(), batch["digest"].to_pylist(), strict=True)
                self.seen.extend(pair for pair in known if pair[0])
                self._add(path, place, size, batch.num_rows)
            place += size
        self._sizes[part] = place
        self.bytes += place


def newest_number(directory: Path) -> int:
    """Number of the message that comes next, for one who does not write; 0 when none has come."""
    parts = numbered(directory, PART)
    if not parts:
        return 0
    try:
        return parts[-1] + messages_in(directory / number_name(parts[-1], PART))
    except FileNotFoundError:
        return newest_number(directory)


def messages_in(path: Path) -> int:
    """How many messages the whole records of a part hold."""
    data, number, place = path.read_bytes(), 0, 0
    while (record := record_at(data, place)) is not None:
        number += _batch(record).num_rows if record[:1] == _GROUP else 0
        place += HEAD.size + len(record)
    return number


def _cut(path: Path, place: int) -> None:
    """Take the torn end off a part, for good: another one comes after it now."""
    with path.open("rb+") as file:
        file.truncate(place)
        os.fsync(file.fileno())


def _end(piece: Piece) -> int:
    return piece.first + piece.rows


def _batch(record: bytes) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(record)[1:], SCHEMA)


def _damaged(path: Path, place: int) -> StateTooOld:
    return StateTooOld(
        f"the messages of {path.name} are damaged",
        f"a record at byte {place} of {path} does not match its checksum",
        "restore the file, or begin anew in an empty directory",
    )


def _stopped(directory: Path, error: OSError) -> EngineFailure:
    return EngineFailure(
        "messages can no longer be written down",
        f"{error} in {directory}",
        "mend the disk and start again: nothing that was acknowledged is lost",
    )
