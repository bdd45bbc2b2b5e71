"""The server that the workload `server` pushes to, in a process of its own.

Usage: python -m bench.served HOME. It says its address on standard output, and ends with its
standard input. Then it says, as JSON, what it counted.
"""

from __future__ import annotations

import json
import sys

import streamgauge as sg
from bench.server_load import QUERY, STREAM
from streamgauge.log.journal import Journal
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.streams.schema import Schema

# Answered at every tick, for those who follow; and counted without gaps, so that nothing is missed.
QUERIES = f"""
CREATE QUERY {QUERY} AS
  SELECT AVG(value) FROM {STREAM} [PARTITION BY id ROWS 1] EVERY 250 MILLISECONDS;
CREATE QUERY counted AS
  SELECT COUNT(*) FROM {STREAM} [RANGE 1 SECOND SLIDE 1 SECOND] ON CLOSE;
"""


def serve(home: str) -> None:
    """Serve a home until the input ends."""
    gauge = sg.connect(home, engine="local", shards=1)
    gauge.stream(
        STREAM,
        sg.push(),
        schema=Schema.of(id="int", ts="time", value="float"),
        time="ts",
        key="id",
        tick="250 ms",
    )
    gauge.sql(QUERIES)
    with gauge, Server(gauge, Settings.of("http://127.0.0.1:0")) as server:
        gauge.start()
        gauge.drain()
        _say(server.address)
        sys.stdin.read()
    _say(json.dumps(_counted(gauge)))


def _counted(gauge: sg.Gauge) -> dict[str, float]:
    """What the journal has, and what the counting query answered."""
    with gauge:
        gauge.start()
        gauge.drain()
    journal = Journal(gauge.home)
    pages = [journal.page(number) for number in range(1, journal.last() + 1)]
    counts = gauge.answers("counted")["value"].to_pylist()
    return {
        "landed": sum(segment.rows for page in pages for segment in page.segments),
        "counted": sum(count or 0 for count in counts),
        "dead": gauge.dead_letters(STREAM).num_rows,
        "epochs": len(pages),
        "files": sum(len(page.segments) for page in pages),
    }


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
