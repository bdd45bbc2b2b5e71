"""The server whose page the workload `page` looks at, in a process of its own.

Usage: python -m bench.page_served HOME QUERIES. It says its address on standard output when all
queries have answered, and ends with its standard input.
"""

from __future__ import annotations

import sys

import numpy as np

import streamgauge as sg
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.sources.plant import Plant

STREAM = "plant"
SENSORS = 500
# Ten ticks a second, so that answers come while the page is scrolled.
SPEED = 10.0
MEMBERS = 9
SEED = 11


def questions(n: int) -> list[sg.Query]:
    """Averages over nine sensors: one half exact on change, the other deferred."""
    names = Plant(n_sensors=SENSORS).rows(0, 1)[0]["series"].to_pylist()
    drawn = np.random.default_rng(SEED).integers(len(names), size=(n, MEMBERS))
    asked = []
    for number, row in enumerate(drawn.tolist()):
        members = tuple(dict.fromkeys(names[place] for place in row))
        contract = sg.Contract.absolute(0.5 + number % 7, confidence=0.9)
        how = {"contract": contract} if number % 2 else {"answer": sg.on_change(0.1)}
        name = f"average-{number:05d}"
        asked.append(sg.Query(name, STREAM, sg.avg("value"), series=members, **how))
    return asked


def serve(home: str, n: int) -> None:
    """Serve a home until the input ends."""
    gauge = sg.connect(home, engine="local", shards=1)
    gauge.stream(STREAM, sg.plant(n_sensors=SENSORS, speed=SPEED), time="ts", key="series")
    gauge.register(*questions(n))
    with gauge, Server(gauge, Settings.of("http://127.0.0.1:0")) as server:
        gauge.start()
        seen: set[str] = set()
        for answer in gauge.subscribe(since_epoch=0):
            seen.add(answer.query)
            if len(seen) == n:
                break
        sys.stdout.write(server.address + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
