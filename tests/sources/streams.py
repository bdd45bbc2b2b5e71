"""A stream to parse, and small files for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.kernel.time import instant
from streamgauge.sources.parse import Parsed, parse_file
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

NOON = instant("2026-01-31T12:00:00Z")
COLUMNS = {"series": "string", "ts": "time", "value": "float", "n": "int", "ok": "bool"}


def stream(format: str, *, columns: dict[str, str] = COLUMNS, **options: Any) -> Stream:
    """A stream of files; `time`, `key` and `future` are the stream's, the rest the source's."""
    time, key = options.pop("time", "ts"), options.pop("key", ("series",))
    declared = {"future": options.pop("future")} if "future" in options else {}
    source = {"kind": "files", "path": "data", "format": format, **options}
    return Stream("s", Schema.of(**columns), time, key, tuple(source.items()), **declared)


def parse(folder: Path, content: str | bytes, declared: Stream, name: str = "f") -> Parsed:
    """Write a file and parse it as seen at noon."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse_file(str(path), declared, arrived=NOON)


def reasons(parsed: Parsed, folder: Path, name: str = "f") -> dict[str, str]:
    """Place (the part of the origin after the path) to reason."""
    prefix = str(folder / name)
    origins = [origin.removeprefix(prefix) for origin in parsed.rejects["origin"].to_pylist()]
    assert len(set(origins)) == len(origins), "one entry per row in these tests"
    return dict(zip(origins, parsed.rejects["reason"].to_pylist(), strict=True))


def values(parsed: Parsed, column: str = "value") -> list[Any]:
    return list(parsed.table[column].to_pylist())


def instants(parsed: Parsed) -> list[int]:
    return list(parsed.table["ts"].cast(pa.int64()).to_pylist())
