"""A segment is read once for a page, whatever works on its rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.engine.shard import forget
from streamgauge.log import reader
from streamgauge.log.segments import write_parquet

DECLARED = (
    "CREATE STREAM {name} (ts TIME, k STRING, n INT, x FLOAT) FROM FILES '{rows}/{name}' "
    "TIME ts KEY k FUTURE ANY"
)
EVERYTHING = """
CREATE SUMMARY ks ON s(k) WITH GRANULARITY 4 SECONDS AND COLLAPSE(2, 2);
CREATE QUERY average AS SELECT AVG(x * 2) FROM s [RANGE 4 SECONDS];
CREATE QUERY grouped AS SELECT k, AVG(x) FROM s [RANGE 4 SECONDS] GROUP BY k;
CREATE QUERY newest AS SELECT SUM(x) FROM s [PARTITION BY k ROWS 1];
CREATE QUERY picked AS SELECT k, x FROM s WHERE x > 0.5;
CREATE QUERY joined AS SELECT s.k AS k, s.x AS x, t.n AS n
  FROM s [RANGE 4 SECONDS], t [RANGE 4 SECONDS] WHERE s.k = t.k;
CREATE QUERY pairs AS SELECT JOIN_SIZE(s.k, t.k)
  FROM s [RANGE 4 SECONDS], t [RANGE 4 SECONDS] WITHIN 10% RANK;
CREATE QUERY likely AS SELECT k, x FROM s [RANGE 4 SECONDS] WHERE k = 'a'
  WITH PREFERENCE DESC COUNT(k) BUDGET PROBES 20;
CREATE QUERY above AS SELECT k, x FROM s [RANGE 4 SECONDS]
  WHERE x > (SELECT AVG(n) FROM s [RANGE 4 SECONDS]);
"""


def arriving(start: int) -> pa.Table:
    """Ten seconds of rows."""
    rng = np.random.default_rng(start)
    ts = start * 10**6 + np.sort(rng.integers(0, 10 * 10**6, 90))
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "k": rng.choice(["a", "b", "c"], 90),
            "n": rng.integers(0, 2, 90),
            "x": rng.normal(0, 1, 90),
        }
    )


@pytest.mark.parametrize("reload", [False, True])
def test_segments_are_read_once_whatever_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reload: bool
) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    for name in ("s", "t"):
        gauge.sql(DECLARED.format(name=name, rows=tmp_path))
    gauge.sql(EVERYTHING)
    read: Counter[str] = Counter()
    opened = reader.open_segment

    def counted(segment, words):  # type: ignore[no-untyped-def]
        read[segment.path] += 1
        return opened(segment, words)

    monkeypatch.setattr(reader, "open_segment", counted)
    for start in (0, 10):
        for name in ("s", "t"):
            write_parquet(tmp_path / name / f"{start}.parquet", arriving(start))
        if reload:
            forget(gauge.home)
        gauge.step()
    assert set(read.values()) == {1}
    assert len(read) == 4
    assert {row["query"] for row in gauge.answers().to_pylist()} >= {"average", "newest", "pairs"}
    for name in ("picked", "joined", "likely", "above"):
        assert len(gauge.row_changes(name)), name
