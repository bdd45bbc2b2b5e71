"""A gauge to be killed while it reads a table again and again."""

from __future__ import annotations

import threading

import streamgauge as sg

JOINED = """
CREATE QUERY places AS
SELECT s.site, t.town, s.value FROM s [NOW] s JOIN towns t ON s.site = t.site
"""


def main(home: str, rows: str, towns: str) -> None:
    gauge = sg.connect(home, engine="local", shards=2)
    gauge.stream("s", source=sg.files(rows), time="ts", key="site")
    if "towns" not in gauge.trial().registry.tables:
        gauge.create_table("towns", towns, refresh="10 ms")
    if "places" not in gauge.trial().registry.queries:
        gauge.sql(JOINED)
    gauge.start()
    threading.Event().wait()
