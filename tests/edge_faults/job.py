"""A job to be killed: runs the queries of these tests on what agents tell."""

from __future__ import annotations

import threading

import streamgauge as sg

SITES = ("east", "west", "north")
TAGS = ("a", "b", "c", "d")
TICK = 250_000
SCHEMA = sg.Schema.of(site="string", tag="string", ts="time", value="float", width="float")
# Sums and means over all sites, over one, over some tags of one, and extremes. Objects of the site
# `liar` are in one query of their own, so that the others can be held against the truth.
QUERIES = """
CREATE QUERY heard AS
SELECT COUNT(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site <> 'liar' EVERY 250 ms;
CREATE QUERY total AS
SELECT SUM(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site <> 'liar'
GUARANTEED WITHIN 12;
CREATE QUERY east AS
SELECT AVG(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site = 'east'
GUARANTEED WITHIN 1.5;
CREATE QUERY west AS
SELECT SUM(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site = 'west' AND tag <> 'd'
GUARANTEED WITHIN 3;
CREATE QUERY highest AS
SELECT MAX(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site <> 'liar'
GUARANTEED WITHIN 2;
CREATE QUERY lowest AS
SELECT MIN(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site = 'east' OR site = 'west'
GUARANTEED WITHIN 2;
CREATE QUERY lies AS
SELECT SUM(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site = 'liar'
GUARANTEED WITHIN 1;
"""


def main(home: str, beat: str, broker: str, tokens: str) -> None:
    with sg.connect(home, engine="local") as gauge:
        source = sg.agents(
            "http://127.0.0.1:0",
            broker=broker or None,
            latency="1 s",
            beat=beat,
            adjust="2 s",
            tokens=tokens or None,
        )
        key = ("site", "tag")
        gauge.stream(
            "tags", source, key=key, time="ts", width="width", schema=SCHEMA, tick="250 ms"
        )
        if "heard" not in gauge._expected.queries:
            gauge.sql(QUERIES)
        gauge.start()
        threading.Event().wait()
