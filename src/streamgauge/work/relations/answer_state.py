"""State of answers that views read, in the wire format."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.engine.store_state import pack_table, perhaps_delta, unpack_table
from streamgauge.engine.stream_state import pack_stream, unpack_stream
from streamgauge.kernel.wire import Array
from streamgauge.operators.codes import row_codes
from streamgauge.operators.delta import Delta
from streamgauge.operators.upsert import Current, Upserts
from streamgauge.plan.nodes import Numbers, from_json
from streamgauge.work.relations.answer_source import AnswerState, group_values, row_schema

Arrays = dict[str, Array]


def pack_answers(prefix: str, state: AnswerState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of answers that are read; their arrays are added to `arrays`."""
    current, coming = state.current, state.coming
    arrays[f"{prefix}/current/rows"] = pack_table(current.rows)
    arrays[f"{prefix}/current/of"] = current.of
    arrays[f"{prefix}/coming/rows"] = pack_table(coming.rows)
    arrays[f"{prefix}/coming/at"], arrays[f"{prefix}/coming/of"] = coming.at, coming.of
    arrays[f"{prefix}/coming/leaves"] = coming.leaves.astype(np.uint8)
    return {
        "stream": pack_stream(f"{prefix}/stream", state.stream, arrays),
        "seated": state.seated,
        **({"table": state.table} if state.table else {}),
    }


def unpack_answers(
    prefix: str, key: str, values: dict[str, Any], arrays: Arrays, prev: int
) -> AnswerState:
    """Read answers back; `prev` is the instant up to which their view is answered."""
    stream = unpack_stream(f"{prefix}/stream", values["stream"], arrays, 0, 1)
    node = from_json(json.loads(key))
    assert isinstance(node, Numbers), "the key of answers is their node"
    if "groups" in values:
        current, coming = _as_upserts(prefix, node, values, arrays, prev)
    else:
        current = Current(
            unpack_table(arrays[f"{prefix}/current/rows"]), arrays[f"{prefix}/current/of"]
        )
        coming = Upserts(
            unpack_table(arrays[f"{prefix}/coming/rows"]),
            arrays[f"{prefix}/coming/at"],
            arrays[f"{prefix}/coming/of"],
            arrays[f"{prefix}/coming/leaves"].astype(np.bool_),
        )
    return AnswerState(current, coming, stream, values["seated"], values.get("table", ""))


def _as_upserts(
    prefix: str, node: Numbers, values: dict[str, Any], arrays: Arrays, prev: int
) -> tuple[Current, Upserts]:
    """What was kept as changes of rows, with the groups whose newest answer was unmet."""
    schema = row_schema(node)
    none = Delta.none(node.schema.to_arrow())
    there = perhaps_delta(f"{prefix}/rows", arrays) or none
    ahead = perhaps_delta(f"{prefix}/ahead", arrays) or none
    fields = list(node.schema.to_arrow())[:-3]
    unmet = pa.table(group_values(fields, values["unmet"] if fields else ()), pa.schema(fields))
    rows = _flagged(there.rows, unmet, schema, all_of=values["broken"] >= max(len(there), 1))
    # A row that goes without another of its group at that instant has left.
    comes, goes = ahead.take(ahead.count > 0), ahead.take(ahead.count < 0)
    came, gone = row_codes([_placed(comes, fields), _placed(goes, fields)])
    leaves = goes.take(~np.isin(gone, came))
    coming = pa.concat_tables([comes.rows, leaves.rows])
    at = np.concatenate((comes.at, leaves.at))
    left = np.repeat([False, True], [len(comes), len(leaves)])
    return (
        Current(rows, np.full(len(rows), prev, np.int64)),
        Upserts(_flagged(coming, unmet, schema, all_of=False), at, at, left),
    )


def _placed(delta: Delta, fields: list[pa.Field]) -> pa.Table:
    """Groups with the instants of their changes."""
    groups = delta.rows.select([item.name for item in fields])
    return groups.append_column(".at", pa.array(delta.at))


def _flagged(rows: pa.Table, unmet: pa.Table, schema: pa.Schema, *, all_of: bool) -> pa.Table:
    """Rows with whether their group is unmet."""
    if unmet.num_columns:
        groups, known = row_codes([rows.select(unmet.column_names), unmet])
        flags = np.isin(groups, known)
    else:
        flags = np.zeros(rows.num_rows, np.bool_)
    columns = [*rows.columns, pa.array(flags | all_of, pa.bool_())]
    return pa.table(columns, schema=schema)
