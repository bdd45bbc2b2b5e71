"""The same protocol over a real Kafka broker."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.edge.agent import Agent
from tests.kafka_broker import kafka

pytestmark = [pytest.mark.jvm, pytest.mark.broker]
pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")


def test_reports_travel_over_kafka(tmp_path: Path) -> None:
    with kafka(tmp_path) as broker:
        gauge = sg.connect(tmp_path / "home", engine="local")
        source = sg.agents("http://127.0.0.1:0", broker=f"kafka://{broker}", latency="2 s")
        gauge.stream("hosts", source)
        asked = sg.Query(
            "all",
            "hosts",
            sg.total("value"),
            window=sg.Latest(),
            contract=sg.Contract.absolute(1.0),
        )
        gauge.register(asked)
        values = count(step=0.25)
        with gauge.start(), Agent(f"kafka://{broker}", "hosts", "pump", state=tmp_path / "a") as a:

            def sound() -> bool:
                a.feed("flow", next(values))
                found = gauge.latest("all")
                return bool(found) and found[0].basis == "filter" and found[0].contract_met

            wait_until(sound, 90, what="an answer within its contract")
            (answer,) = gauge.latest("all")
            assert answer.high - answer.low <= 2.0 + 1e-9
            assert gauge.agents().to_pylist()[0]["reports"] > 0
