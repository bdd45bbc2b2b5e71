"""Schema: the typed columns of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streamgauge.kernel.errors import BindError

TYPES: dict[str, pa.DataType] = {
    "float": pa.float64(),
    "int": pa.int64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
}


def type_name(arrow: pa.DataType) -> str | None:
    """Name the column type that an Arrow type lands as, or None when there is none."""
    if pa.types.is_dictionary(arrow):
        return type_name(arrow.value_type)
    if pa.types.is_boolean(arrow):
        return "bool"
    if pa.types.is_integer(arrow):
        return "int"
    if pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return "float"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if any(is_text(arrow) for is_text in texts):
        return "string"
    if pa.types.is_timestamp(arrow) or pa.types.is_date(arrow):
        return "time"
    return None


@dataclass(frozen=True, slots=True)
class Schema:
    """Column names with their types: float, int, string, bool or time.

    Examples
    --------
    >>> schema = Schema.of(series="string", ts="time", value="float")
    >>> schema.names, schema.type("value"), schema.numeric("series")
    (('series', 'ts', 'value'), 'float', False)
    """

    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, **columns: str) -> Schema:
        """Build a schema from keyword arguments, in their order."""
        for name, kind in columns.items():
            if kind not in TYPES:
                raise BindError(
                    f"unknown column type {kind!r} for column {name!r}",
                    f"types are {', '.join(TYPES)}",
                    f"write {name}='float', for example",
                )
        return cls(tuple(columns.items()))

    @classmethod
    def from_arrow(cls, schema: pa.Schema) -> Schema:
        """Keep the columns whose type has a name here; nested ones are left out."""
        pairs = ((field.name, type_name(field.type)) for field in schema)
        return cls(tuple((name, kind) for name, kind in pairs if kind is not None))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(name for name, _ in self.columns)

    def type(self, name: str) -> str:
        """Type of a column, or a BindError that lists what there is."""
        for column, kind in self.columns:
            if column == name:
                return kind
        raise BindError(
            f"unknown column {name!r}",
            f"the stream has {', '.join(self.names)}",
            "check the spelling, or declare the column in the stream's schema",
        )

    def numeric(self, name: str) -> bool:
        """Whether sums and averages make sense on a column."""
        return self.type(name) in ("float", "int")

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema that landed segments have."""
        return pa.schema([(name, TYPES[kind]) for name, kind in self.columns])

    def as_dict(self) -> dict[str, Any]:
        """JSON form: an ordered mapping of name to type."""
        return dict(self.columns)
