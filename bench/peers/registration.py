"""Streamgauge while it runs: many queries registered at once, and when they are in force."""

from __future__ import annotations

import time

from bench.data import Card
from bench.harness import Outcome, Task
from bench.peers.ours import open_gauge, wait_for
from bench.queries import portfolio, windowed
from streamgauge.log.journal import Journal

BUSY_FROM = 3


def installed() -> bool:
    """It always is."""
    return True


def run(task: Task) -> Outcome:
    """Start with the windows alone, register the rest in the middle of the rows."""
    card = Card.read(task.prepared)
    gauge = open_gauge(task, card)
    gauge.register(*windowed(card))
    gauge.start()
    home, journal = gauge.home, Journal(gauge.home)
    wait_for(lambda: home.committed() >= BUSY_FROM, task.seconds, gauge)
    queries = portfolio(card, task.queries)
    called, before = time.perf_counter(), home.committed()
    gauge.register(*queries)
    handed, submitted = time.perf_counter(), home.committed()
    page, looked = 0, submitted

    def in_force() -> bool:
        nonlocal page, looked
        while not page and looked < journal.last():
            looked += 1
            taken = journal.page(looked).changes
            page = looked if any(change["do"] == "register" for change in taken) else 0
        return 0 < page <= home.committed()

    held = wait_for(in_force, task.seconds, gauge)
    effect = time.perf_counter()
    left = sum(1 for _ in card.path("rows").iterdir()) - len(gauge_files(journal, page))
    gauge.stop()
    if not held:
        return Outcome(missing="not in force in time")
    return Outcome(
        facts={
            "epochs": page - submitted,
            "epochs_from_call": page - before,
            "call_seconds": handed - called,
            "seconds": effect - called,
            "files_left": left,
        }
    )


def gauge_files(journal: Journal, page: int) -> set[str]:
    """Source files that pages up to one have taken."""
    return {
        origin
        for number in range(1, page + 1)
        for origins in journal.page(number).taken.values()
        for origin in origins
    }
