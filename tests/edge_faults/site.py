"""An agent to be killed: reads four values all the time and writes down what it read."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import TextIO

from streamgauge.edge.agent import Agent
from streamgauge.edge.clock import Clock, steady_clock, wall_clock
from streamgauge.edge.link import Credentials
from streamgauge.filters.bound import Update
from streamgauge.filters.source import SourceFilter

EVERY = 0.02
# Waves, a level that jumps, and a saw: values that a bound can follow, and one that it cannot.
TAGS = ("a", "b", "c", "d")


def values(seconds: float, site: str) -> dict[str, float]:
    """What the four sensors of a site show at an instant."""
    turn = seconds + 7.0 * len(site)
    step = int(turn / 1.7)
    return {
        "a": 10.0 * math.sin(turn / 3.0),
        "b": 20.0 + 5.0 * math.sin(turn / 2.1) + 3.0 * math.sin(turn * 1.3),
        "c": float(step * 7919 % 23),
        "d": 2.0 * (turn % 11.0),
    }


def write_down(agent: Agent, log: TextIO) -> None:
    """Let the filter write each reading, with its label, before it looks at it."""
    names: dict[int, tuple[str, ...]] = {}
    offer = SourceFilter.offer

    def noted(source: SourceFilter, number: int, at: int, value: float) -> Update | None:
        if number not in names:
            names.update({place: key for key, place in agent.reporter._keys.items()})
        log.write(f"{at} {value!r} {' '.join(names[number])}\n")
        log.flush()
        return offer(source, number, at, value)

    SourceFilter.offer = noted  # type: ignore[method-assign, assignment]


def main(url: str, site: str, log: str, state: str, skew: float, token: str) -> None:
    ahead = int(1_000_000 * skew)
    agent = Agent(
        url,
        "tags",
        site,
        state=state,
        credentials=Credentials(token=token or None),
        beat="250 ms",
        timeout=2.0,
        clock=Clock(lambda: wall_clock() + ahead, steady_clock),
        log=lambda event, facts: print(event, facts, flush=True),
    )
    never = threading.Event()
    with Path(log).open("a", encoding="utf-8") as opened, agent:
        write_down(agent, opened)
        while True:
            shown = values(steady_clock() / 1e6, site)
            agent.feed_many([((site, tag), value, None) for tag, value in shown.items()])
            never.wait(EVERY)
