"""PyFlink SQL: last value per series, join with the memberships, average per query.

Rows come from CSV, since the Python package has no Parquet reader; mini-batches of one tick.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from pathlib import Path
from typing import Any

from bench.data import Card
from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.stream import TickRows, by_tick

ROWS = 100_000
QUERY = """
    INSERT INTO answers
    SELECT m.query, AVG(l.v) FROM members m
    JOIN (SELECT sid, LAST_VALUE(v) AS v FROM ticks GROUP BY sid) l ON m.sid = l.sid
    GROUP BY m.query
"""


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("pyflink") is not None


def run(task: Task) -> Outcome:
    """Run one job over a bounded number of rows; its start is part of the time."""
    card = Card.read(task.prepared)
    ticks = by_tick(card, ROWS)
    rows = sum(len(tick.sid) for tick in ticks)
    environment = _environment(max(1, rows // len(ticks)))
    folder = Path.cwd() / "flink"
    _declare(environment, "ticks", "sid INT, v DOUBLE", _write_rows(folder / "ticks", ticks))
    members = _write_members(folder / "members", card, task.queries)
    _declare(environment, "members", "query INT, sid INT", members)
    environment.execute_sql(
        "CREATE TABLE answers (query INT, a DOUBLE) WITH ('connector' = 'blackhole')"
    )
    begun, spent = time.perf_counter(), cpu_seconds()
    environment.execute_sql(QUERY).wait()
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    return Outcome(
        rows=rows,
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        note="start included",
    )


def _environment(batch: int) -> Any:
    table: Any = importlib.import_module("pyflink.table")
    settings = table.EnvironmentSettings.in_streaming_mode()
    environment = table.TableEnvironment.create(settings)
    config = environment.get_config()
    for name, value in {
        "parallelism.default": "2",
        "taskmanager.numberOfTaskSlots": "2",
        "taskmanager.memory.process.size": "4g",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": str(batch),
    }.items():
        config.set(name, value)
    return environment


def _declare(environment: Any, name: str, columns: str, folder: Path) -> None:
    environment.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH "
        f"('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
    )


def _write_rows(folder: Path, ticks: list[TickRows]) -> Path:
    folder.mkdir(parents=True)
    with (folder / "rows.csv").open("w", encoding="utf-8") as out:
        for tick in ticks:
            pairs = zip(tick.sid, tick.value, strict=True)
            out.writelines(f"{sid},{value!r}\n" for sid, value in pairs)
    return folder


def _write_members(folder: Path, card: Card, queries: int) -> Path:
    folder.mkdir(parents=True)
    with (folder / "members.csv").open("w", encoding="utf-8") as out:
        for number, row in enumerate(card.members()[:queries].tolist()):
            out.writelines(f"{number},{place}\n" for place in row)
    return folder
