"""JSON lines: one object per line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from streamgauge.sources.draft import Draft, Refused, content
from streamgauge.sources.lines import NOT_TEXT, Lines
from streamgauge.sources.rejects import misfit
from streamgauge.sources.salvage import salvage
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

BLOCK_BYTES_MAX = 256 << 20
# A bad block of so few lines is looked at line by line: a call of Arrow costs like 100 of them.
CLOSE_LINES = 1_024

_OPEN = ord("{")
_TEXT = pa.string()
_READ_AS = {
    "float": pa.float64(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "string": _TEXT,
    "time": _TEXT,
}
_PYTHON: dict[str, tuple[type, ...]] = {
    "float": (int, float, str),
    "int": (int, str),
    "bool": (bool, str),
    "string": (str,),
    "time": (int, str),
}


def read_json_lines(path: str, stream: Stream) -> Draft | Refused:
    """Read a file of JSON lines; lines that are no object of the right types are broken."""
    data = content(path)
    return data if isinstance(data, Refused) else json_draft(Lines.of(data), stream.schema)


def json_draft(every: Lines, schema: Schema, *, noun: str = "line") -> Draft:
    """Read lines as objects; `noun` is what a line is called in the reasons of broken ones."""
    strange = every.undecodable()
    decoded = every.without(strange)
    bare, blank = _strangers(decoded)
    lines = decoded.without(sorted(bare + blank))
    reading = Reading(lines, schema)
    broken = every.entries(strange, NOT_TEXT.replace("line", noun))
    broken += decoded.entries(bare, f"the {noun} is not a JSON object")
    for at in reading.lost:
        line = lines.text(at)
        broken.append((int(lines.numbers[at]), _complaint(line, schema), line))
    rows = reading.rows()

    def texts(at: NDArray[np.int64]) -> list[str]:
        return [lines.text(int(line)) for line in rows[at]]

    return Draft(reading.columns(), lines.numbers[rows], texts, broken)


def _strangers(lines: Lines) -> tuple[list[int], list[int]]:
    """Lines that do not open an object, and lines of blanks.

    They are kept from Arrow: a bare `null` at the front of a block crashes its reader.
    """
    bare, blank = [], []
    for at in np.flatnonzero(lines.leading() != _OPEN).tolist():
        line = bytes(lines.block(at, at + 1)).strip(b" \t")
        if not line:
            blank.append(at)
        elif line[0] != _OPEN:
            bare.append(at)
    return bare, blank


class Reading:
    r"""Lines read as tables, and the lines that no table could take.

    Whole blocks go through Arrow. A block that fails is halved; a short one is looked at line by
    line, and what Arrow may take of it is read again together, by the types the lines show. Arrow
    has the last word on every line, so a line fares the same in any company.

    Examples
    --------
    >>> reading = Reading(Lines.of(b'{"a": 1}\n{"a": []}\n{"a": "3"}'), Schema.of(a="float"))
    >>> reading.rows().tolist(), reading.lost, reading.columns()["a"].to_pylist()
    ([0, 2], [1], ['1', '3'])
    """

    def __init__(self, lines: Lines, schema: Schema) -> None:
        self._lines, self._schema = lines, schema
        self._tables: list[pa.Table] = []
        self._places: list[NDArray[np.int64]] = [np.array([], dtype=np.int64)]
        self.lost: list[int] = []
        self.lost += salvage(len(lines), self._attempt).lost.tolist()

    def rows(self) -> NDArray[np.int64]:
        """Lines that became rows, in order."""
        return np.sort(np.concatenate(self._places))

    def columns(self) -> dict[str, pa.ChunkedArray]:
        """Columns of those rows, of the types they were written in."""
        order = np.argsort(np.concatenate(self._places))
        joined = {name: _joined(self._tables, name) for name in self._schema.names}
        if (np.diff(order) == 1).all():
            return joined
        return {name: column.take(order) for name, column in joined.items()}

    def _attempt(self, first: int, stop: int) -> bool | None:
        if stop - first > 1 and self._lines.size(first, stop) > BLOCK_BYTES_MAX:
            return None
        places, block = np.arange(first, stop), self._lines.block(first, stop)
        for layout in _layouts(self._lines.text(first), self._schema):
            if self._take(places, block, layout):
                return True
        return self._sort_out(first, stop) if 1 < stop - first <= CLOSE_LINES else None

    def _take(
        self, places: NDArray[np.int64], block: bytes | memoryview, layout: pa.Schema
    ) -> bool:
        table = _parsed(block, layout)
        # An object over two lines, or two on one line, would go unseen but for the count.
        if table is None or table.num_rows != len(places):
            return False
        self._tables.append(table)
        self._places.append(places)
        return True

    def _sort_out(self, first: int, stop: int) -> bool:
        names = self._schema.names
        alike: dict[tuple[type, ...], dict[int, str]] = {}
        for at, line in enumerate(self._lines.texts(first, stop), first):
            row = _loaded(line)
            if row is not None:
                alike.setdefault(tuple(map(type, map(row.get, names))), {})[at] = line
            elif not (_readable_by_arrow_only(line) and self._attempt(at, at + 1)):
                self.lost.append(at)
        for lines in alike.values():
            self._take_alike(np.array(list(lines)), list(lines.values()))
        return True

    def _take_alike(self, places: NDArray[np.int64], lines: list[str]) -> None:
        """Read lines whose values have the same types, column by column."""
        example = json.loads(lines[0])
        if _wrong_type(example, self._schema) is not None:
            self.lost += places.tolist()
            return
        layout = _layout(example, self._schema)

        def attempt(first: int, stop: int) -> bool | None:
            block = "\n".join(lines[first:stop]).encode()
            return self._take(places[first:stop], block, layout) or None

        self.lost += places[salvage(len(lines), attempt).lost].tolist()


def _loaded(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _readable_by_arrow_only(line: str) -> bool:
    """Whether Python's refusal may be its own: Arrow knows `Inf`, and nests deeper."""
    return "Inf" in line or "NaN" in line or line.count("{") + line.count("[") > 500


