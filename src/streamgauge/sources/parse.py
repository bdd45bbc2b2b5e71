"""Parse: one source file to the clean columns of its stream, and the rows it had to leave out.

The names of this package's other modules that a reader of sources needs are found here too.
"""

from __future__ import annotations

from collections.abc import Callable

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Instant
from streamgauge.sources.access_log import read_access_log
from streamgauge.sources.delimited import read_csv
from streamgauge.sources.directory import file_format, infer_schema, list_files
from streamgauge.sources.draft import Draft, Refused
from streamgauge.sources.footer import Footer, RowGroup, inspect_parquet
from streamgauge.sources.jsonlines import read_json_lines
from streamgauge.sources.packets.read import read_flows, read_packets
from streamgauge.sources.parquet import read_parquet
from streamgauge.sources.rejects import Rejects
from streamgauge.sources.settle import Parsed, settle
from streamgauge.streams.stream import Stream

__all__ = [
    "Footer",
    "Parsed",
    "Rejects",
    "RowGroup",
    "file_format",
    "infer_schema",
    "inspect_parquet",
    "list_files",
    "parse_file",
]

_READERS: dict[str, Callable[[str, Stream], Draft | Refused]] = {
    "parquet": read_parquet,
    "csv": read_csv,
    "jsonl": read_json_lines,
    "pcap": read_packets,
    "flows": read_flows,
    "access_log": read_access_log,
}


def parse_file(path: str, stream: Stream, *, arrived: Instant) -> Parsed:
    """Read one file of a stream.

    Parameters
    ----------
    path
        File, of the format that the stream's source names.
    stream
        Schema, event time, keys and how far ahead a time may be.
    arrived
        When the file was seen.

    Raises
    ------
    SourceFailure
        The file cannot be reached. Damage inside it is not an error: it goes to the rejects.
    """
    draft = _reader(stream)(path, stream)
    settled = draft if isinstance(draft, Refused) else settle(path, draft, stream, arrived)
    if isinstance(settled, Refused):
        nothing = stream.schema.to_arrow().empty_table()
        return Parsed(nothing, Rejects.whole(path, settled.reason, settled.row, settled.rows).rows)
    return settled


def _reader(stream: Stream) -> Callable[[str, Stream], Draft | Refused]:
    name = file_format(stream.source_dict())
    if name not in _READERS:
        raise BindError(
            f"stream {stream.name!r} has files of unknown format {name!r}",
            f"formats are {', '.join(_READERS)}",
            "name one of them in the stream's source",
        )
    return _READERS[name]
