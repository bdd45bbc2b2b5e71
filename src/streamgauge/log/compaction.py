"""Compaction: small segments of the home put together in one file, read as if they were apart.

Pages never change: they go on naming the small files. A compacted file holds the row groups of
many of them in their order, and an index beside it says which file begins at which row group. The
index is on the disk before a small file goes, so whoever misses one finds its rows there.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.kernel.files import number_name, read_json, reading, sync_directory, write_json
from streamgauge.kernel.time import Instant
from streamgauge.log.batches import MANIFEST
from streamgauge.log.home import ASIDE, Home
from streamgauge.log.journal import Segment
from streamgauge.log.segments import reading_arrow

FOLDERS = ("segments", "incoming")
FOOTERS_REMEMBERED = 64
INDEXES_REMEMBERED = 10_000

# What a file says is remembered with what the file was: a home may be put back from a copy.
_Stamp = tuple[str, int, int]
_INDEXES: dict[_Stamp, dict[str, int]] = {}
_FOOTERS: OrderedDict[_Stamp, pq.FileMetaData] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Small:
    """A file of the home that holds rows of a stream: which pages name it, how late its rows are.

    Parameters
    ----------
    path
        Its path, as pages name it.
    page
        The last page that names it.
    high
        The largest event time in it.
    """

    path: str
    page: int
    high: Instant


@dataclass(frozen=True, slots=True)
class Compacted:
    """One compacted file, as its index tells."""

    index: Path
    page: int
    high: Instant
    parts: dict[str, int]

    @property
    def file(self) -> Path:
        """The rows."""
        return self.index.with_suffix(".parquet")

    def remove(self) -> None:
        """Let it go; the index goes last, so that nothing is left that no index knows."""
        self.file.unlink(missing_ok=True)
        self.index.unlink(missing_ok=True)


def compacted(home: Home, stream: str) -> list[Compacted]:
    """Compacted files of a stream, oldest first."""
    found = []
    for path in sorted(home.compacted(stream).glob("*.json")):
        said = _said(path)
        if said is not None:
            parts = {f"{home.path}/{part}": first for part, first in said["parts"].items()}
            found.append(Compacted(path, said["page"], said["high"], parts))
    return found


def put_together(home: Home, stream: str, files: Sequence[Small]) -> Compacted | None:
    """Write the row groups of small files as one file with its index; None if one has no rows.

    The small files stay. `remove_small` lets them go.
    """
    last = files[-1]
    folder = home.compacted(stream)
    folder.mkdir(parents=True, exist_ok=True)
    serial = 0
    while any(folder.glob(f"{number_name(last.page, '')}-{serial:04d}.*")):
        serial += 1
    # Whatever dies here leaves a file without an index, which `mend` takes away.
    index = folder / f"{number_name(last.page, '')}-{serial:04d}.json"
    partial = index.with_name(f".{index.stem}.tmp")
    parts: dict[str, int] = {}
    groups = 0
    with pq.ParquetWriter(
        partial, schema_of(last.path), compression="zstd", write_page_checksum=True
    ) as writer:
        for small in files:
            parts[small.path.removeprefix(f"{home.path}/")] = groups
            with reading_arrow(Path(small.path), f"a file of rows of stream {stream!r}"):
                file = pq.ParquetFile(small.path)
                for number in range(file.metadata.num_row_groups):
                    table = file.read_row_group(number, use_threads=False)
                    writer.write_table(table, row_group_size=max(table.num_rows, 1))
                groups += file.metadata.num_row_groups
    if pq.read_metadata(partial).num_row_groups != groups:
        partial.unlink()
        return None
    with partial.open("rb") as written:
        os.fsync(written.fileno())
    partial.replace(index.with_suffix(".parquet"))
    sync_directory(folder)
    high = max(small.high for small in files)
    write_json(index, {"page": last.page, "high": high, "parts": parts})
    sync_directory(folder)
    return Compacted(index, last.page, high, {small.path: 0 for small in files})


def remove_small(home: Home, files: Sequence[str]) -> None:
    """Let small files go that an index on the disk knows, and what only stood beside them."""
    folders = set()
    for name in files:
        path = Path(name)
        path.unlink(missing_ok=True)
        folders.add(path.parent)
    for folder in folders:
        if folder.is_relative_to(home.root) and len(folder.relative_to(home.root).parts) > 2:
            _sweep(folder)


def _sweep(folder: Path) -> None:
    """Empty the folder of a push whose data is elsewhere; the folder says that it was written."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    # Where a landing goes on stands in the manifest of a batch.
    if MANIFEST not in names and all(name.startswith(("_", ".")) for name in names):
        for name in names:
            (folder / name).unlink(missing_ok=True)


