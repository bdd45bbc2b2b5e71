"""A job with two sinks, to be killed: runs a home until all is answered and delivered."""

from __future__ import annotations

from pathlib import Path

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.sinks import delivery
from streamgauge.sinks.report import read
from tests.sinks.world import QUERIES


def main(home: str, source: str, broker: str, topic: str, database: str) -> None:
    delivery.FIRST_WAIT = 0.05
    gauge = sg.connect(home, engine="local", max_rows=2)
    schema = sg.Schema.of(ts="time", series="string", site="string", value="float")
    gauge.stream("plant", sg.files(source, "csv"), time="ts", key="series", schema=schema)
    if "heat" not in gauge.trial().registry.queries:
        gauge.sql(QUERIES)
        gauge.create_sink("topic", sg.to_kafka(broker, topic))
        gauge.create_sink("table", sg.to_postgres(database, "answers"))

    def done() -> bool:
        known = read(gauge.home, gauge.registry().sinks)
        return len(known) == 2 and all(progress.state == "current" for progress in known)

    gauge.start()
    gauge.drain(timeout=120)
    wait_until(done, 120, what="all deliveries")
    gauge.stop()
    (Path(home) / "done").touch()
