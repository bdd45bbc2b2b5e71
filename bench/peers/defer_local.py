"""DuckDB and chDB: latest values kept in a table, every query answered once per batch.

Between two batches the answers grow old: that they stay within the bound is the luck of the batch
size, not a promise.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

from bench.data import Card
from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.defer_ours import holdings


def installed() -> bool:
    """Each form looks for itself."""
    return True


def run(task: Task) -> Outcome:
    """Take some batches, the first apart."""
    if importlib.util.find_spec(task.form) is None:
        return Outcome(missing="not installed")
    card = Card.read(task.prepared)
    files = sorted(card.path("rows").iterdir())[: task.batches]
    take = {"duckdb": _duckdb, "chdb": _chdb}[task.form](card, task.queries)
    begun = time.perf_counter()
    take(str(files[0]))
    first = time.perf_counter() - begun
    begun, spent, done = time.perf_counter(), cpu_seconds(), 0
    for path in files[1:]:
        take(str(path))
        done += 1
        if time.perf_counter() - begun > task.seconds / 2:
            break
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    cpu = None if spent is None or total is None else total - spent
    return Outcome(done * card.batch, seconds, cpu, first_seconds=first)


def _duckdb(card: Card, queries: int) -> Callable[[str], Any]:
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    connection.register("given", holdings(card, 0, queries))
    connection.execute("create table members as select * from given")
    connection.execute("create table latest (series varchar primary key, value double)")

    def take(path: str) -> Any:
        newest = "select series, arg_max(value, ts) as value from read_parquet(?) group by series"
        connection.execute(f"insert or replace into latest {newest}", [path])
        answered = "select cell, avg(value) as value from members join latest using (series)"
        return connection.sql(f"{answered} group by cell").to_arrow_table()

    return take


def _chdb(card: Card, queries: int) -> Callable[[str], Any]:
    held: Any = importlib.import_module("chdb.session").Session()
    given = holdings(card, 0, queries)
    held.query("create database bench engine = Atomic")
    held.query("create table bench.members (cell Int64, series String) engine = Memory")
    held.query("insert into bench.members select * from Python(given)")
    held.query(
        "create table bench.latest (series String, value Float64, ts DateTime64(6)) "
        "engine = ReplacingMergeTree(ts) order by series"
    )
    del given

    def take(path: str) -> Any:
        held.query(
            "insert into bench.latest select series, argMax(value, ts), max(ts) "
            f"from file('{path}', Parquet) group by series"
        )
        return held.query(
            "select cell, avg(value) from bench.members join "
            "(select series, value from bench.latest final) as l using (series) group by cell",
            "Arrow",
        )

    return take
