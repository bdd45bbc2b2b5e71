"""Pathway, incremental: last value per series, join with the memberships, average per query.

One commit per tick, which is the granularity of the answers.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from typing import Any

from bench.data import Card
from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.stream import TickRows, by_tick

ROWS = 2_000_000


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("pathway") is not None


def run(task: Task) -> Outcome:
    """Push ticks through for the time there is."""
    os.environ.setdefault("PATHWAY_THREADS", "2")
    pw: Any = importlib.import_module("pathway")
    card = Card.read(task.prepared)
    sent = {"rows": 0, "ticks": 0}
    ticks = by_tick(card, ROWS)
    pw.io.null.write(_answers(pw, card, task, _rows(pw, ticks, task.seconds / 2, sent)))
    begun, spent = time.perf_counter(), cpu_seconds()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    return Outcome(
        rows=sent["rows"],
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        facts={"ticks": sent["ticks"]},
        note="start included",
    )


def _rows(pw: Any, ticks: list[TickRows], seconds: float, sent: dict[str, int]) -> Any:
    schema = pw.schema_from_types(sid=int, delta=float)

    class Subject(pw.io.python.ConnectorSubject):  # type: ignore[misc]
        def run(self) -> None:
            deadline = time.perf_counter() + seconds
            for rows in ticks:
                if time.perf_counter() > deadline:
                    return
                for sid, delta in zip(rows.sid, rows.delta, strict=True):
                    self.next(sid=sid, delta=delta)
                self.commit()
                sent["rows"] += len(rows.sid)
                sent["ticks"] += 1

    return pw.io.python.read(Subject(), schema=schema, autocommit_duration_ms=None)


def _answers(pw: Any, card: Card, task: Task, rows: Any) -> Any:
    latest = rows.groupby(rows.sid).reduce(rows.sid, value=pw.reducers.sum(rows.delta))
    pairs = [
        (number, place)
        for number, row in enumerate(card.members()[: task.queries].tolist())
        for place in row
    ]
    schema = pw.schema_from_types(query=int, sid=int)
    members = pw.debug.table_from_rows(schema, pairs)
    joined = members.join(latest, members.sid == latest.sid).select(members.query, latest.value)
    return joined.groupby(joined.query).reduce(joined.query, a=pw.reducers.avg(joined.value))
