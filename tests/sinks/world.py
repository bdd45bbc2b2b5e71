"""A running plant whose readings a test writes, and readers of what its sinks delivered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import confluent_kafka
import psycopg

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.sinks.report import Progress, read

QUERIES = """
CREATE QUERY heat AS SELECT SUM(value) FROM plant [PARTITION BY series ROWS 1] ON CHANGE;
CREATE QUERY sites AS SELECT site, AVG(value) FROM plant [RANGE 2 SECONDS] GROUP BY site
  EVERY 1 SECOND;
CREATE QUERY hot AS SELECT series, value FROM plant [RANGE 2 SECONDS] WHERE value > 100
"""


class World:
    """A home fed with readings second by second while its job runs."""

    def __init__(self, folder: Path, gauge: sg.Gauge | None = None) -> None:
        self.source = folder / "source"
        self.source.mkdir()
        self.second = 0
        self.gauge = gauge or sg.connect(folder / "home", engine="local")
        schema = sg.Schema.of(ts="time", series="string", site="string", value="float")
        files = sg.files(self.source, "csv")
        self.gauge.stream("plant", files, time="ts", key="series", schema=schema)
        self.gauge.sql(QUERIES)

    def read(self, *values: float, site: str = "north") -> None:
        """One reading a second, answered once the job runs."""
        for value in values:
            self.second += 1
            minute, second = divmod(self.second, 60)
            row = f"2026-01-01T00:{minute:02d}:{second:02d}Z,a,{site},{value}\n"
            path = self.source / f"{self.second:06d}.csv"
            # Names with a dot in front are not taken for files of the stream.
            partial = path.with_name(f".{path.name}")
            partial.write_text(f"ts,series,site,value\n{row}")
            partial.rename(path)

    def sinks(self) -> dict[str, Progress]:
        known = read(self.gauge.home, self.gauge.registry().sinks)
        return {progress.standing.sink.name: progress for progress in known}

    def deliver(self) -> None:
        """Wait until all that is there is answered and delivered."""
        self.gauge.drain(timeout=150)
        wait_until(self.current, 60, what="all deliveries")

    def current(self) -> bool:
        return all(progress.state == "current" for progress in self.sinks().values())

    def failing(self, name: str) -> dict[str, str]:
        """Wait until a sink fails; what is told of it."""

        def told() -> dict[str, str] | None:
            known = self.sinks().get(name)
            return known.failure if known is not None else None

        found = wait_until(told, 120, what="a failure")
        assert found is not None
        return found


def rows_in(url: str, table: str) -> list[dict[str, Any]]:
    """Rows of a table as the newest answers would say them."""
    with psycopg.connect(url) as connection:
        cursor = connection.execute(f"SELECT * FROM {table} ORDER BY query, key".encode())
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def as_told(gauge: sg.Gauge, *queries: str) -> list[dict[str, Any]]:
    """The newest answers of a home as rows of a table; revisions are not among them."""
    told = []
    for answer in gauge.latest():
        if not queries or answer.query in queries:
            plain = answer.as_dict()
            group = plain.pop("group")
            plain["key"] = json.dumps(group) if group else ""
            del plain["revision"]
            told.append(plain)
    return sorted(told, key=lambda row: (row["query"], row["key"]))


def as_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a table in the same words."""
    told = []
    for row in rows:
        at = row["as_of"].isoformat().replace("+00:00", "Z")
        told.append({**{n: v for n, v in row.items() if n != "revision"}, "as_of": at})
    return told


def records_in(broker: str, topic: str) -> list[Any]:
    """All committed records of a topic."""
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": broker, "group.id": "test", "auto.offset.reset": "earliest",
         "isolation.level": "read_committed", "enable.partition.eof": True,
         "enable.auto.commit": False}
    )  # fmt: skip
    reader.subscribe([topic])
    found: list[Any] = []
    while True:
        record = reader.poll(60.0)
        assert record is not None, f"only {len(found)} records"
        error = record.error()
        if error:
            assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
            reader.close()
            return found
        found.append(record)


def given(gauge: sg.Gauge, *, since: int = 0) -> list[str]:
    """All that a home has answered after an epoch, numbers and rows, as sorted JSON."""
    told = [answer.as_dict() for answer in gauge.subscribe(since_epoch=since, timeout=0.0)]
    rows = gauge.subscribe_rows("hot", since_epoch=since, timeout=0.0)
    told += [change.as_dict() for change in rows]
    return sorted(json.dumps(one, sort_keys=True) for one in told)


def said(records: list[Any]) -> list[str]:
    """What records say, in the same words."""
    return sorted(json.dumps(json.loads(record.value()), sort_keys=True) for record in records)
