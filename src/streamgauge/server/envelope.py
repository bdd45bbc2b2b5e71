"""Envelope: what the messages of an Arrow stream say of themselves, before anything is unpacked.

A compressed buffer states how large it will be, and a small body can state anything. Arrow sets
that much memory aside, so a body from outside is looked at first. The messages are flatbuffers, of
which two tables matter here: Message, and the RecordBatch in it.
"""

from __future__ import annotations

import struct

import pyarrow as pa

# Places of fields in their tables, and kinds of messages, as the format numbers them.
_HEADER_TYPE, _HEADER = 1, 2
_DICTIONARY, _RECORDS = 2, 3
_DATA_OF_DICTIONARY = 1
_COMPRESSION = 3


def is_packed(data: bytes) -> bool:
    """Whether some message of an Arrow stream is compressed.

    >>> rows = pa.record_batch({"n": pa.array(range(1000))})
    >>> def body(codec):
    ...     sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression=codec)
    ...     with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
    ...         writer.write(rows)
    ...     return sink.getvalue().to_pybytes()
    >>> is_packed(body(None)), is_packed(body("zstd"))
    (False, True)
    """
    for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(data)):
        try:
            if _compressed(message.metadata.to_pybytes()):
                return True
        except struct.error as error:
            raise ValueError(f"a message of the stream is damaged: {error}") from None
    return False


def _compressed(metadata: bytes) -> bool:
    root = _follow(metadata, 0)
    kind_at = _field(metadata, root, _HEADER_TYPE)
    header_at = _field(metadata, root, _HEADER)
    if kind_at is None or header_at is None:
        return False
    kind = metadata[kind_at]
    header = _follow(metadata, header_at)
    if kind == _DICTIONARY:
        inner = _field(metadata, header, _DATA_OF_DICTIONARY)
        return inner is not None and _has_compression(metadata, _follow(metadata, inner))
    return kind == _RECORDS and _has_compression(metadata, header)


def _has_compression(metadata: bytes, records: int) -> bool:
    return _field(metadata, records, _COMPRESSION) is not None


def _follow(metadata: bytes, place: int) -> int:
    """Where an offset leads."""
    return int(place + struct.unpack_from("<I", metadata, place)[0])


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is; None when the table leaves it out."""
    layout = table - struct.unpack_from("<i", metadata, table)[0]
    if layout < 0:
        raise struct.error("a table lies outside of its message")
    size = struct.unpack_from("<H", metadata, layout)[0]
    entry = 4 + 2 * number
    if entry + 2 > size:
        return None
    offset = struct.unpack_from("<H", metadata, layout + entry)[0]
    return table + offset if offset else None