def _layouts(line: str, schema: Schema) -> list[pa.Schema]:
    """Arrow types to read a block with: the first line shows where numbers stand as text."""
    row = _loaded(line)
    if row is None:
        return [_layout({}, schema), _layout(dict.fromkeys(schema.names, 0), schema)]
    return [_layout(row, schema)]


def _layout(row: dict[str, Any], schema: Schema) -> pa.Schema:
    fields = []
    for name, kind in schema.columns:
        value, arrow = row.get(name), _READ_AS[kind]
        if isinstance(value, str):
            arrow = _TEXT
        elif kind == "time" and isinstance(value, int):
            arrow = pa.int64()
        fields.append((name, arrow))
    return pa.schema(fields)


def _parsed(block: bytes | memoryview, layout: pa.Schema) -> pa.Table | None:
    try:
        return pyarrow.json.read_json(
            pa.BufferReader(block),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=layout, unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None


def _wrong_type(row: dict[str, Any], schema: Schema) -> str | None:
    """Complain of the first value whose JSON type does not fit its column."""
    for name, kind in schema.columns:
        value = row.get(name)
        boolean = isinstance(value, bool) and kind != "bool"
        if value is not None and (boolean or not isinstance(value, _PYTHON[kind])):
            return misfit(name, value, kind)
    return None


def _complaint(line: str, schema: Schema) -> str:
    """Why a single line was not taken."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"malformed JSON: {error}"
    for name, kind in schema.columns:
        value = row.get(name)
        if kind in ("int", "time") and isinstance(value, int) and not -(2**63) <= value < 2**63:
            return misfit(name, value, kind)
    return _wrong_type(row, schema) or (
        "malformed JSON: a key that stands twice, a bad escape or a number out of range"
    )


def _joined(tables: list[pa.Table], name: str) -> pa.ChunkedArray:
    """One column over all blocks; as text when blocks differ, which loses no digit."""
    columns = [table[name] for table in tables]
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(_TEXT) for column in columns]
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, type=columns[0].type if columns else _TEXT)
