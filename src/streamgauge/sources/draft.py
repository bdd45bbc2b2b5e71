"""Draft: what a reader hands over before types and rules are applied; and how bytes are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.errors import SourceFailure

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@dataclass(frozen=True)
class Refused:
    """A file that cannot be taken at all, and why; its rows, 1 where they cannot be counted."""

    reason: str
    row: str = ""
    rows: int = 1


@dataclass(frozen=True)
class Draft:
    """Columns as the file has them, with what is needed to say where a row came from.

    Parameters
    ----------
    columns
        One column per column of the stream, of whatever type the file gave.
    places
        Line or row number of each row, from 1.
    texts
        The rows at some positions as text, for their dead letters.
    broken
        Entries (place, reason, row) that never became rows.
    typed
        The format fixes the type of a column, so a column of which no value fits is not bad
        luck but another schema: the file is refused as a whole.
    """

    columns: dict[str, pa.ChunkedArray]
    places: NDArray[np.int64]
    texts: Callable[[NDArray[np.int64]], list[str]]
    broken: list[tuple[int, str, str]]
    typed: bool = False


def unreachable(path: str, error: OSError) -> SourceFailure:
    """Build the error for a file that the disk or its permissions keep from us."""
    return SourceFailure(
        f"cannot read {path}",
        error.strerror or str(error),
        "check that the file exists, that it may be read and that its disk is mounted",
    )


def content(path: str) -> bytes | Refused:
    """Read a file, unpacked when its name ends in .gz, .bz2 or .zst."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise unreachable(path, error) from None
    codec = _CODECS.get(Path(path).suffix)
    if codec is None:
        return raw
    try:
        with pa.CompressedInputStream(pa.BufferReader(raw), codec) as unpacked:
            return bytes(unpacked.read())
    except (OSError, pa.ArrowException) as error:
        return Refused(f"cannot be unpacked as {codec}: {error}")
