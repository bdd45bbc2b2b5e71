"""Pathway, incremental: last value per series, join with the memberships, average per query.

One commit per tick, which is the granularity of the answers.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from bench.data import Card
from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.stream import TickRows, by_tick

ROWS = 2_000_000
POLL_SECONDS = 0.1
# Rows that wait inside would all be answered at once, and no rate could be read off.
TICKS_AHEAD = 2
PATIENCE_SECONDS = 2.0


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("pathway") is not None


def run(task: Task) -> Outcome:
    """Push ticks through for the time there is; what is not answered by then does not count."""
    os.environ.setdefault("PATHWAY_THREADS", "2")
    pw: Any = importlib.import_module("pathway")
    card = Card.read(task.prepared)
    ticks = by_tick(card, ROWS)
    seen: list[tuple[float, int, float | None]] = []
    turn = threading.Condition()

    def answered(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            with turn:
                seen.append((_now(), row["n"], cpu_seconds() if not seen else None))
                turn.notify_all()

    def wait_for_answers(sent: int) -> None:
        with turn:
            turn.wait_for(lambda: not sent or (seen and seen[-1][1] >= sent), PATIENCE_SECONDS)

    rows = _rows(pw, ticks, wait_for_answers)
    pw.io.subscribe(_answered(pw, card, task, rows), on_change=answered)
    threading.Thread(target=pw.run, kwargs={"monitoring_level": pw.MonitoringLevel.NONE}).start()
    deadline = _now() + task.seconds / 2
    while _now() < deadline and not (seen and seen[-1][1] == sum(len(t.sid) for t in ticks)):
        time.sleep(POLL_SECONDS)
    total = cpu_seconds()
    if len(seen) < 2:
        return Outcome(missing="nothing was answered in time")
    (begun, before, spent), (ended, after, _) = seen[0], seen[-1]
    return Outcome(
        rows=after - before,
        seconds=ended - begun,
        cpu_seconds=None if spent is None or total is None else total - spent,
        facts={"commits": len(seen)},
    )


def _now() -> float:
    return time.perf_counter()


def _rows(pw: Any, ticks: list[TickRows], wait_for_answers: Callable[[int], None]) -> Any:
    schema = pw.schema_from_types(sid=int, delta=float)

    class Subject(pw.io.python.ConnectorSubject):  # type: ignore[misc]
        def run(self) -> None:
            sent = [0] * TICKS_AHEAD
            for rows in ticks:
                wait_for_answers(sent[-TICKS_AHEAD])
                for sid, delta in zip(rows.sid, rows.delta, strict=True):
                    self.next(sid=sid, delta=delta)
                self.commit()
                sent.append(sent[-1] + len(rows.sid))

    return pw.io.python.read(Subject(), schema=schema, autocommit_duration_ms=None)


def _answered(pw: Any, card: Card, task: Task, rows: Any) -> Any:
    """One row that changes with every tick: how many rows the answers rest on."""
    latest = rows.groupby(rows.sid).reduce(rows.sid, value=pw.reducers.sum(rows.delta))
    pairs = [
        (number, place)
        for number, row in enumerate(card.members()[: task.queries].tolist())
        for place in row
    ]
    members = pw.debug.table_from_rows(pw.schema_from_types(query=int, sid=int), pairs)
    joined = members.join(latest, members.sid == latest.sid).select(members.query, latest.value)
    answers = joined.groupby(joined.query).reduce(joined.query, a=pw.reducers.avg(joined.value))
    total = answers.reduce(s=pw.reducers.sum(answers.a))
    count = rows.reduce(n=pw.reducers.count())
    return count.join(total).select(count.n, total.s)
