"""Codes of columns: what is compared has one type."""

from __future__ import annotations

import pyarrow as pa

from streamgauge.operators.codes import concatenated


def test_whole_numbers_beyond_floats_are_compared_as_floats() -> None:
    whole, near = pa.array([2**60, 2**60 + 1, 5]), pa.array([float(2**60), 5.0])
    assert concatenated([whole, near]).to_pylist() == [2.0**60, 2.0**60, 5.0, 2.0**60, 5.0]
