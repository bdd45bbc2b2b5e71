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
from bench.topics import PARTITIONS, Heard, make_topic

PACED, PULSE, TICK_SECONDS = "paced", "pulse", 0.25
WARM_SECONDS = 30.0
# What opening a session, registering and ending may take besides.
AROUND_SECONDS = 150.0


def installed() -> bool:
    """It always is."""
    return True


def run(task: Task) -> Outcome:
    """Pace rows at `batches` a second for `seconds`, less what is around; `form` is the broker."""
    measured = task.seconds - AROUND_SECONDS
    card = Card.read(task.prepared)
    make_topic(task.form, PACED, PARTITIONS)
    gauge = open_gauge(task, card, PACED, tick=TICK_SECONDS)
    window = sg.Range(TICK_SECONDS)
    pulse = sg.Query(PULSE, STREAM, sg.count(), window=window, answer=sg.every(TICK_SECONDS))
    gauge.register(pulse, *portfolio(card, task.queries))
    gauge.create_sink("out", sg.to_kafka(task.form, ANSWERS))
    gauge.start()
    heard, halt = Heard(), threading.Event()
    listening = threading.Thread(
        target=heard.listen, args=(task.form, ANSWERS, PULSE.encode(), halt)
    )
    listening.start()
    command = [sys.executable, "-m", "bench.topics", task.form, PACED, task.prepared]
    pacing = subprocess.Popen([*command, str(task.batches), str(measured + WARM_SECONDS)])
    wait_for(lambda: pacing.poll() is not None, task.seconds, gauge)
    ended = time.time()
    pacing.kill()
    pacing.wait()
    gauge.stop()
    halt.set()
    listening.join()
    delays = np.array([delay for as_of, delay in heard.delays if as_of > ended - measured])
    if len(delays) < measured / TICK_SECONDS / 2:
        return Outcome(missing=f"only {len(delays)} answers came")
    p50, p99 = np.percentile(delays, (50, 99))
    facts = {"delay_p50": float(p50), "delay_p99": float(p99), "answers": float(len(delays))}
    return Outcome(facts=facts)
