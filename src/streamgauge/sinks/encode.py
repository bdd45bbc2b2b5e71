"""Encode: answers and changes of rows as JSON, column by column.

What comes out is the one JSON shape of `Answer.as_dict` and `RowChange.as_dict`. Each column
becomes a column of texts, and the texts are joined; no row is looked at by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.schema import ANSWERS
from streamgauge.kernel.time import instant_text


def answers_json(table: pa.Table) -> pa.Array:
    """Each answer of a table of the public schema as JSON.

    >>> rows = pa.Table.from_pylist(
    ...     [{"query": "heat", "version": 1, "group": '["oven"]', "value": 3.0, "low": 2.5,
    ...       "high": 3.5, "confidence": 0.95, "as_of": 0, "epoch": 7, "revision": 0,
    ...       "coverage": 1.0, "basis": "kll", "charges": [], "contract_met": True,
    ...       "slope": 0.0, "share": 1.0}], ANSWERS)
    >>> print(answers_json(rows)[0].as_py().decode()[:80])
    {"query":"heat","version":1,"group":["oven"],"value":3.0,"low":2.5,"high":3.5,"c
    """
    fields: dict[str, pa.Array] = {}
    for name in ANSWERS.names:
        column = _whole(table[name])
        if name == "group":
            fields[name] = pc.if_else(pc.equal(column, ""), "[]", column)
        elif name == "as_of":
            fields[name] = instants_json(column)
        elif name == "charges":
            fields[name] = charges_json(column)
        else:
            fields[name] = column_json(column)
    return objects_json(fields)


def rows_json(table: pa.Table) -> pa.Array:
    """Rows of a table as JSON objects of its columns."""
    if not table.num_columns:
        return pa.array([b"{}"] * table.num_rows, pa.binary())
    return objects_json({name: column_json(_whole(table[name])) for name in table.column_names})


def objects_json(fields: dict[str, pa.Array]) -> pa.Array:
    """Objects whose fields are columns of JSON, as bytes."""
    parts: list[Any] = []
    for number, (name, column) in enumerate(fields.items()):
        parts += [("," if number else "{") + json.dumps(name) + ":", column]
    joined = pc.binary_join_element_wise(*parts, "}", "", null_handling="replace")
    return joined.cast(pa.binary())


def column_json(column: pa.Array) -> pa.Array:
    """A column of any type as JSON."""
    kind = column.type
    if pa.types.is_boolean(kind):
        texts = pc.if_else(column, "true", "false")
    elif pa.types.is_integer(kind):
        texts = column.cast(pa.string())
    elif pa.types.is_floating(kind):
        texts = floats_json(column)
    else:
        texts = _by_value(column, _cell)
    return pc.fill_null(texts, "null")


def floats_json(column: pa.Array) -> pa.Array:
    """Numbers as JSON: those that are none or have no bound are null.

    >>> floats_json(pa.array([1.0, 0.1, 1e300, float("inf"), None])).to_pylist()
    ['1.0', '0.1', '1e+300', 'null', 'null']
    """
    column = column.cast(pa.float64())
    texts = pc.if_else(pc.is_finite(column), column, None).cast(pa.string())
    whole = pc.invert(pc.match_substring_regex(texts, "[.e]"))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    return pc.fill_null(texts, "null")


def instants_json(column: pa.Array) -> pa.Array:
    """Instants as JSON.

    >>> instants_json(pa.array([1_500_000], pa.timestamp("us", tz="UTC"))).to_pylist()
    ['"1970-01-01T00:00:01.500000Z"']
    """
    return _by_value(column.cast(pa.int64()), lambda instant: f'"{instant_text(instant)}"')


def charges_json(column: pa.Array) -> pa.Array:
    """Who widened each bar, as JSON."""
    charges = column.flatten()
    if not len(charges):
        return pa.array(["[]"] * len(column), pa.string())
    names = [field.name for field in charges.type]
    parts = {name: column_json(charges.field(name)) for name in names}
    texts = objects_json(parts).cast(pa.string())
    lists = pa.ListArray.from_arrays(_offsets(column), texts)
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")


def _offsets(column: pa.Array) -> pa.Array:
    """Offsets of lists that begin at the first of their values; a slice begins elsewhere."""
    return pc.subtract(column.offsets, column.offsets[0])


def _by_value(column: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    """Texts of values, each different value worked out once; null stays null."""
    if not len(column) or pa.types.is_nested(column.type):
        values = column.to_pylist()
        return pa.array([None if v is None else text(v) for v in values], pa.string())
    coded = column.dictionary_encode()
    texts = pa.array([text(value) for value in coded.dictionary.to_pylist()], pa.string())
    return texts.take(coded.indices)


def _cell(value: Any) -> str:
    """A cell as JSON has it; times as text, as in `RowChange`."""
    # Without a default the encoder is one that is at hand.
    return json.dumps(value) if isinstance(value, str) else json.dumps(value, default=_plain)


def _plain(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    # Older Arrow gives chunks back where there is more than one.
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
