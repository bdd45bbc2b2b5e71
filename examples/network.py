"""Standing queries about a small network, all of them written in the language.

Packets of forty flows are made here, two minutes of them; one host sends more than its share. The
questions are those that made stream systems necessary: traffic over the mean, hosts that talk to
many others, answers that miss their request.

Run it with `python examples/network.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg

PACKETS = 1_200
SECONDS = 120
BEGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


def packets() -> pa.Table:
    """Packets in order of time: who, to whom, how many bytes, whether it opens a connection."""
    dice = np.random.default_rng(7)
    # The second host sends as much as the five others together.
    source = dice.choice(6, PACKETS, p=[0.1, 0.5, 0.1, 0.1, 0.1, 0.1])
    target = np.where(source == 4, dice.integers(0, 50, PACKETS), dice.integers(0, 5, PACKETS))
    moments = BEGIN + np.sort(dice.integers(0, SECONDS * 1_000_000, PACKETS))
    return pa.table(
        {
            "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "source": pa.array([f"10.0.0.{host}" for host in source.tolist()]),
            "target": pa.array([f"10.1.0.{host}" for host in target.tolist()]),
            "bytes": pa.array(dice.integers(40, 1500, PACKETS)),
            "opens": pa.array(dice.random(PACKETS) < 0.1),
        }
    )


STATEMENTS = """
CREATE STREAM packets FROM FILES 'packets' FORMAT parquet KEY source TIME ts;

-- How much there is, each half minute.
CREATE QUERY load AS
SELECT SUM(bytes) FROM packets [RANGE 30 SECONDS] EVERY 30 SECONDS;

-- How many partners a host has, give or take five percent.
CREATE QUERY partners AS
SELECT source, APPROX_COUNT_DISTINCT(target) FROM packets [RANGE 1 MINUTE]
GROUP BY source EVERY 1 MINUTE WITHIN 5 PERCENT CONFIDENCE 95%;

-- Hosts with more than a quarter of all packets of the last minute.
CREATE QUERY heavy AS
WITH everything AS (SELECT COUNT(*) AS n FROM packets [RANGE 1 MINUTE]),
     each_host AS (SELECT source, COUNT(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY source)
SELECT h.source, h.n FROM each_host h, everything e WHERE 4 * h.n > e.n
EVERY 1 MINUTE;

-- Packets of connections that were opened in the same second.
CREATE QUERY opened AS
SELECT ISTREAM(p.source, p.target, p.bytes)
FROM packets [NOW] p JOIN packets [NOW] o ON p.source = o.source AND p.target = o.target
WHERE o.opens AND NOT p.opens;
"""


def main() -> None:
    """Declare, run and read."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        (directory / "packets").mkdir()
        pq.write_table(packets(), directory / "packets" / "first.parquet")
        with sg.connect(directory / "home", engine="local") as gauge:
            gauge.sql(STATEMENTS.replace("'packets'", f"'{directory / 'packets'}'"))
            gauge.sql("ADVANCE STREAM packets TO '2026-01-01T00:02:01Z'")
            gauge.start()
            gauge.drain()
            for answer in gauge.latest("load"):
                print(answer)
            for answer in gauge.latest("partners"):
                print(answer)
            for row in gauge.rows("heavy").to_pylist():
                print(f"heavy: {row['source']} sent {row['n']} packets in the last minute")
            print(f"opened: {gauge.row_changes('opened').num_rows} packets")


if __name__ == "__main__":
    main()
