"""Table: rows stored beside the streams, the same at every instant until read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        The file it was read from.
    """

    name: str
    schema: Schema
    path: str
    origin: str

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "schema": self.schema.as_dict(),
            "path": self.path,
            "origin": self.origin,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Table:
        """Read the JSON form."""
        return cls(**{**data, "schema": Schema(tuple(data["schema"].items()))})
