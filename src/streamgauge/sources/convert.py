"""Convert: a column as a file has it, to the type its stream declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.kernel.time import MICROSECOND, Duration
from streamgauge.sources.salvage import salvage
from streamgauge.streams.schema import TYPES

Cast: TypeAlias = Callable[[pa.ChunkedArray], pa.ChunkedArray]

_WHOLE = r"^[+-]?[0-9]+$"
_ZONED = r"[0-9](Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
# A date alone ends like a zone: 2026-01-31 is no time at offset -31.
_DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_LONG_FRACTION = r"(\.[0-9]{6})[0-9]+"
_UTC = TYPES["time"]
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
_CLOCK = r"([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]*)?)?)?)?"
# At least what Arrow reads as each kind; text of another shape need not be tried.
_SHAPES = {
    "float": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:nan|inf|infinity)",
    "int": r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)",
    "bool": r"(?i:true|false|0|1)",
    "time": rf"[+-]?[0-9]+|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{_CLOCK}{_ZONE}",
    "string": r"(?s:.*)",
}


def textual(arrow: pa.DataType) -> bool:
    """Whether values of a type are text, or bytes that may be."""
    return bool(
        pa.types.is_string(arrow)
        or pa.types.is_large_string(arrow)
        or pa.types.is_string_view(arrow)
        or pa.types.is_binary(arrow)
        or pa.types.is_large_binary(arrow)
    )


def caster(source: pa.DataType, kind: str, *, unit: Duration, clock: bool) -> Cast | None:
    """Choose the cast from a file's type to a stream's, or None when there is none.

    Parameters
    ----------
    source
        Type in the file.
    kind
        Declared type: float, int, string, bool or time.
    unit
        Microseconds in one step of a whole number that is a time.
    clock
        The column is the stream's event time: whole numbers in it are times too.
    """
    if pa.types.is_dictionary(source):
        inner = caster(source.value_type, kind, unit=unit, clock=clock)
        return None if inner is None else lambda column: inner(column.cast(source.value_type))
    if pa.types.is_null(source):
        return lambda column: column.cast(TYPES[kind])
    if textual(source):
        return _text_cast(kind, unit if clock or kind == "time" else MICROSECOND)
    if kind == "float" and (_numeric(source) or pa.types.is_decimal(source)):
        # Whole numbers past 2**53 round, as they do when the same digits are read from text.
        return lambda column: column.cast(TYPES["float"], safe=False)
    if kind == "bool" and pa.types.is_boolean(source):
        return lambda column: column
    if kind == "time" or (kind == "int" and clock):
        return _time_cast(source, kind, unit)
    if kind == "int" and (_numeric(source) or pa.types.is_decimal(source)):
        return lambda column: column.cast(TYPES["int"])
    return None


def convert(
    column: pa.ChunkedArray, cast: Cast, kind: str
) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
    """Cast a column; values that cannot be cast become null and their positions are told."""
    try:
        return cast(column), np.array([], dtype=np.int64)
    except pa.ArrowInvalid:
        lost = _uncastable(column, cast, kind)
    sound = np.ones(len(column), dtype=bool)
    sound[lost] = False
    return cast(pc.if_else(pa.array(sound), column, pa.scalar(None, column.type))), lost


def _uncastable(column: pa.ChunkedArray, cast: Cast, kind: str) -> NDArray[np.int64]:
    """Positions of bad values. Each distinct value is tried once: junk such as N/A repeats."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    coded = column.combine_chunks().dictionary_encode()
    hopeful = _hopeful(coded.dictionary, kind)
    values = pa.chunked_array([coded.dictionary.take(hopeful)])

    def attempt(first: int, stop: int) -> bool | None:
        try:
            cast(values.slice(first, stop - first))
        except pa.ArrowInvalid:
            return None
        return True

    # Nulls have no code; the place after the last value stands for them.
    sound = np.zeros(len(coded.dictionary) + 1, dtype=bool)
    sound[hopeful] = sound[-1] = True
    sound[hopeful[salvage(len(hopeful), attempt).lost]] = False
    codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy()
    chosen: NDArray[np.int64] = np.flatnonzero(~sound[codes])
    return chosen


