"""Casts: values of one type as values of another; null for a text that does not read as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, duration, instant
from streamgauge.operators.arithmetic import whole
from streamgauge.operators.datum import (
    BOOL,
    FLOAT,
    FORMS,
    INT,
    STRING,
    Datum,
    finite,
    nothing,
    split,
    spread,
    to_float,
    truly,
    unite,
)

Convert: TypeAlias = Callable[[pa.Array], pa.Array]
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]+$"
_LONGEST = "9223372036854775807", "9223372036854775808"
_TRUE, _FALSE = ("true", "t", "1"), ("false", "f", "0")


def cast(datum: Datum, kind: str, target: str, rows: int) -> Datum:
    """Values of one type as another; both types have been checked."""
    if kind == target:
        return datum
    if kind == "null":
        return nothing(FORMS[target])
    if (kind, target) in _ALIKE:
        return datum
    return _CASTS[kind, target](spread(datum, rows))


def _float_of_text(text: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(text)
    good = np.asarray(truly(pc.match_substring_regex(trimmed, _NUMBER)))
    floats = np.full(len(text), np.nan)
    words = trimmed.filter(pa.array(good)).to_numpy(zero_copy_only=False)
    floats[good] = words.astype("U").astype(np.float64) if len(words) else 0.0
    return finite(pa.array(floats, FLOAT, from_pandas=True))


def _int_of_text(text: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(text)
    below = pc.starts_with(trimmed, "-")
    digits = pc.utf8_ltrim(pc.utf8_ltrim(trimmed, "+-"), "0")
    length = pc.utf8_length(digits)
    longest = pc.if_else(below, _LONGEST[1], _LONGEST[0])
    fits = pc.or_(
        pc.less(length, 19), pc.and_(pc.equal(length, 19), pc.less_equal(digits, longest))
    )
    good = truly(pc.and_(fits, pc.match_substring_regex(trimmed, _WHOLE)))
    sign = pc.if_else(below, "-", "")
    plain = pc.if_else(pc.equal(digits, ""), "0", pc.binary_join_element_wise(sign, digits, ""))
    return pc.cast(pc.if_else(good, plain, nothing(STRING)), INT)


def _bool_of_text(text: pa.Array) -> pa.Array:
    word = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    true = pc.is_in(word, value_set=pa.array(_TRUE))
    known = pc.is_in(word, value_set=pa.array((*_TRUE, *_FALSE)))
    return pc.if_else(known, true, nothing(BOOL))


def _by_reading(read: Callable[[str], int]) -> Convert:
    """Read each different text once."""

    def convert(text: pa.Array) -> pa.Array:
        coded = pc.dictionary_encode(text)
        values = [_read_or_none(read, word) for word in coded.dictionary.to_pylist()]
        return pa.array(values, INT).take(coded.indices)

    return convert


def _read_or_none(read: Callable[[str], int], word: str) -> int | None:
    try:
        return read(word.strip())
    except BindError:
        return None


def _text_of_float(floats: pa.Array) -> pa.Array:
    # NumPy writes the shortest text that reads back as the same number, as Python does.
    values = np.asarray(pc.fill_null(floats, 0.0)).astype("U32")
    return unite(values.astype(object), np.asarray(floats.is_valid()), STRING)


def _text_of_time(times: pa.Array) -> pa.Array:
    values, known = split(times, len(times))
    instants = values.astype("datetime64[us]")
    seconds = np.datetime_as_string(instants, unit="s")
    text = np.where(values % SECOND == 0, seconds, np.datetime_as_string(instants, unit="us"))
    return unite(np.strings.add(text, "Z").astype(object), known, STRING)


def _not_zero(numbers: pa.Array) -> pa.Array:
    return pc.not_equal(numbers, pa.scalar(0, numbers.type))


def _to(form: pa.DataType) -> Convert:
    return lambda column: pc.cast(column, form)


_ALIKE = {("duration", "int"), ("int", "duration")}
_CASTS: dict[tuple[str, str], Convert] = {
    ("int", "float"): to_float,
    ("bool", "float"): _to(FLOAT),
    ("string", "float"): _float_of_text,
    ("float", "int"): whole,
    ("bool", "int"): _to(INT),
    ("string", "int"): _int_of_text,
    ("int", "string"): _to(STRING),
    ("float", "string"): _text_of_float,
    ("bool", "string"): _to(STRING),
    ("time", "string"): _text_of_time,
    ("int", "bool"): _not_zero,
    ("float", "bool"): _not_zero,
    ("string", "bool"): _bool_of_text,
    ("string", "time"): _by_reading(instant),
    ("string", "duration"): _by_reading(duration),
}
