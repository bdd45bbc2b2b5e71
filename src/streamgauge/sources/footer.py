"""Footer: what a parquet file tells of itself before a row is read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streamgauge.kernel.time import DAY, MICROSECOND, MILLISECOND, Instant
from streamgauge.sources.draft import Refused
from streamgauge.sources.parquet import DAMAGE, damaged, missing_column, open_parquet
from streamgauge.sources.units import likely_unit, time_unit
from streamgauge.streams.stream import Stream

# The years 1 to 9999, which is what can be written as a date.
INSTANT_MIN: Instant = -62_135_596_800_000_000
INSTANT_MAX: Instant = 253_402_300_799_999_999

_STEPS = {"milliseconds": MILLISECOND, "microseconds": MICROSECOND}
_NANOSECONDS = 1_000


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one row group and the least and greatest time in it, in microseconds."""

    rows: int
    low: Instant
    high: Instant


@dataclass(frozen=True, slots=True)
class Footer:
    """What a parquet file says of itself before a row is read.

    Parameters
    ----------
    rows
        Rows in the file.
    groups
        Its row groups in order; empty when the statistics do not tell the times.
    clean
        Every row can be taken as it lies there: types fit, no time and no key is null, no float
        is infinite. A footer says nothing of NaN, so whoever reads the columns in place takes NaN
        for null; nor does it know when the file arrived, so `high` is to be held against that.
    why
        What keeps the file from being clean.

    Examples
    --------
    >>> Footer(2, (RowGroup(2, 0, 1_000_000),), clean=True).high
    1000000
    """

    rows: int
    groups: tuple[RowGroup, ...]
    clean: bool
    why: str = ""

    @property
    def low(self) -> Instant | None:
        """Least time, when known."""
        return min((group.low for group in self.groups), default=None)

    @property
    def high(self) -> Instant | None:
        """Greatest time, when known."""
        return max((group.high for group in self.groups), default=None)


def inspect_parquet(path: str, stream: Stream) -> Footer | None:
    """Judge a parquet file by its footer; None when the footer cannot be read.

    A file that the disk or its permissions keep from us raises SourceFailure instead: that is
    trouble with the source, not with the file.
    """
    file = open_parquet(path)
    if isinstance(file, Refused):
        return None
    try:
        with file:
            return _judged(file.metadata, file.schema_arrow, stream)
    except DAMAGE as error:
        damaged(path, error)
        return None


def _judged(metadata: Any, arrow: pa.Schema, stream: Stream) -> Footer:
    why = missing_column(arrow, stream) or _unfit(arrow, stream)
    if why is not None:
        return Footer(metadata.num_rows, (), clean=False, why=why)
    leaves = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    groups: list[RowGroup] = []
    for number in range(metadata.num_row_groups):
        group = _Group(metadata, number, leaves)
        times = group.times(stream.time)
        if times is None:
            why = f"row group {number} has no statistics of {stream.time!r}"
            return Footer(metadata.num_rows, (), clean=False, why=why)
        groups.append(RowGroup(group.rows, *times))
        why = why or group.suspect(stream, times)
        whole = pa.types.is_integer(arrow.field(stream.time).type)
        if whole and "time_unit" not in stream.source_dict() and likely_unit(*times):
            why = why or f"column {stream.time!r} may not be microseconds"
    return Footer(metadata.num_rows, tuple(groups), clean=why is None, why=why or "")


def _unfit(arrow: pa.Schema, stream: Stream) -> str | None:
    scaled = time_unit(stream.source_dict()) != MICROSECOND
    for name, kind in stream.schema.columns:
        found = arrow.field(name).type
        whole = name in stream.widened and pa.types.is_integer(found)
        if whole or not _fits(found, kind) or (kind == "int" and name == stream.time and scaled):
            return f"column {name!r} is {found} and has to be cast to {kind}"
    return None


def _fits(found: pa.DataType, kind: str) -> bool:
    if pa.types.is_dictionary(found):
        return kind == "string" and _fits(found.value_type, kind)
    if kind == "string":
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    if kind == "time":
        return bool(pa.types.is_timestamp(found) or pa.types.is_date32(found))
    if kind == "bool":
        return bool(pa.types.is_boolean(found))
    if kind == "float" and (pa.types.is_floating(found) or pa.types.is_decimal(found)):
        return True
    return bool(pa.types.is_integer(found)) and (kind == "float" or found != pa.uint64())


class _Group:
    """Statistics of one row group, by column name."""

    def __init__(self, metadata: Any, number: int, leaves: dict[str, int]) -> None:
        self._group = metadata.row_group(number)
        self._schema = metadata.schema
        self._leaves = leaves
        self.rows: int = self._group.num_rows

    def times(self, name: str) -> tuple[Instant, Instant] | None:
        statistics = self._group.column(self._leaves[name]).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        logical = json.loads(self._schema.column(self._leaves[name]).logical_type.to_json())
        if logical["Type"] not in ("Date", "Timestamp"):
            return statistics.min, statistics.max
        low, high = statistics.min_raw, statistics.max_raw
        if logical["Type"] == "Date":
            return low * DAY, high * DAY
        if logical["timeUnit"] == "nanoseconds":
            return _microseconds(low), _microseconds(high)
        step = _STEPS[logical["timeUnit"]]
        return low * step, high * step

    def suspect(self, stream: Stream, times: tuple[Instant, Instant]) -> str | None:
        """Say what in this group needs a look at its rows."""
        if times[0] < INSTANT_MIN or times[1] > INSTANT_MAX:
            return f"column {stream.time!r} has times outside the years 1 to 9999"
        for name in (stream.time, *stream.key):
            if self._nulls(name) != 0:
                return f"column {name!r} has nulls, or does not say that it has none"
        for name, kind in stream.schema.columns:
            if kind == "float" and self._unbounded(name):
                return f"column {name!r} has infinite values, or does not say that it has none"
        return None

    def _nulls(self, name: str) -> int | None:
        leaf = self._leaves[name]
        if self._schema.column(leaf).max_definition_level == 0:
            return 0
        statistics = self._group.column(leaf).statistics
        known = statistics is not None and statistics.has_null_count
        return int(statistics.null_count) if known else None

    def _unbounded(self, name: str) -> bool:
        chunk = self._group.column(self._leaves[name])
        if chunk.physical_type not in ("DOUBLE", "FLOAT"):
            return chunk.physical_type == "FIXED_LEN_BYTE_ARRAY" and self._half(name)
        statistics = chunk.statistics
        if statistics is not None and statistics.has_min_max:
            return math.isinf(statistics.min) or math.isinf(statistics.max)
        return self._nulls(name) != self.rows

    def _half(self, name: str) -> bool:
        logical = json.loads(self._schema.column(self._leaves[name]).logical_type.to_json())
        return bool(logical["Type"] == "Float16")


def _microseconds(nanoseconds: int) -> Instant:
    """Towards zero, as the cast of the values goes."""
    whole = abs(nanoseconds) // _NANOSECONDS
    return whole if nanoseconds >= 0 else -whole
