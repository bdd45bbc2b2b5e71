"""Part: streams and queries of one kind, in a home that other kinds share, fed in two turns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg

# Rows of a page, and of a file: every stream needs some epochs for its rows.
MAX_ROWS = 100


class Part:
    """What one kind of query needs of a home, the same on both engines."""

    def declare(self, gauge: sg.Gauge, place: Path) -> None:
        """Declare streams over folders below a place, and ask the first queries."""
        raise NotImplementedError

    def bring(self, place: Path, turn: int) -> None:
        """Write the files of a turn, 0 or 1."""
        raise NotImplementedError

    def change(self, gauge: sg.Gauge) -> None:
        """What is asked, and what no longer, between the turns."""

    def told(self, gauge: sg.Gauge) -> list[str]:
        """All that was answered."""
        raise NotImplementedError


def folder(place: Path, name: str) -> Path:
    """A folder for the files of a stream."""
    made = place / name
    made.mkdir(parents=True, exist_ok=True)
    return made


def write_half(table: pa.Table, directory: Path, turn: int) -> None:
    """Write the first or the second half of a table, as files of a page each."""
    half = table.num_rows // 2
    part = table.slice(half) if turn else table.slice(0, half)
    for k in range(0, part.num_rows, MAX_ROWS):
        pq.write_table(part.slice(k, MAX_ROWS), directory / f"{turn}{k:05d}.parquet")


def all_asked(told: Iterable[str], names: Iterable[str]) -> bool:
    """Whether there are answers of each query."""
    texts = list(told)
    return all(any(f"query='{name}'" in text for text in texts) for name in names)
