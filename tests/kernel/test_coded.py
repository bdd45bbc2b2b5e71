"""Coded columns, and numbers for their values in the order of first appearance."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.kernel import columns
from streamgauge.kernel.coded import CodedColumn, first_rows
from streamgauge.kernel.columns import Combiner, Interner


def test_a_dictionary_with_a_value_twice_and_null_is_put_in_order() -> None:
    odd = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1, None]), pa.array(["a", None, "a"]))
    coded = CodedColumn.of(odd)
    assert coded.to_pylist() == ["a", "a", None, None]
    assert coded.names == ["a"]


def test_chunks_with_dictionaries_of_their_own_become_one_column() -> None:
    chunks = [pa.array(["b", None]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]
    assert CodedColumn.of(pa.chunked_array(chunks)).to_pylist() == ["b", None, "a", "b"]
    assert len(CodedColumn.of(pa.chunked_array([], pa.string()))) == 0


def test_floats_have_one_zero_and_one_nan() -> None:
    coded = CodedColumn.of(pa.array([-0.0, 0.0, math.nan, 1.5, -math.nan, None], pa.float32()))
    assert coded.codes.tolist() == [0, 0, 1, 2, 1, -1]
    assert not np.signbit(coded.values.to_numpy()[0])


def test_truths_stay_truths() -> None:
    assert [type(v) for v in CodedColumn.of(pa.array([True, False])).names] == [bool, bool]


def test_first_rows_are_first() -> None:
    assert first_rows(np.array([1, 0, 1, 0]), 2).tolist() == [1, 0]


@pytest.mark.parametrize("few", [0, 10_000])
def test_values_are_numbered_by_first_appearance_however_they_are_looked_up(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "FEW", few)
    rng = np.random.default_rng(3)
    names, known = Interner(), {}
    for size in (1, 5, 400, 3, 400):
        values = [f"v{n}" if n else None for n in rng.integers(0, 90, size).tolist()]
        expected = [-1 if v is None else known.setdefault(v, len(known)) for v in values]
        assert names.encode(pa.array(values, pa.string())).tolist() == expected
    assert names.values == list(known)
    assert names.add("new") == len(known)
    assert names.encode(pa.array(["new"])).tolist() == [len(known)]


def test_an_interner_of_stored_values_knows_them_again() -> None:
    names = Interner.of([1, 2.5, math.nan, True])
    assert names.values[:2] == [1, 2.5]
    assert names.encode(pa.array([math.nan, 1.0])).tolist() == [2, 0]
    assert len(names) == 3


@pytest.mark.parametrize("width", [1, 2])
def test_combinations_are_numbered_by_first_appearance(width: int) -> None:
    rng = np.random.default_rng(4)
    combiner, known = Combiner(), {}
    for size in (3, 0, 50, 7, 50):
        codes = [rng.integers(-1, 9, size).astype(np.int32) for _ in range(width)]
        rows = zip(*(column.tolist() for column in codes), strict=True)
        expected = [known.setdefault(row, len(known)) for row in rows]
        assert combiner.encode(codes).tolist() == expected
    again = Combiner(Interner.of(combiner.interner.values))
    codes = [np.array([row[k] for row in known], np.int32) for k in range(width)]
    assert again.encode(codes).tolist() == list(range(len(known)))
