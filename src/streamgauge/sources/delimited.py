"""Delimited text: CSV files, each line one record."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from streamgauge.kernel.errors import BindError
from streamgauge.sources.draft import Draft, Refused, content
from streamgauge.sources.lines import NOT_TEXT, Lines
from streamgauge.sources.salvage import salvage
from streamgauge.streams.stream import Stream

BLOCK_BYTES_MAX = 256 << 20

_TEXT = pa.string()


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written: header line or not, delimiter, texts that stand for null.

    Examples
    --------
    >>> Dialect.of({"kind": "files", "delimiter": ";"})
    Dialect(header=True, delimiter=';', null=())
    """

    header: bool = True
    delimiter: str = ","
    null: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: dict[str, Any]) -> Dialect:
        """Read the options of a source."""
        return cls(
            source.get("header", True), source.get("delimiter", ","), tuple(source.get("null", ()))
        )

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise BindError(
                f"{self.delimiter!r} cannot be a delimiter",
                "a delimiter is one ASCII character, neither a quote nor a line end",
                "write delimiter=';', for example",
            )

    def nulls_of_sample(self) -> pyarrow.csv.ConvertOptions | None:
        """How a sample is read whose types are not known: Arrow's usual nulls, and the declared."""
        if not self.null:
            return None
        usual = pyarrow.csv.ConvertOptions().null_values
        return pyarrow.csv.ConvertOptions(
            null_values=[*usual, *self.null], strings_can_be_null=True
        )

    def names(self, line: str) -> list[str]:
        """Field names in a header line."""
        return [name.strip() for name in next(csv.reader([line], delimiter=self.delimiter))]


@dataclass(frozen=True)
class _Block:
    table: pa.Table
    broken: list[tuple[int, int]]


def read_csv(path: str, stream: Stream) -> Draft | Refused:
    """Read a CSV file as text columns; lines with too few or too many fields are broken.

    Every line is one record: a quoted value may hold the delimiter, not a line end. So a stray
    quote spoils one line and not the rest of the file.
    """
    data = content(path)
    if isinstance(data, Refused):
        return data
    dialect = Dialect.of(stream.source_dict())
    lines = Lines.of(data)
    names = list(stream.schema.names)
    if dialect.header and len(lines):
        try:
            names = dialect.names(lines.text(0))
        except csv.Error as error:
            return Refused(f"the header line cannot be read: {error}", lines.text(0))
        wrong = _misfit(names, stream.schema.names)
        if wrong is not None:
            return Refused(wrong, lines.text(0), len(lines) - 1)
        lines = lines.after(1)
    return _draft(lines, names, stream.schema.names, dialect)


def _misfit(header: list[str], declared: tuple[str, ...]) -> str | None:
    for name in declared:
        count = header.count(name)
        if count != 1:
            fault = "is not in" if count == 0 else "appears more than once in"
            return f"column {name!r} {fault} the header, which has {', '.join(header)}"
    return None


def _draft(every: Lines, names: list[str], declared: tuple[str, ...], dialect: Dialect) -> Draft:
    # Arrow cannot report a broken record that is not UTF-8.
    strange = every.undecodable()
    lines = every.without(strange)
    wanted = {name: f"f{names.index(name)}" for name in declared}

    def attempt(first: int, stop: int) -> _Block | None:
        if stop - first > 1 and lines.size(first, stop) > BLOCK_BYTES_MAX:
            return None
        return _read_block(lines, first, stop, wanted=wanted, n_fields=len(names), dialect=dialect)

    salvaged = salvage(len(lines), attempt)
    taken = np.ones(len(lines), dtype=bool)
    taken[salvaged.lost] = False
    reasons = {int(line): "a quote is not closed" for line in salvaged.lost}
    for first, _, block in salvaged.runs:
        for line, n_fields in block.broken:
            taken[first + line] = False
            reasons[first + line] = f"{n_fields} fields where {len(names)} are expected"
    rows = np.flatnonzero(taken)
    tables = [block.table for _, _, block in salvaged.runs] or [_no_rows(wanted)]
    table = pa.concat_tables(tables)

    def texts(at: NDArray[np.int64]) -> list[str]:
        return [lines.text(int(line)) for line in rows[at]]

    return Draft(
        columns={name: table[field] for name, field in wanted.items()},
        places=lines.numbers[rows],
        texts=texts,
        broken=[
            *every.entries(strange, NOT_TEXT),
            *((int(lines.numbers[at]), why, lines.text(at)) for at, why in reasons.items()),
        ],
    )


def _read_block(
    lines: Lines,
    first: int,
    stop: int,
    *,
    wanted: dict[str, str],
    n_fields: int,
    dialect: Dialect,
) -> _Block | None:
    """Read lines first..stop, or None when the records found are not the lines."""
    # A quote left open on the last line would go unseen; a line of our own after it is swallowed.
    guard = b"\nx" + dialect.delimiter.encode() * (n_fields - 1)
    data = b"".join([lines.block(first, stop), guard])
    broken: list[tuple[int, int]] = []

    def skip(row: Any) -> str:
        broken.append((row.number - 1, row.actual_columns))
        return "skip"

    fields = list(wanted.values())
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            # One block and one thread: only then are the numbers of skipped records known.
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=len(data) + 1,
                column_names=[f"f{i}" for i in range(n_fields)],
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter, invalid_row_handler=skip
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=fields,
                column_types=dict.fromkeys(fields, _TEXT),
                check_utf8=False,
                null_values=["", *dialect.null],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows + len(broken) != stop - first + 1:
        return None
    return _Block(table.slice(0, table.num_rows - 1), broken)


def _no_rows(wanted: dict[str, str]) -> pa.Table:
    return pa.schema([(field, _TEXT) for field in wanted.values()]).empty_table()
