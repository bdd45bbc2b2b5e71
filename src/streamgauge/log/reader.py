"""Reader: columns of segments, next to the kernels that need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.files import numbered
from streamgauge.kernel.time import Instant
from streamgauge.log.compaction import open_segment
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Segment


def read_segment(segment: Segment, columns: Sequence[str], words: Sequence[str]) -> pa.Table:
    """Read some columns of a segment; `words` come dictionary-encoded where they are text."""
    try:
        file, found = open_segment(segment, words)
        groups = list(range(*found.groups))
        return file.read_row_groups(groups, columns=list(columns), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise SourceFailure(
            f"segment of stream {segment.stream!r} cannot be read any more",
            f"{segment.path}: {error}",
            "put the file back: rows that were acknowledged must stay until their epoch is done",
        ) from error


def history(
    home: Home, stream: str, *, before: int, since: Instant, allowed: int | None = None
) -> Iterator[tuple[tuple[int, int], Segment]]:
    """Segments of earlier pages that reach past an instant, in order, each with its place.

    With the lateness that is `allowed`, segments count too whose late rows take effect past it.
    """
    journal, pages = Journal(home), []
    for number in reversed(numbered(home.journal, ".json")):
        if number < before:
            page = journal.page(number)
            # What has arrived never falls, so no earlier page can reach past the instant.
            reach = page.reach(stream)
            if reach is not None and allowed is not None:
                reach = max(reach, page.passed.get(stream, reach))
            if reach is None or reach < since:
                break
            pages.append(page)
    for page in reversed(pages):
        for serial, segment in enumerate(page.segments):
            if segment.stream == stream and _reach(segment, allowed) >= since:
                yield (page.number, serial), segment


def _reach(segment: Segment, allowed: int | None) -> Instant:
    """The instant up to which rows of a segment may take effect."""
    if allowed is None:
        return segment.high
    return max(segment.high, segment.peak - allowed, segment.passed or segment.high)
