"""Upserts give the changes that a loop over the rows would give, however they are cut."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.operators.delta import Delta, joined
from streamgauge.operators.upsert import Current, Upserts, stacked, upserted

SCHEMA = pa.schema([("k", pa.string()), ("x", pa.int64())])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.integers(1, 6), st.integers(0, 3), st.booleans()
    )
)


def upserts(rows: list[tuple[str | None, int, int, bool]]) -> Upserts:
    """Rows in the order they take effect, answers before corrections."""
    rows = sorted(rows, key=lambda row: (row[1], row[2] > 0))
    keys, at, behind, leaves = zip(*rows, strict=True) if rows else ((), (), (), ())
    whole = np.array(at, np.int64)
    of = whole - np.array(behind, np.int64)
    table = pa.table([pa.array(keys, pa.string()), np.arange(len(rows))], schema=SCHEMA)
    flags = np.array(leaves, np.bool_) & (of == whole)
    return Upserts(table, whole, of, flags)


def by_hand(fresh: Upserts) -> tuple[Counter, dict]:
    """Changes by (instant, key, number), and the rows in force."""
    changes: Counter = Counter()
    there: dict = {}
    rows = zip(
        fresh.rows.to_pylist(), fresh.at.tolist(), fresh.of.tolist(), fresh.leaves, strict=True
    )
    for row, at, of, leaves in rows:
        old = there.get(row["k"])
        if of < at and (old is None or old[1] != of):
            continue
        if old is not None:
            changes[at, row["k"], old[0]] -= 1
            del there[row["k"]]
        if not leaves:
            there[row["k"]] = row["x"], of
            changes[at, row["k"], row["x"]] += 1
    return Counter({key: n for key, n in changes.items() if n}), there


def counted(delta: Delta) -> Counter:
    found: Counter = Counter()
    for row, at, n in zip(
        delta.rows.to_pylist(), delta.at.tolist(), delta.count.tolist(), strict=True
    ):
        found[at, row["k"], row["x"]] += n
    return Counter({key: n for key, n in found.items() if n})


@given(ROWS, st.integers(0, 7))
def test_upserts_are_those_of_a_loop(rows: list, cut: int) -> None:
    fresh = upserts(rows)
    changes, there = by_hand(fresh)
    first, current = upserted(Current.none(SCHEMA), fresh.take(fresh.at <= cut), 1)
    second, current = upserted(current, fresh.take(fresh.at > cut), 1)
    assert counted(joined([first, second], SCHEMA)) == changes
    found = zip(current.rows["k"].to_pylist(), current.rows["x"].to_pylist(), strict=True)
    assert {k: (x, of) for (k, x), of in zip(found, current.of.tolist(), strict=True)} == there


def test_without_a_key_there_is_one_row() -> None:
    schema = pa.schema([("x", pa.int64())])
    at = np.array([1, 2], np.int64)
    fresh = Upserts(pa.table({"x": [5, 6]}, schema=schema), at, at, np.zeros(2, np.bool_))
    delta, current = upserted(Current.none(schema), stacked([fresh], schema), 0)
    assert current.rows["x"].to_pylist() == [6]
    assert sorted(zip(delta.at.tolist(), delta.count.tolist(), strict=True)) == [
        (1, 1),
        (2, -1),
        (2, 1),
    ]
