"""A job to be killed: runs the queries of these tests on what agents tell, until its input ends.

Usage: job.py HOME LISTEN [BROKER] [TOKENS]
"""

from __future__ import annotations

import sys

import streamgauge as sg

SITES = ("east", "west", "north")
TAGS = ("a", "b", "c", "d")
STREAM = """
CREATE STREAM tags (site STRING, tag STRING, ts TIME, value FLOAT, width FLOAT)
    FROM EDGE '{listen}' KEY site, tag TIME ts WIDTH width TICK 1 s LATENCY 3 s BEAT 500 ms
    {broker} {tokens};
"""
# Sums and means over all sites, over one, over some tags of one, and extremes. Objects of the site
# `liar` are in one query of their own, so that the others can be held against the truth.
QUERIES = """
CREATE QUERY heard AS
SELECT COUNT(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site <> 'liar' EVERY 1 s;
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


def main(home: str, listen: str, broker: str = "", tokens: str = "") -> None:
    with sg.connect(home, engine="local") as gauge:
        if "heard" not in gauge._expected.queries:
            stream = STREAM.format(
                listen=listen,
                broker=f"BROKER '{broker}'" if broker else "",
                tokens=f"TOKENS '{tokens}'" if tokens else "",
            )
            gauge.sql(stream + QUERIES)
        gauge.start()
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
