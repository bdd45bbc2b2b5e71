"""Many selections in one process, one thread: the shared index, one by one in NumPy, DuckDB.

The form is `who/what`: `pairs` gives all pairs of a row and a selection it passes, `bits` (ours)
and `masks` (NumPy) say the same as one bit or one flag for each.
"""

from __future__ import annotations

import importlib.util
import operator
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from bench.harness import Outcome, Task, cpu_seconds
from bench.selections import (
    COLUMNS,
    SUMS,
    Prepared,
    Selection,
    alerts,
    as_ranges,
    conditions,
    facts,
    inequalities,
    judged,
)
from streamgauge.operators.predicate_index import PredicateIndex

BATCH = 20_000
# Bits of a batch stay in the cache.
BITS_BATCH = 2_000
FACTORS = 2
REPETITIONS = 2
LEAST_SECONDS = 1.0
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

# What was found, and how it becomes numbers of rows and of queries.
Found: TypeAlias = Iterator[tuple[Any, Callable[[], tuple[Any, Any]]]]
Count: TypeAlias = Callable[[], float]
Judge: TypeAlias = Callable[[], dict[str, float]]


def installed() -> bool:
    """Each form looks for itself."""
    return True


def run(task: Task) -> Outcome:
    """One form, first run apart, best of the others."""
    prepared = Prepared.read(task.prepared)
    who, _, what = task.form.partition("/")
    if who == "duckdb" and importlib.util.find_spec(who) is None:
        return Outcome(missing="not installed")
    rows = prepared.table()
    asked = (
        alerts(rows, task.queries) if what == "pairs" else inequalities(rows, task.queries, FACTORS)
    )
    if who == "ours":
        _ours(rows, asked[:100], what)  # kernels are compiled or loaded once for all
    begun = time.perf_counter()
    found = {"ours": _ours, "numpy": _numpy, "duckdb": _duckdb}[who](rows, asked, what)
    built = time.perf_counter() - begun
    best = timed(*found, prepared.rows, REPETITIONS)
    if who == "ours":
        best.facts["build_seconds"] = built
    return best


def timed(work: Count, judge: Judge, rows: int, repetitions: int) -> Outcome:
    """Make all pairs once, then for the record; the best run counts.

    What is compared of the results is found apart, outside the time.
    """
    begun = time.perf_counter()
    work()
    first = time.perf_counter() - begun
    best, since, done = Outcome(first_seconds=first), time.perf_counter(), 0
    while done < repetitions or time.perf_counter() - since < LEAST_SECONDS:
        done += 1
        spent, begun = cpu_seconds(), time.perf_counter()
        work()
        took, total = time.perf_counter() - begun, cpu_seconds()
        if not best.seconds or took < best.seconds:
            best = Outcome(rows, took, first_seconds=first)
            if spent is not None and total is not None:
                best.cpu_seconds = max(total - spent, 1e-3)
    best.facts = judge()
    return best


def _ours(rows: Any, asked: list[Selection], what: str) -> tuple[Count, Judge]:
    index = PredicateIndex.of(conditions(asked), as_bits=what == "bits")

    def pairs() -> Found:
        """Queries by row."""
        for first in range(0, rows.num_rows, BATCH):
            start, queries = index.by_row(rows.slice(first, BATCH), {})
            yield queries, partial(_rows_repeated, first, start, queries)

    def bits() -> Iterator[Any]:
        for start in range(0, rows.num_rows, BITS_BATCH):
            yield index.bitmap(rows.slice(start, BITS_BATCH), {})

    def counted() -> dict[str, float]:
        return {"pairs": float(sum(np.bitwise_count(found).sum() for found in bits()))}

    return _both(pairs) if what == "pairs" else (lambda: float(_made(bits())), counted)


def _numpy(rows: Any, asked: list[Selection], what: str) -> tuple[Count, Judge]:
    cells = {name: rows[name].to_numpy() for name in COLUMNS}

    def masks() -> Iterator[Any]:
        for selection in asked:
            name, op, value = selection[0]
            mask = _COMPARE[op](cells[name], value)
            for name, op, value in selection[1:]:
                mask &= _COMPARE[op](cells[name], value)
            yield mask

    def pairs() -> Found:
        """Rows by query."""
        for q, mask in enumerate(masks()):
            numbers = np.flatnonzero(mask)
            yield numbers, partial(_query_repeated, q, numbers)

    def counted() -> dict[str, float]:
        return {"pairs": float(sum(np.count_nonzero(mask) for mask in masks()))}

    return _both(pairs) if what == "pairs" else (lambda: float(_made(masks())), counted)


def _made(parts: Iterator[Any]) -> int:
    """Make all parts of a result; how many cells they have."""
    return sum(part.size for part in parts)


def _both(pairs: Callable[[], Found]) -> tuple[Count, Judge]:
    """Counting pairs as they come, and what is compared of them.

    Each makes pairs in the order it has them: ours queries by row, NumPy rows by query.
    """

    def judge() -> dict[str, float]:
        total = facts(0.0, 0.0, 0.0, 0.0)
        for _, both in pairs():
            part = judged(*both())
            total = {name: total[name] + part[name] for name in total}
        return total

    return lambda: float(sum(len(found) for found, _ in pairs())), judge


def _rows_repeated(first: int, start: Any, queries: Any) -> tuple[Any, Any]:
    return np.repeat(np.arange(first, first + len(start) - 1), np.diff(start)), queries


def _query_repeated(query: int, numbers: Any) -> tuple[Any, Any]:
    return numbers, np.full(len(numbers), query, np.int32)


def _duckdb(rows: Any, asked: list[Selection], what: str) -> tuple[Count, Judge]:
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    connection.register("stream", rows)
    connection.register("asked", as_ranges(asked))
    for name in ("stream", "asked"):
        connection.execute(f"create table {name}_kept as select * from {name}")

    def told(what: str) -> tuple[float, ...]:
        join = "stream_kept join asked_kept on a between a0 and a1 and b between b0 and b1"
        found = connection.execute(f"select {what} from {join}").fetchone()
        assert found is not None
        return tuple(float(value or 0) for value in found)

    return lambda: told("count(*)")[0], lambda: facts(*told(", ".join(SUMS)))
