"""Table: rows stored beside the streams, the same at every instant until read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.time import Duration
from streamgauge.streams.origin import Origin
from streamgauge.streams.schema import Schema


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table.

    Parameters
    ----------
    name
        Name used in queries.
    schema
        Typed columns.
    path
        The copy that the home keeps, a parquet file; a table that is read again has another one.
    origin
        What it was read from, in words; of a file, its path.
    source
        What it was read from, when that is no file.
    rows
        How many rows the copy has; None in homes of earlier releases.
    every
        How often the running job reads the origin again; None for by hand alone.
    epoch
        Since when the rows are these.
    """

    name: str
    schema: Schema
    path: str
    origin: str
    source: Origin | None = None
    rows: int | None = None
    every: Duration | None = None
    epoch: int = 0

    @property
    def read_from(self) -> Origin:
        """Where it is read again."""
        return self.source or Origin("file", self.origin)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        out: dict[str, Any] = {
            "name": self.name,
            "schema": self.schema.as_dict(),
            "path": self.path,
            "origin": self.origin,
        }
        if self.source is not None:
            out["source"] = self.source.as_dict()
        more = {"rows": self.rows, "every": self.every, "epoch": self.epoch or None}
        return out | {key: value for key, value in more.items() if value is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Table:
        """Read the JSON form."""
        source = data.get("source")
        return cls(
            **{
                **data,
                "schema": Schema(tuple(data["schema"].items())),
                "source": None if source is None else Origin.from_dict(source),
            }
        )
