"""Files that appear in a directory."""

from __future__ import annotations

from streamgauge.sources.declare import FORMATS, Source, files
from streamgauge.sources.parse import infer_schema
from streamgauge.sources.source_kind import Address, Given, Option, SourceKind
from streamgauge.streams.schema import Schema

_DIALECT = ("header", "delimiter", "null", "within")


def columns(source: Source) -> Schema:
    """The columns of the first file."""
    dialect = {k: source.options[k] for k in _DIALECT if k in source.options}
    return infer_schema(source.options["path"], source.options["format"], **dialect)


def _prepared(given: Given) -> Given:
    """Of flows the idle time is theirs; else it is that of the stream."""
    if given.get("format") == "flows":
        return given
    return {name: value for name, value in given.items() if name != "idle"}


SOURCE = SourceKind(
    "files",
    made=files,
    text="Files of a directory, or one file.",
    columns="streamgauge.sources.kinds.files:columns",
    how_to="packets_and_logs.md",
    address=Address("path", "rows", local=True),
    options=(
        Option("format", "word", toml="text", known=FORMATS),
        Option("time_unit", "word", toml="raw"),
        Option("header", choices=(("TRUE", True), ("FALSE", False)), toml="raw"),
        Option(
            "delimiter",
            "text",
            toml="raw",
            read=lambda text: "\t" if text == "\\t" else text,
        ),
        Option("null", "texts", toml="raw"),
        Option("idle", "positive", toml="raw"),
    ),
    formats=FORMATS,
    prepared=_prepared,
    learns=True,
)
