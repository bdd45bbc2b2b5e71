"""Streamgauge between two topics: rows from Kafka, all standing queries, answers to Kafka."""

from __future__ import annotations

import time

import streamgauge as sg
from bench.data import Card
from bench.harness import WARM_UP, Outcome, Task, cpu_seconds
from bench.peers.ours import fresh_gauge, steady, wait_for
from bench.queries import STREAM, portfolio
from streamgauge.kernel.time import SECOND
from streamgauge.results.change_log import commits
from streamgauge.sinks.report import read

COUNT = "rows-seen"
ANSWERS = "answers"
SCHEMA = {"series": "string", "ts": "time", "value": "float", "zone": "string", "kind": "string"}


def installed() -> bool:
    """It always is."""
    return True


def open_gauge(task: Task, card: Card, topic: str, *, tick: float) -> sg.Gauge:
    """A gauge between a topic of rows and the topic of answers; `form` is the broker."""
    gauge = fresh_gauge(task, card.batch)
    gauge.stream(
        STREAM,
        source=sg.kafka(task.form, topic, max_offsets=card.batch * task.files),
        schema=sg.Schema.of(**SCHEMA),
        time="ts",
        key="series",
        tick=tick,
        keep="1 minute",
    )
    return gauge


def run(task: Task) -> Outcome:
    """Take all records of the topic and deliver all answers; figures are of the steady part."""
    card = Card.read(task.prepared)
    gauge = open_gauge(task, card, "rows", tick=card.tick / SECOND)
    gauge.register(*portfolio(card, task.queries))
    gauge.create_sink("out", sg.to_kafka(task.form, ANSWERS))
    gauge.start()
    warm = wait_for(lambda: _rows(gauge) >= WARM_UP * card.batch, task.seconds, gauge)
    begun, epoch, spent = time.monotonic(), gauge.home.committed(), cpu_seconds()
    done = warm and wait_for(
        lambda: _rows(gauge) >= card.rows and _delivered(gauge), task.seconds, gauge
    )
    took, total = time.monotonic() - begun, cpu_seconds()
    gauge.stop()
    if not done:
        return Outcome(missing=f"{_rows(gauge)} of {card.rows} rows within {task.seconds:.0f} s")
    rows = sum(record["rows"] for record in commits(gauge.home, after=epoch))
    outcome = steady(gauge.home)
    outcome.rows, outcome.seconds = rows, took
    outcome.cpu_seconds = None if spent is None or total is None else total - spent
    outcome.facts["taken"] = _rows(gauge)
    outcome.facts["given"] = sum(record["answers"] for record in commits(gauge.home))
    return outcome


def _rows(gauge: sg.Gauge) -> int:
    return sum(record["rows"] for record in commits(gauge.home))


def _delivered(gauge: sg.Gauge) -> bool:
    return all(sink.waiting == 0 for sink in read(gauge.home, gauge.registry().sinks))
