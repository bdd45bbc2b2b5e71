"""Files on their way into a page: how they are read, and what is said of those left out."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Page, Segment
from streamgauge.plan.registry import Registry
from streamgauge.sources.footer import Footer
from streamgauge.sources.parse import file_format, list_files, parse_file
from streamgauge.sources.settle import Parsed, strays
from streamgauge.sources.table import KINDS
from streamgauge.sources.widen import wider_columns
from streamgauge.streams.stream import Stream

LOG = logging.getLogger(__name__)
# Two changes of a folder within this time may have the same stamp.
SETTLED_NS = 2_000_000_000
# The lander's own letters begin with the number of their page.
_LETTERS = re.compile(r"[a-z].*\.parquet$")


@dataclass(slots=True)
class Draft:
    """A page in the making."""

    number: int
    landed_at: Instant
    segments: list[Segment] = field(default_factory=list)
    taken: dict[str, list[str]] = field(default_factory=dict)
    dead: int = 0
    unusable: dict[str, dict[int, int]] = field(default_factory=dict)
    widened: list[dict[str, Any]] = field(default_factory=list)


class Buried:
    """Files of dead letters that others write, listed when their folder has changed."""

    def __init__(self) -> None:
        # The change of each folder after which nothing new lay there.
        self._known: dict[Path, int] = {}

    def new(self, folder: Path, taken: Collection[str]) -> list[str]:
        """Paths of files that are not among those taken, in the order of their names."""
        try:
            changed = folder.stat().st_mtime_ns
        except FileNotFoundError:
            return []
        if self._known.get(folder) == changed:
            return []
        with os.scandir(folder) as entries:
            names = [entry.path for entry in entries if _LETTERS.match(entry.name)]
        found = sorted(path for path in names if path not in taken)
        if not found and time.time_ns() - changed > SETTLED_NS:
            self._known[folder] = changed
        return found


def report(page: Page) -> None:
    """Say in the log what could not be used."""
    for name, counts in page.unusable.items():
        rows = sum(n for _, n in counts)
        LOG.warning(
            "stream %s: %d rows could not be used in epoch %d; see streamgauge dead-letters %s",
            *(name, rows, page.number, name),
        )


def as_written(stream: Stream) -> Stream:
    """The stream as its files are: what was parsed before it was written is in microseconds."""
    source = stream.source_dict()
    if not KINDS[source["kind"]].parsed or "time_unit" not in source:
        return stream
    return replace(stream, source=tuple({**source, "time_unit": "us"}.items()))


def has_strays(path: str, stream: Stream, footer: Footer) -> bool:
    """Whether rows of a file would make nearly all rows after them late."""
    if stream.future is None or footer.rows == 0 or footer.high is None or footer.low is None:
        return False
    if footer.high - footer.low <= stream.future:
        return False
    times = as_instants(pq.read_table(path, columns=[stream.time])[stream.time])
    return len(strays(times, stream.future)) > 0


def source_directory(home: Home, stream: Stream) -> str:
    """Directory that a stream's files appear in, or its one file."""
    source = stream.source_dict()
    return str(source["path"] if "path" in source else home.incoming(stream.name))


def source_files(home: Home, stream: Stream) -> set[str]:
    """All files that a stream has now."""
    directory = source_directory(home, stream)
    if not Path(directory).exists():
        return set()
    source = stream.source_dict()
    return set(list_files(directory, file_format(source), source.get("within")))


def read_wide(
    registry: Registry, stream: Stream, origin: str, draft: Draft
) -> tuple[Stream, Parsed]:
    """Read a file after the columns that it needs as float were widened."""
    parsed = parse_file(origin, stream, arrived=draft.landed_at)
    wanted = wider_columns(origin, stream, parsed, arrived=draft.landed_at)
    why = {name: registry.kept_whole(stream.name, name) for name in wanted}
    columns = [name for name in wanted if why[name] is None]
    for name in why.keys() - set(columns):
        LOG.warning("stream %s: column %s stays int: %s", stream.name, name, why[name])
    if not columns:
        return stream, parsed
    change = {"do": "widen", "stream": stream.name, "columns": columns}
    registry.apply([change], epoch=draft.number)
    draft.widened.append(change)
    stream = registry.streams[stream.name]
    LOG.info("stream %s: now float instead of int: %s", stream.name, ", ".join(columns))
    return stream, parse_file(origin, stream, arrived=draft.landed_at)
