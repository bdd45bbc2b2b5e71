"""A job that reads MQTT until it is killed."""

from __future__ import annotations

import threading

import streamgauge as sg

SCHEMA = sg.Schema.of(id="int", ts="time", value="float", mqtt_topic="string")


def declared(home: str, url: str, engine: str = "local") -> sg.Gauge:
    gauge = sg.connect(home, engine=engine, shards=1, master=None)
    source = sg.mqtt(url, "sensors/#")
    gauge.stream(
        "m", source, time="ts", key="mqtt_topic", schema=SCHEMA, late=sg.Late.allow("1 day")
    )
    return gauge


def main(home: str, url: str) -> None:
    with declared(home, url) as gauge:
        gauge.start()
        while True:
            gauge.check()
            threading.Event().wait(0.01)
