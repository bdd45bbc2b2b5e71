"""The limit: one thread, arrays in memory, every query checked at every tick, nothing kept."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from bench.data import Card, parts, ticks_of
from bench.harness import Outcome, Task

FILES = 4


def installed() -> bool:
    """Numba is what the kernels are made with."""
    return True


@njit
def loop(tick: Any, sid: Any, value: Any, members: Any, latest: Any, given: Any, by: float) -> int:
    """Fold rows by tick; after each tick compare every average with its last answer."""
    answers = 0
    i, n_rows = 0, len(tick)
    while i < n_rows:
        now = tick[i]
        while i < n_rows and tick[i] == now:
            latest[sid[i]] = value[i]
            i += 1
        for q in range(members.shape[0]):
            total = 0.0
            for j in range(members.shape[1]):
                total += latest[members[q, j]]
            average = total / members.shape[1]
            moved = not abs(average - given[q]) <= by
            if moved and not np.isnan(average):
                given[q] = average
                answers += 1
    return answers


def run(task: Task) -> Outcome:
    """Walk the first files, once compiled."""
    card = Card.read(task.prepared)
    found = list(parts(card, limit=FILES))
    ts = np.concatenate([part.ts for part in found])
    sid = np.concatenate([part.sid for part in found])
    value = np.concatenate([part.value for part in found])
    tick, members = ticks_of(ts, card.tick), card.members()[: task.queries]

    def walk(n: int) -> int:
        latest, given = np.full(len(card.series), np.nan), np.full(len(members), np.nan)
        return int(loop(tick[:n], sid[:n], value[:n], members, latest, given, card.epsilon))

    walk(10)
    begun, spent = time.perf_counter(), time.process_time()
    answers = walk(len(tick))
    seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
    return Outcome(
        rows=len(tick),
        seconds=seconds,
        cpu_seconds=cpu,
        facts={"answers_per_second": answers / seconds},
    )
