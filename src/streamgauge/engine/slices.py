"""Slices: the rows of a page cut at row groups, so that many tasks can read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from streamgauge.kernel.time import Instant
from streamgauge.log.dead_letters import report_unusable
from streamgauge.log.home import Home
from streamgauge.log.journal import Page, Segment

# Rows that one task reads.
GOAL = 1 << 19


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive row groups of a segment, and the place of that segment in its page."""

    number: int
    page: int
    serial: int
    segment: Segment

    @property
    def place(self) -> tuple[int, int]:
        """Where the segment is in the journal."""
        return self.page, self.serial


def slices(page: Page) -> list[Slice]:
    """The rows of a page that are read once, in order of arrival."""
    found: list[Slice] = []
    for serial, segment in enumerate(page.segments):
        if segment.stream in page.scans:
            for part in _cut(segment, GOAL):
                found.append(Slice(len(found), page.number, serial, part))
    return found


def report_values(
    home: Home, place: tuple[int, int], segment: Segment, table: pa.Table, columns: Sequence[str]
) -> None:
    """Keep a note of each value that is no number, under names that each reader gives alike."""
    start = 0
    for part in _cut(segment, GOAL):
        rows = table.slice(start, part.rows)
        report_unusable(home, part, (*place, part.groups[0]), rows, columns)
        start += part.rows


def _cut(segment: Segment, goal: int) -> Iterator[Segment]:
    """A segment as segments of about so many rows, each with the peak before it."""
    parts = segment.parts or ((segment.rows, segment.high),)
    start, peak, first = 0, segment.peak, segment.first
    while start < len(parts):
        stop, rows = start, 0
        while stop < len(parts) and (stop == start or rows + parts[stop][0] <= goal):
            rows += parts[stop][0]
            stop += 1
        high: Instant = max(top for _, top in parts[start:stop])
        whole = segment.groups
        if segment.parts:
            whole = whole[0] + start, whole[0] + stop
        yield replace(
            segment, groups=whole, rows=rows, high=high, peak=peak, first=first,
            parts=parts[start:stop],
        )  # fmt: skip
        start, peak, first = stop, max(peak, high), first + rows
