"""Records of the spool's log: groups of requests, and marks that say which groups make a file."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from streamgauge.kernel.errors import StateTooOld
from streamgauge.server.receipts import Kept, Receipt

_HEAD = struct.Struct("<cII")
_GROUP, _MARK = b"g", b"m"


@dataclass(frozen=True)
class Group:
    """Requests that were written down together.

    Parameters
    ----------
    serial
        Number of the last request.
    table
        Their clean rows.
    letters
        Their dead letters.
    receipts
        What is told to requests that come again.
    """

    serial: int
    table: pa.Table
    letters: pa.Table
    receipts: tuple[Kept, ...]

    @cached_property
    def size(self) -> int:
        """Bytes in memory."""
        return int(self.table.nbytes + self.letters.nbytes)

    def encode(self) -> bytes:
        """The record of the group."""
        head = [self.serial, [[k, d, r.rows, r.rejected, r.serial] for k, d, r in self.receipts]]
        text, rows = json.dumps(head).encode(), _packed(self.table)
        return _HEAD.pack(_GROUP, len(text), len(rows)) + text + rows + _packed(self.letters)

    @staticmethod
    def mark(upto: int) -> bytes:
        """The record that says: all groups up to this serial that are in no file are one now."""
        text = json.dumps(upto).encode()
        return _HEAD.pack(_MARK, len(text), 0) + text


def read_record(record: bytes) -> Group | int:
    """A group, or the serial of a mark."""
    kind, text_size, rows_size = _HEAD.unpack_from(record)
    rest = _HEAD.size + text_size
    head = json.loads(record[_HEAD.size : rest])
    if kind == _MARK:
        return int(head)
    if kind != _GROUP:
        raise StateTooOld(
            "a record of pushed rows of another release",
            f"it is of kind {kind!r}",
            "start the release that wrote it once, so that its rows land",
        )
    serial, receipts = head
    kept = tuple((key, digest, Receipt(*numbers)) for key, digest, *numbers in receipts)
    table = _unpacked(record[rest : rest + rows_size])
    return Group(serial, table, _unpacked(record[rest + rows_size :]), kept)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _unpacked(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
        return reader.read_all()
