"""Rejects: the rows that a stream cannot take, each with its origin and the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

ROW_TEXT_MAX = 2_000
SHOWN_MAX = 80

REJECTS = pa.schema([("origin", pa.string()), ("reason", pa.string()), ("row", pa.string())])


def shown(value: object) -> str:
    """Show a value inside a reason, cut when it is long.

    >>> shown("abc"), len(shown("x" * 500))
    ("'abc'", 83)
    """
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."


def misfit(name: str, value: object, kind: str) -> str:
    """Name a column, a value and the type it should have had.

    >>> misfit("value", "abc", "float")
    "column 'value': 'abc' is not a float"
    """
    article = "an" if kind == "int" else "a"
    return f"column {name!r}: {shown(value)} is not {article} {kind}"


@dataclass(frozen=True)
class Rejects:
    """Dead letters of one file.

    Parameters
    ----------
    rows
        Columns `origin` ("path:line", "path:row" or "path"), `reason`, and `row`: the raw line, or
        the row as JSON text, of at most 2,000 characters.

    Examples
    --------
    >>> rejects = Rejects.of("a.csv", [(3, "2 fields where 3 are expected", "x,y")])
    >>> rejects.rows["origin"].to_pylist(), len(rejects)
    (['a.csv:3'], 1)
    """

    rows: pa.Table

    @classmethod
    def of(cls, path: str, entries: Iterable[tuple[int, str, str]]) -> Rejects:
        """Gather (place, reason, row) entries; a place is a line or row number that starts at 1."""
        ordered = sorted(entries, key=lambda entry: entry[0])
        return cls._from_columns(
            [f"{path}:{place}" for place, _, _ in ordered],
            [reason for _, reason, _ in ordered],
            [row for _, _, row in ordered],
        )

    @classmethod
    def whole(cls, path: str, reason: str, row: str = "") -> Rejects:
        """Reject a file as a whole."""
        return cls._from_columns([path], [reason], [row])

    @classmethod
    def _from_columns(cls, origins: list[str], reasons: list[str], rows: list[str]) -> Rejects:
        cut = [_printable(row[:ROW_TEXT_MAX]) for row in rows]
        columns = [origins, [_printable(reason) for reason in reasons], cut]
        return cls(pa.table([pa.array(column, pa.string()) for column in columns], schema=REJECTS))

    def __len__(self) -> int:
        return int(self.rows.num_rows)


def _printable(text: str) -> str:
    """Arrow refuses lone surrogates, which JSON escapes can produce."""
    return text.encode("utf-8", "replace").decode("utf-8")
