"""Learning the columns of a source that was declared without them."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.kernel.loading import load
from streamgauge.sources.declare import Source
from streamgauge.sources.directory import first_times
from streamgauge.sources.table import KINDS
from streamgauge.sources.units import refuse_unit
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream


def schema_of(source: Source) -> Schema:
    """The columns of a source: from its first file, its kind or its DataFrame."""
    found: Schema = load(KINDS[source.kind].columns)(source)
    return found


def as_learned(stream: Stream, known: Stream | None) -> Stream:
    """A stream that was declared without columns; what is known of it already stays."""
    if not KINDS[stream.source_dict()["kind"]].learns:
        return stream
    if known is None or not known.learned:
        return replace(stream, learned=True)
    return replace(stream, schema=known.schema, learned=True, widened=known.widened)


def check_first_times(name: str, source: Source, time: str, schema: Schema) -> None:
    """Raise when the first file of a stream has whole times of another unit than microseconds."""
    if not KINDS[source.kind].learns or "time_unit" in source.options:
        return
    if time in schema.names and (found := first_times(source.options, time)) is not None:
        refuse_unit(name, time, *found)
