"""The papers' questions about traffic asked of real packets, with DuckDB as the exact answer.

`STREAMGAUGE_DATA` names a directory with `packets/packets_ndpi.parquet`: headers of the captures
that are published with nDPI. Without it these tests are skipped.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.kernel.time import SECOND
from streamgauge.streams.schema import Schema

duckdb = pytest.importorskip("duckdb")

DATA = os.environ.get("STREAMGAUGE_DATA")
CAPTURES = Path(DATA or "") / "packets" / "packets_ndpi.parquet"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (DATA and CAPTURES.exists()),
        reason="STREAMGAUGE_DATA names no directory with packets/packets_ndpi.parquet",
    ),
]

# Ten minutes of a peer-to-peer network: 3882 packets between 646 pairs, a clock near 1970.
TRACE = "gnutella.pcap"
CHECKPOINTS = (100, 180, 300, 420, 590)
SCHEMA = Schema.of(ts="time", src="string", dst="string", sport="int", dport="int", len="int")
COLUMNS = ", ".join(SCHEMA.names)
# Every packet is on the backbone; every third on each router, every fourth of a customer.
LINKS = {
    "pt_b": "true",
    "pt_c": "n % 4 = 0",
    "r1": "n % 3 = 0",
    "r2": "n % 3 = 1",
    "r3": "n % 3 = 2",
}
SAME = " AND ".join(f"c.{name} = b.{name}" for name in ("src", "dst", "sport", "dport", "len"))

# Each as asked here, and as DuckDB asks it of the packets up to an instant and of a last minute.
QUESTIONS = {
    "minutes": (
        "SELECT getminute(ts) AS minute, SUM(len) AS load FROM pt_b GROUP BY getminute(ts)"
        " HAVING SUM(len) > 40000",
        "SELECT epoch_us(ts) // 60000000 AS minute, SUM(len)::BIGINT FROM pt_b GROUP BY minute"
        " HAVING SUM(len) > 40000",
    ),
    "share": (
        "SELECT (SELECT COUNT(*) FROM pt_c [RANGE 1 MINUTE] AS c, pt_b [RANGE 1 MINUTE] AS b"
        f" WHERE {SAME}) / COUNT(*) AS share FROM pt_b [RANGE 1 MINUTE]",
        f"SELECT (SELECT COUNT(*) FROM pt_c_minute AS c, pt_b_minute AS b WHERE {SAME})"
        " / COUNT(*) AS share FROM pt_b_minute",
    ),
    "heavy": (
        "WITH load AS (SELECT src, dst, SUM(len) AS traffic FROM pt_b GROUP BY src, dst)"
        " SELECT src, dst, traffic FROM load AS l1"
        " WHERE (SELECT COUNT(*) FROM load AS l2 WHERE l2.traffic < l1.traffic)"
        " > (SELECT 0.95 * COUNT(*) FROM load) ORDER BY traffic",
        "WITH load AS (SELECT src, dst, SUM(len)::BIGINT AS traffic FROM pt_b GROUP BY src, dst)"
        " SELECT src, dst, traffic FROM load AS l1"
        " WHERE (SELECT COUNT(*) FROM load AS l2 WHERE l2.traffic < l1.traffic)"
        " > (SELECT 0.95 * COUNT(*) FROM load)",
    ),
    "top": (
        "SELECT src, dst, COUNT(*) AS frequency FROM r1 [RANGE 1 MINUTE] GROUP BY src, dst"
        " ORDER BY COUNT(*) DESC, src, dst LIMIT 20",
        "SELECT src, dst, COUNT(*) AS frequency FROM r1_minute GROUP BY src, dst"
        " ORDER BY frequency DESC, src, dst LIMIT 20",
    ),
    "sets": (
        "SELECT COUNT(*) AS n FROM ((SELECT src, dst FROM r1 [RANGE 1 MINUTE]"
        " INTERSECT SELECT src, dst FROM r2 [RANGE 1 MINUTE])"
        " EXCEPT SELECT src, dst FROM r3 [RANGE 1 MINUTE])",
        "SELECT COUNT(*) AS n FROM ((SELECT src, dst FROM r1_minute"
        " INTERSECT SELECT src, dst FROM r2_minute) EXCEPT SELECT src, dst FROM r3_minute)",
    ),
    "joined": (
        "SELECT COUNT(*) AS n FROM r1 [RANGE 1 MINUTE], r2 [RANGE 1 MINUTE] WHERE r1.src = r2.dst",
        "SELECT COUNT(*) AS n FROM r1_minute AS r1, r2_minute AS r2 WHERE r1.src = r2.dst",
    ),
}  # fmt: skip


@pytest.fixture
def packets() -> Any:
    found = duckdb.connect()
    found.execute(
        f"CREATE TABLE packets AS SELECT *, row_number() OVER (ORDER BY ts) AS n"
        f" FROM '{CAPTURES}' WHERE trace = '{TRACE}'"
    )
    yield found
    found.close()


def between(packets: Any, link: str, after: int, upto: int) -> pa.Table:
    """The packets of a link in a span of seconds."""
    rows = packets.sql(
        f"SELECT {COLUMNS} FROM packets WHERE {LINKS[link]}"
        f" AND epoch_us(ts) > {after * SECOND} AND epoch_us(ts) <= {upto * SECOND} ORDER BY n"
    ).to_arrow_table()
    return rows.cast(SCHEMA.to_arrow())


def truth(packets: Any, text: str, checkpoint: int) -> Counter[tuple[Any, ...]]:
    """What DuckDB says of all packets up to a second."""
    for link, where in LINKS.items():
        upto = f"SELECT * FROM packets WHERE {where} AND epoch_us(ts) <= {checkpoint * SECOND}"
        packets.execute(f"CREATE OR REPLACE TEMP VIEW {link} AS {upto}")
        last = f"{upto} AND epoch_us(ts) > {(checkpoint - 60) * SECOND}"
        packets.execute(f"CREATE OR REPLACE TEMP VIEW {link}_minute AS {last}")
    return Counter(packets.execute(text).fetchall())


@pytest.mark.parametrize("shards", [1, 3])
def test_real_packets(tmp_path: Path, packets: Any, shards: int) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=shards)
    for link in LINKS:
        (tmp_path / link).mkdir()
        gauge.stream(
            link, sg.files(tmp_path / link), time="ts", schema=SCHEMA, keep="1 hour", future=None
        )
    gauge.sql(";".join(f"CREATE QUERY {n} AS {text}" for n, (text, _) in QUESTIONS.items()))
    before = 0
    for checkpoint in CHECKPOINTS:
        for link in LINKS:
            rows = between(packets, link, before, checkpoint)
            pq.write_table(rows, tmp_path / link / f"{checkpoint}.parquet")
            gauge.advance(link, checkpoint * SECOND + 1)
        while gauge.step():
            pass
        assert gauge.refusals() == []
        for name, (_, exact) in QUESTIONS.items():
            given = Counter(tuple(row.values()) for row in gauge.rows(name).to_pylist())
            assert given == truth(packets, exact, checkpoint), (name, checkpoint)
        gauge.stop()
        gauge, before = sg.connect(tmp_path / "home", engine="local"), checkpoint
