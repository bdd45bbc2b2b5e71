"""A gauge that replays rows until it is killed."""

from __future__ import annotations

import threading

import streamgauge as sg


def main(home: str, data: str) -> None:
    gauge = sg.connect(home, engine="local")
    gauge.stream("s", source=sg.replay(data, speed=300), time="ts", keep="1 day")
    gauge.start()
    threading.Event().wait()
