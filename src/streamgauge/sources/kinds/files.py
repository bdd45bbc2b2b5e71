"""Files that appear in a directory."""

from __future__ import annotations

from streamgauge.sources.formats import FORMATS
from streamgauge.sources.source_kind import Address, Given, Option, SourceKind


def _prepared(given: Given) -> Given:
    """Of flows the idle time is theirs; else it is that of the stream."""
    if given.get("format") == "flows":
        return given
    return {name: value for name, value in given.items() if name != "idle"}


SOURCE = SourceKind(
    "files",
    made="streamgauge.sources.declare:files",
    text="Files of a directory, or one file.",
    columns="streamgauge.sources.columns:of_files",
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