def schema_of(path: str) -> pa.Schema:
    """Columns of a file as they are read, without what its writer noted."""
    with reading_arrow(Path(path), "a file of rows"):
        return pq.ParquetFile(path).schema_arrow.remove_metadata()


def mend(home: Home, stream: str) -> None:
    """Finish what a crash cut short: files that an index knows go, and rows that none knows.

    Those are set aside: where the index was lost and no crash came, they are all there is.
    """
    folder = home.compacted(stream)
    for path in folder.glob("*.parquet"):
        if path.name[0] == "." or not path.with_suffix(".json").exists():
            aside = home.root / ASIDE / path.relative_to(home.root)
            aside.parent.mkdir(parents=True, exist_ok=True)
            path.replace(aside)
    for partial in folder.glob(".*.tmp"):
        partial.unlink()
    known = (path for file in compacted(home, stream) for path in file.parts)
    remove_small(home, [path for path in known if os.path.exists(path)])  # noqa: PTH110


def open_segment(segment: Segment, words: Sequence[str]) -> tuple[pq.ParquetFile, Segment]:
    """The file that holds a segment's rows now, and the segment in terms of that file."""
    try:
        return _opened(segment.path, words, None), segment
    except OSError:
        moved = _moved(segment)
        if moved is None:
            raise
        return _opened(moved.path, words, _footer(moved.path)), moved


def _opened(path: str, words: Sequence[str], footer: pq.FileMetaData | None) -> pq.ParquetFile:
    return pq.ParquetFile(path, read_dictionary=list(words), memory_map=True, metadata=footer)


def _footer(path: str) -> pq.FileMetaData:
    """A footer with many row groups takes a while to read, and all of its segments need it."""
    stamp = _stamp(path)
    found = _FOOTERS.get(stamp)
    if found is None:
        found = _FOOTERS[stamp] = pq.read_metadata(path)
        while len(_FOOTERS) > FOOTERS_REMEMBERED:
            _FOOTERS.popitem(last=False)
    return found


def _stamp(path: str) -> _Stamp:
    found = os.stat(path)  # noqa: PTH116
    return path, found.st_mtime_ns, found.st_ino


def _moved(segment: Segment) -> Segment | None:
    """A segment whose file was compacted, by its new file and row groups."""
    for root in _roots(segment):
        key = str(Path(segment.path).relative_to(root))
        for index in sorted((root / "compacted" / segment.stream).glob("*.json"), reverse=True):
            first = _parts(index).get(key)
            if first is not None:
                start, stop = segment.groups
                path = str(index.with_suffix(".parquet"))
                return replace(segment, path=path, groups=(start + first, stop + first))
    return None


def _roots(segment: Segment) -> Iterator[Path]:
    """Homes that a segment may belong to, by where it lies."""
    for parent in Path(segment.path).parents:
        if parent.name == segment.stream and parent.parent.name in FOLDERS:
            yield parent.parent.parent


def _parts(index: Path) -> dict[str, int]:
    try:
        stamp = _stamp(str(index))
    except FileNotFoundError:
        return {}
    known = _INDEXES.get(stamp)
    if known is None:
        said = _said(index)
        known = {} if said is None else said["parts"]
        if len(_INDEXES) > INDEXES_REMEMBERED:
            _INDEXES.clear()
        _INDEXES[stamp] = known
    return known


def _said(index: Path) -> dict[str, Any] | None:
    try:
        what = f"the index of rows of stream {index.parent.name!r}"
        with reading(index, what):
            found: dict[str, Any] = read_json(index, what)
            {**found["parts"], "": found["page"] + found["high"]}
            return found
    except FileNotFoundError:
        return None