def _hopeful(values: pa.Array, kind: str) -> NDArray[np.int64]:
    """Positions of the values that have the shape of their kind."""
    if not pa.types.is_string(values.type):
        return np.arange(len(values))
    shape = rf"^[\t-\r ]*({_SHAPES[kind]})?[\t-\r ]*$"
    chosen: NDArray[np.int64] = np.flatnonzero(
        pc.match_substring_regex(values, shape).to_numpy(zero_copy_only=False)
    )
    return chosen


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Python values fit for a message or JSON text."""
    if pa.types.is_timestamp(column.type):
        # Through UTC: zones need not be known to this machine, nor nanoseconds to datetime.
        column = column.cast(pa.timestamp(column.type.unit, tz="UTC")).cast(pa.string())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if textual(column.type):
        column = column.cast(pa.binary())
    values = column.to_pylist()
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]


def _numeric(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow) or pa.types.is_floating(arrow))


def _time_cast(source: pa.DataType, kind: str, unit: Duration) -> Cast | None:
    target = TYPES[kind]
    if pa.types.is_timestamp(source) and source.unit == "ns":
        return lambda column: column.cast(_UTC, safe=False).cast(target)
    if pa.types.is_timestamp(source) or pa.types.is_date(source):
        return lambda column: column.cast(_UTC).cast(target)
    if pa.types.is_integer(source):
        return lambda column: _scaled(column, unit).cast(target)
    return None


def _scaled(column: pa.ChunkedArray, unit: Duration) -> pa.ChunkedArray:
    return pc.multiply_checked(column.cast(pa.int64()), pa.scalar(unit, pa.int64()))


def _text_cast(kind: str, unit: Duration) -> Cast:
    if kind == "string":
        return _checked
    if kind == "time":
        return lambda column: _text_to_time(_trimmed(column), unit)
    if kind == "int" and unit != MICROSECOND:
        return lambda column: _scaled(_trimmed(column), unit)
    return lambda column: _trimmed(column).cast(TYPES[kind])


def _checked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that is UTF-8. Only a cast from bytes looks; a file may call anything a string."""
    return column.cast(pa.binary()).cast(pa.string())


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without blanks around it; nothing but blanks is null."""
    text = pc.ascii_trim_whitespace(_checked(column))
    empty = pc.equal(pc.binary_length(text), 0)
    return pc.if_else(empty, None, text) if pc.any(empty).as_py() else text


def _text_to_time(text: pa.ChunkedArray, unit: Duration) -> pa.ChunkedArray:
    """ISO 8601 with or without a zone, and whole numbers, mixed as they come."""
    if pc.any(pc.match_substring_regex(text, _LONG_FRACTION)).as_py():
        text = pc.replace_substring_regex(text, _LONG_FRACTION, r"\1")
    whole = pc.match_substring_regex(text, _WHOLE)
    dated = pc.match_substring_regex(text, _DATED)
    zoned = pc.and_not(pc.match_substring_regex(text, _ZONED), pc.or_(whole, dated))
    local = pc.invert(pc.or_(whole, zoned))
    parts = [
        _where(whole, text, lambda part: _scaled(part, unit).cast(_UTC)),
        _where(zoned, text, lambda part: part.cast(_UTC)),
        _where(local, text, lambda part: part.cast(pa.timestamp("us")).cast(_UTC)),
    ]
    present = [part for part in parts if part is not None]
    return pc.coalesce(*present) if present else text.cast(_UTC)


def _where(mask: pa.ChunkedArray, text: pa.ChunkedArray, cast: Cast) -> pa.ChunkedArray | None:
    if not pc.any(mask).as_py():
        return None
    return cast(text if pc.all(mask).as_py() else pc.if_else(mask, text, None))
