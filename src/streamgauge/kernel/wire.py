"""The wire format of state: named arrays and plain values, versioned and checked, never pickled.

Layout, little endian::

    magic "SGST" | u16 format | u32 header bytes | header (JSON) | padding to 8 | arrays | u32 crc

The header holds the kind of state, its own version, plain values and a table of arrays
(name, dtype, shape, offset). The checksum covers everything before it.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import StateTooOld

MAGIC = b"SGST"
FORMAT = 1
_PREFIX = struct.Struct("<4sHI")
_DTYPES = {"f8", "f4", "i8", "i4", "u1", "u8", "i1", "u4", "u2"}

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Packed:
    """One piece of state: what it is, its version, plain values, arrays.

    Examples
    --------
    >>> packed = Packed("pane", 1, {"width": 60}, {"n": np.arange(3, dtype="i8")})
    >>> back = unpack(pack(packed), kind="pane", version=1)
    >>> back.values, back.arrays["n"]
    ({'width': 60}, array([0, 1, 2]))
    """

    kind: str
    version: int
    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)


def pack(state: Packed) -> bytes:
    """Write state to bytes; equal state gives equal bytes."""
    table: list[Any] = []
    chunks: list[bytes | memoryview] = []
    offset = 0
    for name, array in state.arrays.items():
        code = array.dtype.str.lstrip("<|=")
        assert code in _DTYPES, f"array {name} has dtype {array.dtype}"
        # Views, so that large state is copied once, into the whole.
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        padding = -len(data) % 8
        table.append([name, code, list(array.shape), offset])
        chunks += [data, b"\0" * padding]
        offset += len(data) + padding
    header = json.dumps(
        {"kind": state.kind, "version": state.version, "values": state.values, "arrays": table},
        separators=(",", ":"),
    ).encode()
    header += b" " * (-(_PREFIX.size + len(header)) % 8)
    parts = [_PREFIX.pack(MAGIC, FORMAT, len(header)), header, *chunks]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join((*parts, struct.pack("<I", checksum)))


def unpack(data: bytes, *, kind: str, version: int) -> Packed:
    """Read state from bytes, or refuse damaged, foreign or newer bytes with StateTooOld."""
    if len(data) < _PREFIX.size + 4:
        raise _damaged("cut short", f"{len(data)} bytes")
    magic, form, header_size = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise _damaged("not Streamgauge state", f"begins with {magic!r}")
    if form != FORMAT:
        raise StateTooOld(
            "state of another format",
            f"found format {form}, this release reads {FORMAT}",
            "run the release that wrote it, or register the queries anew WITH HISTORY",
        )
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise _damaged("damaged", f"checksum of {len(data)} bytes does not agree")
    start = _PREFIX.size + header_size
    header = json.loads(data[_PREFIX.size : start].decode())
    if header["kind"] != kind or header["version"] > version:
        raise StateTooOld(
            f"state {header['kind']!r} version {header['version']} cannot be read here",
            f"expected {kind!r} version {version} or older",
            "run the release that wrote it, or register the queries anew WITH HISTORY",
        )
    arrays = {}
    for name, code, shape, offset in header["arrays"]:
        count = math.prod(shape)
        flat = np.frombuffer(data, dtype="<" + code, count=count, offset=start + offset)
        arrays[name] = flat.reshape(shape).copy()
    return Packed(header["kind"], header["version"], header["values"], arrays)


def _damaged(what: str, detail: str) -> StateTooOld:
    return StateTooOld(
        f"state is {what}",
        detail,
        "restore it from a copy; state of a data directory is computed again by: "
        "streamgauge check --repair",
    )


def kind_of(data: bytes) -> str:
    """The kind of state some bytes say they are; not checked beyond the header."""
    if len(data) < _PREFIX.size or not data.startswith(MAGIC):
        raise _damaged("not Streamgauge state", f"begins with {data[:4]!r}")
    size = _PREFIX.unpack_from(data)[2]
    try:
        return str(json.loads(data[_PREFIX.size : _PREFIX.size + size])["kind"])
    except (ValueError, KeyError) as error:
        raise _damaged("damaged", "the header cannot be read") from error
