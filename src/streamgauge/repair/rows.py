"""Rows: the files that pages name, compacted files, dead letters, copies of tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.time import Instant
from streamgauge.log.compaction import compacted, open_segment
from streamgauge.log.dead_letters import read_letters
from streamgauge.log.home import Home
from streamgauge.log.journal import Segment
from streamgauge.plan.registry import Registry
from streamgauge.repair.epochs import Epochs
from streamgauge.repair.finding import REMOVE, Notes

_RESTORE = "restore the file from a copy"
Named = list[tuple[int, Segment]]


@dataclass(slots=True)
class Rows:
    """Looks at the rows of a data directory, after its epochs."""

    home: Home
    notes: Notes
    epochs: Epochs

    def look(self) -> None:
        """Look at all of them."""
        registry = self._registry()
        edges = self._edges(registry)
        lost = set()
        for name, named in self.epochs.segments().items():
            if not self._look_at_segments(name, named, edges):
                lost.add(named[-1][1].stream)
        self._look_at_compacted(lost)
        for path in sorted((self.home.root / "dead").glob("*/[!.]*.parquet")):
            means = "the rows that this file tells of were not used, and why is not known any more"
            with self.notes.looking(path, "dead letters", means, advice=_RESTORE):
                read_letters(path)
        for table in registry.tables.values() if registry is not None else ():
            means = f"queries that join table {table.name!r} cannot go on"
            advice = f"{_RESTORE}; or read the table again: CREATE TABLE {table.name} FROM ..."
            path = Path(table.path)
            with self.notes.looking(
                path, f"the copy of table {table.name!r}", means, advice=advice
            ):
                _read_whole(path)

    def _registry(self) -> Registry | None:
        try:
            return registry_at(self.home, self.epochs.last)
        except (StreamgaugeError, OSError, LookupError, ValueError, TypeError):
            # Why is among the findings of the epochs.
            return None

    def _edges(self, registry: Registry | None) -> dict[str, Instant]:
        """The instants that streams keep rows from; none for streams that are gone."""
        newest = self.epochs.pages.get(self.epochs.last)
        if registry is None or newest is None:
            return {}
        streams = registry.streams.items()
        return {n: s.kept_from(newest.peaks[n]) for n, s in streams if n in newest.peaks}

    def _look_at_segments(self, path: str, named: Named, edges: dict[str, Instant]) -> bool:
        """Look at one file of rows; False where it should be there and is not."""
        ours = path.startswith(f"{self.home.path}/")
        stream = named[-1][1].stream
        waits = any(page > self.epochs.committed for page, _ in named)
        kept = stream in edges and any(s.high >= edges[stream] for _, s in named)
        means = (
            "the job cannot go on: these rows are in no answer yet"
            if waits
            else f"queries on {stream!r} that are registered from now on miss these rows, and "
            "epochs with them cannot be computed again"
        )
        what = f"rows of stream {stream!r}"
        if not Path(path).exists():
            try:
                open_segment(named[-1][1], ())
                return True
            except (OSError, StreamgaugeError, pa.ArrowException):
                if waits or (kept and ours):
                    self.notes.seen()
                    self.notes.add(Path(path), what, "it is absent", means, advice=_RESTORE)
                return not (waits or (kept and ours))
        if not (waits or kept):
            means = "nothing, unless epochs with these rows have to be computed again"
        with self.notes.looking(
            Path(path), what, means, advice=_RESTORE, harmless=not (waits or kept)
        ):
            file = _read_whole(Path(path)) if ours else pq.ParquetFile(path)
            groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
            for page, segment in named:
                rows = sum(groups[slice(*segment.groups)])
                if segment.groups[1] > len(groups) or rows != segment.rows:
                    told = f"page {page} says {segment.rows} rows, the file has {rows}"
                    raise ValueError(f"it is not the file that was read: {told}")
        return True

    def _look_at_compacted(self, lost: set[str]) -> None:
        for folder in sorted((self.home.root / "compacted").glob("*")):
            stream = folder.name
            means = f"rows of stream {stream!r} cannot be read by queries that are registered later"
            for index in sorted(folder.glob("[!.]*.json")):
                what = f"where rows of stream {stream!r} lie"
                with self.notes.looking(index, what, means, advice=_RESTORE):
                    compacted(self.home, stream)
            for path in sorted(folder.glob("[!.]*.parquet")):
                what = f"rows of stream {stream!r} put together"
                if path.with_suffix(".json").exists():
                    with self.notes.looking(path, what, means, advice=_RESTORE):
                        _read_whole(path)
                elif stream in lost:
                    self.notes.add(path, what, "its index is absent", means, advice=_RESTORE)
                else:
                    told = "nothing: the files it was made of are there"
                    self.notes.add(
                        path, what, "its index is absent", told, repair=REMOVE, harmless=True
                    )


def _read_whole(path: Path) -> pq.ParquetFile:
    """Read all of a file, with the checksums of its pages where it has some."""
    file = pq.ParquetFile(path, page_checksum_verification=True)
    for number in range(file.num_row_groups):
        file.read_row_group(number, use_threads=False)
    return file
