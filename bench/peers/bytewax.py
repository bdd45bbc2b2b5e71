"""Bytewax in its obvious form: each row goes to the queries that read its series, one by one."""

from __future__ import annotations

import importlib
import importlib.util
import time
from typing import Any

from bench.data import Card
from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.stream import TickRows, by_tick, readers

ROWS = 200_000
# A batch of items is held in memory after the fan-out, so it is kept small.
ITEMS_PER_STEP = 100


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("bytewax") is not None


def run(task: Task) -> Outcome:
    """Push rows through for the time there is."""
    testing = importlib.import_module("bytewax.testing")
    card = Card.read(task.prepared)
    counts = {"rows": 0, "answers": 0}
    ticks = by_tick(card, ROWS)
    flow = _flow(card, task, ticks, counts)
    begun, spent = time.perf_counter(), cpu_seconds()
    testing.run_main(flow)
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    return Outcome(
        rows=counts["rows"],
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        facts={"answers_per_second": counts["answers"] / seconds},
        note="checked at every row",
    )


def _flow(card: Card, task: Task, ticks: list[TickRows], counts: dict[str, int]) -> Any:
    op = importlib.import_module("bytewax.operators")
    dataflow = importlib.import_module("bytewax.dataflow")
    keys = [[str(number) for number in numbers] for numbers in readers(card, task.queries)]
    width = card.members().shape[1]

    def fan_out(item: tuple[int, float]) -> list[tuple[str, float]]:
        return [(key, item[1]) for key in keys[item[0]]]

    def moved(state: float | None, delta: float) -> tuple[float, float | None]:
        since = (state or 0.0) + delta / width
        return (0.0, since) if abs(since) > card.epsilon else (since, None)

    flow = dataflow.Dataflow("spine")
    rows = op.input("rows", flow, _source(ticks, task.seconds / 2, counts))
    updates = op.flat_map("fan_out", rows, fan_out)
    checked = op.stateful_map("moved", updates, moved)
    answers = op.filter("answers", checked, lambda pair: pair[1] is not None)
    op.output("out", answers, _sink(counts))
    return flow


def _source(ticks: list[TickRows], seconds: float, counts: dict[str, int]) -> Any:
    inputs: Any = importlib.import_module("bytewax.inputs")
    items = [pair for rows in ticks for pair in zip(rows.sid, rows.delta, strict=True)]

    class Partition(inputs.StatelessSourcePartition):  # type: ignore[misc]
        def __init__(self) -> None:
            self.deadline = time.perf_counter() + seconds

        def next_batch(self) -> list[tuple[int, float]]:
            start = counts["rows"]
            if start >= len(items) or time.perf_counter() > self.deadline:
                raise StopIteration
            batch = items[start : start + ITEMS_PER_STEP]
            counts["rows"] += len(batch)
            return batch

    class Source(inputs.DynamicSource):  # type: ignore[misc]
        def build(self, step_id: str, worker_index: int, worker_count: int) -> Partition:
            return Partition()

    return Source()


def _sink(counts: dict[str, int]) -> Any:
    outputs: Any = importlib.import_module("bytewax.outputs")

    class Partition(outputs.StatelessSinkPartition):  # type: ignore[misc]
        def write_batch(self, items: list[Any]) -> None:
            counts["answers"] += len(items)

    class Sink(outputs.DynamicSink):  # type: ignore[misc]
        def build(self, step_id: str, worker_index: int, worker_count: int) -> Partition:
            return Partition()

    return Sink()
