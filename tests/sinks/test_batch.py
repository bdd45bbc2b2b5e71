"""What a sink has to deliver of an epoch: the answers that somebody asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.plan.shadows import shadows_of
from streamgauge.plan.sink import Sink, to_kafka, to_postgres
from streamgauge.results.change_log import epochs_after
from streamgauge.sinks.batch import read_batch
from tests.sinks.world import World

pytestmark = pytest.mark.slow


def test_a_sink_of_all_queries_delivers_nothing_of_the_shadows_of_the_auditor(
    tmp_path: Path,
) -> None:
    gauge, shadows = World(tmp_path).gauge, shadows_of("heat")
    trial = gauge.trial()
    for name in shadows:
        shadow = sg.Query(name, "plant", sg.count(), window=sg.Now(), answer=sg.every("1 s"))
        trial.apply({"do": "shadow", "query": shadow.as_dict()})
    gauge.take(trial)
    rows = "".join(f"2026-01-01T00:00:0{second}Z,a,north,101\n" for second in range(5))
    (tmp_path / "source" / "rows.csv").write_text(f"ts,series,site,value\n{rows}")
    while gauge.step():
        pass
    assert set(gauge.answers()["query"].to_pylist()) == {"heat", "sites", *shadows}
    kafka = Sink("records", (), to_kafka("broker:9092", "answers"))
    postgres = Sink("table", (), to_postgres("postgresql://db/plant", "answers"))
    for sink, expected in ((kafka, {"heat", "sites", "hot"}), (postgres, {"heat", "sites"})):
        batches = [read_batch(gauge.home, epoch, sink) for epoch in epochs_after(gauge.home, 0)]
        delivered = [table["query"] for batch in batches for table in (batch.answers, *batch.rows)]
        assert set(pa.chunked_array(delivered).to_pylist()) == expected
