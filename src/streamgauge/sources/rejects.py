"""Rejects: the rows that a stream cannot take, each with its origin and the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

ROW_TEXT_MAX = 2_000
SHOWN_MAX = 80

REJECTS = pa.schema(
    [
        ("origin", pa.string()),
        ("reason", pa.string()),
        ("row", pa.string()),
        ("at", pa.int64()),
        ("rows", pa.int64()),
    ]
)
KEPT = "the row is kept with a null"


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
        the row as JSON text, of at most 2,000 characters. `at` is the event time of the row, or the
        newest before it where its own cannot be read, in microseconds; null where there is none.
        `rows` says how many rows were left out: 0 when the row is kept.

    Examples
    --------
    >>> rejects = Rejects.of("a.csv", [(3, "2 fields where 3 are expected", "x,y")])
    >>> rejects.rows["origin"].to_pylist(), len(rejects)
    (['a.csv:3'], 1)
    """

    rows: pa.Table

    @classmethod
    def of(
        cls,
        path: str,
        entries: Iterable[tuple[int, str, str]],
        times: Mapping[int, int] | None = None,
        kept: Collection[int] = (),
    ) -> Rejects:
        """Gather (place, reason, row) entries; a place is a line or row number that starts at 1.

        `times` are event times by place; rows at the places in `kept` stay in use.
        """
        ordered = sorted(entries, key=lambda entry: entry[0])
        known = times or {}
        return cls._from_columns(
            [f"{path}:{place}" for place, _, _ in ordered],
            [reason for _, reason, _ in ordered],
            [row for _, _, row in ordered],
            [known.get(place) for place, _, _ in ordered],
            [0 if place in kept else 1 for place, _, _ in ordered],
        )

    @classmethod
    def whole(cls, path: str, reason: str, row: str = "", rows: int = 1) -> Rejects:
        """Reject a file as a whole; `rows` is how many it has, 1 where that cannot be known."""
        return cls._from_columns([path], [reason], [row], [None], [max(rows, 1)])

    @classmethod
    def _from_columns(
        cls,
        origins: list[str],
        reasons: list[str],
        rows: list[str],
        times: list[int | None],
        counts: list[int],
    ) -> Rejects:
        cut = [_printable(row[:ROW_TEXT_MAX]) for row in rows]
        texts = [origins, [_printable(reason) for reason in reasons], cut]
        columns = [pa.array(column, pa.string()) for column in texts]
        columns += [pa.array(times, pa.int64()), pa.array(counts, pa.int64())]
        return cls(pa.table(columns, schema=REJECTS))

    def __len__(self) -> int:
        return int(self.rows.num_rows)


def _printable(text: str) -> str:
    """Arrow refuses lone surrogates, which JSON escapes can produce."""
    return text.encode("utf-8", "replace").decode("utf-8")
