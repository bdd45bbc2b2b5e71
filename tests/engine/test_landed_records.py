"""Records of brokers become rows or dead letters, and a letter names the record it is of."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine.message_landing import parse_messages
from streamgauge.engine.spark.kafka_task import LandRecords
from streamgauge.streams.stream import Stream

pytestmark = pytest.mark.slow
GOOD = b'{"ts": "2026-01-01T00:00:00Z", "id": "a", "v": 1.5}'


def declared(tmp_path: Path, source: str) -> Stream:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    gauge.sql(f"CREATE STREAM m (ts TIME, id STRING, v FLOAT) FROM {source} TIME ts KEY id")
    return gauge.trial().registry.streams["m"]


def test_a_message_that_is_too_large_hides_no_other_dead_letter(tmp_path: Path) -> None:
    stream = declared(tmp_path, "MQTT 'mqtt://127.0.0.1:1' TOPIC 't' FORMAT json")
    payloads = [GOOD, b"junk", None, GOOD]
    messages = pa.table(
        {
            "topic": ["t"] * 4,
            "payload": pa.array(payloads, pa.binary()),
            "received": pa.array([1_767_225_600_000_000] * 4, pa.timestamp("us", tz="UTC")),
            "qos": pa.array([1] * 4, pa.int32()),
            "retained": [False] * 4,
            "size": [len(GOOD), 4, 2_000_000, len(GOOD)],
            "number": [7, 8, 9, 10],
        }
    )
    parsed = parse_messages(messages, stream)
    assert parsed.table.num_rows == 2
    letters = {row["origin"]: row["reason"] for row in parsed.rejects.to_pylist()}
    assert set(letters) == {"mqtt:t:8", "mqtt:t:9"}
    assert "2,000,000 bytes" in letters["mqtt:t:9"]


def test_a_dead_letter_of_kafka_names_the_offset_in_its_partition(tmp_path: Path) -> None:
    stream = declared(tmp_path, "KAFKA '127.0.0.1:1' TOPIC 't' FORMAT json")
    records = pa.record_batch(
        {
            "key": pa.array([None] * 3, pa.binary()),
            "value": pa.array([GOOD, b"junk", GOOD], pa.binary()),
            "partition": pa.array([2, 2, 2], pa.int32()),
            "offset": pa.array([40, 41, 42], pa.int64()),
            "timestamp": pa.array([0] * 3, pa.timestamp("us", tz="UTC")),
        }
    )
    (receipt,) = LandRecords(stream.as_dict(), "t", str(tmp_path))(iter([records]))
    told = receipt.to_pylist()[0]
    assert (told["partition"], told["first"], told["last"], told["rows"]) == (2, 40, 42, 2)
    (letter,) = pq.read_table(told["letters"]).to_pylist()
    assert letter["origin"] == "kafka:t-2:41"
