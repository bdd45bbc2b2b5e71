"""The one schema of answers in Arrow, versioned in its metadata."""

from __future__ import annotations

import pyarrow as pa

VERSION = 2

CHARGE = pa.struct(
    [
        ("by", pa.string()),
        ("width", pa.float64()),
        ("delta", pa.float64()),
        ("below", pa.float64()),
        ("above", pa.float64()),
    ]
)

ANSWERS = pa.schema(
    [
        ("query", pa.string()),
        ("version", pa.int32()),
        ("group", pa.string()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("confidence", pa.float64()),
        ("as_of", pa.timestamp("us", tz="UTC")),
        ("epoch", pa.int64()),
        ("revision", pa.int32()),
        ("coverage", pa.float64()),
        ("basis", pa.string()),
        ("charges", pa.list_(CHARGE)),
        ("contract_met", pa.bool_()),
        ("slope", pa.float64()),
        ("share", pa.float64()),
    ],
    metadata={"streamgauge.answers": str(VERSION)},
)
