"""Reader: columns of segments, next to the kernels that need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.files import numbered
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Segment


def read_segment(segment: Segment, columns: Sequence[str], words: Sequence[str]) -> pa.Table:
    """Read some columns of a segment; `words` come dictionary-encoded where they are text."""
    try:
        file = pq.ParquetFile(segment.path, read_dictionary=list(words), memory_map=True)
        groups = list(range(*segment.groups))
        return file.read_row_groups(groups, columns=list(columns), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise SourceFailure(
            f"segment of stream {segment.stream!r} cannot be read any more",
            f"{segment.path}: {error}",
            "put the file back: rows that were acknowledged must stay until their epoch is done",
        ) from error


def history(
    home: Home, stream: str, *, before: int, since: Instant
) -> Iterator[tuple[tuple[int, int], Segment]]:
    """Segments of earlier pages that reach past an instant, in order, each with its place."""
    journal, pages = Journal(home), []
    for number in reversed(numbered(home.journal, ".json")):
        if number < before:
            page = journal.page(number)
            # What has arrived never falls, so no earlier page can reach past the instant.
            reach = page.reach(stream)
            if reach is None or reach < since:
                break
            pages.append(page)
    for page in reversed(pages):
        for serial, segment in enumerate(page.segments):
            if segment.stream == stream and segment.high >= since:
                yield (page.number, serial), segment
