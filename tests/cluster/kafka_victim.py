"""A driver to be killed: takes numbers from a topic and delivers each to another.

Usage: kafka_victim.py HOME BROKER MASTER
"""

from __future__ import annotations

import sys
import threading

import streamgauge as sg

EACH = "CREATE QUERY each AS SELECT ISTREAM(number) FROM numbers [NOW] WHERE number > -5"


def main(home: str, broker: str, master: str) -> None:
    small = {"spark.driver.memory": "1g", "spark.executor.memory": "700m"}
    gauge = sg.connect(home, master=master, shards=2, settings=small)
    gauge.stream(
        "numbers",
        sg.kafka(broker, "numbers"),
        time="ts",
        schema=sg.Schema.of(number="int", ts="time"),
    )
    if "each" not in gauge.trial().registry.queries:
        gauge.sql(EACH)
        gauge.create_sink("out", sg.to_kafka(broker, "answers"))
    gauge.start()
    while not threading.Event().wait(0.5):
        gauge.check()


if __name__ == "__main__":
    main(*sys.argv[1:])
