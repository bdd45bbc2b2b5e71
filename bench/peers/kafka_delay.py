"""How long after its instant an answer is in the topic, while rows come at a steady pace."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np

import streamgauge as sg
from bench.data import Card
from bench.harness import Outcome, Task
from bench.peers.kafka_ours import ANSWERS, open_gauge
from bench.peers.ours import wait_for
from bench.queries import STREAM, portfolio
from bench.topics import PARTITIONS, Heard, make_topic, rows_per_tick

PACED, PULSE, PULSE_SECONDS = "paced", "pulse", 0.25
WARM_SECONDS = 60.0
# What opening a session, registering and ending may take besides.
AROUND_SECONDS = 180.0


def installed() -> bool:
    """It always is."""
    return True


def run(task: Task) -> Outcome:
    """Pace rows at `batches` a second for `seconds`, less what is around; `form` is the broker."""
    measured = task.seconds - AROUND_SECONDS
    card = Card.read(task.prepared)
    tick = round(rows_per_tick(card) / task.batches, 6)
    figures = [str(task.batches), str(measured + WARM_SECONDS), str(tick)]
    command = [sys.executable, "-m", "bench.topics", task.form, PACED, task.prepared, *figures]
    pacing = subprocess.Popen(command, stdin=subprocess.PIPE)
    make_topic(task.form, PACED, PARTITIONS)
    beat = tick * max(1, round(PULSE_SECONDS / tick))
    gauge = open_gauge(task, card, PACED, tick=tick)
    pulse = sg.Query(PULSE, STREAM, sg.count(), window=sg.Range(beat), answer=sg.every(beat))
    gauge.register(pulse, *portfolio(card, task.queries))
    gauge.create_sink("out", sg.to_kafka(task.form, ANSWERS))
    gauge.start()
    heard, halt = Heard(), threading.Event()
    listening = threading.Thread(
        target=heard.listen, args=(task.form, ANSWERS, PULSE.encode(), halt)
    )
    listening.start()
    # Rows wait until the job has begun, or what is measured is how it catches up.
    wait_for(lambda: gauge.home.committed() > 0, AROUND_SECONDS, gauge)
    pacing.communicate(b"\n", timeout=task.seconds)
    ended = time.time()
    gauge.stop()
    halt.set()
    listening.join()
    delays = np.array([delay for as_of, delay in heard.delays if as_of > ended - measured])
    if len(delays) < measured / beat / 2:
        return Outcome(missing=f"only {len(delays)} answers came")
    p50, p99 = np.percentile(delays, (50, 99))
    facts = {"delay_p50": float(p50), "delay_p99": float(p99), "answers": float(len(delays))}
    return Outcome(facts=facts)
