"""Answers in a topic of Kafka: a record for each, an epoch in one transaction or a few.

The place that is committed with the records is the epoch in hand and how many parts of it are
there. The parts of an epoch are always the same, so a delivery that was cut off goes on with the
part that is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import SourceFailure, TargetFailure
from streamgauge.plan.sink import Destination
from streamgauge.results.row_blocks import HEAD
from streamgauge.sinks.batch import Batch
from streamgauge.sinks.encode import (
    answers_json,
    column_json,
    floats_json,
    instants_json,
    objects_json,
    rows_json,
)
from streamgauge.sinks.transactions import FAILURES, Record, TransactionalTopic, is_shut_out
from streamgauge.targets.target_kind import SinkSite

# Records of one transaction: a few seconds of work, far less than brokers wait for the end of one.
PART = 50_000
_PARTS = 1 << 20
TIMEOUT_SECONDS = 20.0


def place_of(epoch: int, parts: int = 0) -> int:
    """An epoch in hand and how many parts of it are written, as one number.

    >>> place_of(7, 3), read_place(place_of(7, 3))
    (7340035, (7, 3))
    """
    return epoch * _PARTS + parts


def read_place(place: int) -> tuple[int, int]:
    """The epoch in hand and how many parts of it are written."""
    return divmod(place, _PARTS)


class TopicWriter:
    """Writes the answers of one sink.

    Parameters
    ----------
    to
        Brokers and topic.
    identity
        What tells this sink from all others.
    part
        Records of one transaction.
    """

    def __init__(self, to: Destination, identity: str, *, part: int = PART) -> None:
        self.to = to
        self.part = part
        self.shut_out = False
        self._topic = TransactionalTopic(
            to.address, to.place, identity, login=to.login, timeout=TIMEOUT_SECONDS
        )
        self._begun = (0, 0)

    def connect(self, place: int) -> int:
        """Find the last epoch that is there whole; `place` is the last one that was noted."""
        try:
            found = self._topic.connect()
        except SourceFailure as error:
            raise TargetFailure(error.what, error.detail, error.hint) from error
        except FAILURES as error:
            raise self._failed(error) from error
        self._begun = read_place(found or 0)
        # The brokers forget the place of a group that was away for a week; the note does not.
        return max(place, self._begun[0] - 1)

    def prune(self, versions: Mapping[str, int]) -> None:
        """Leave the topic as it is: what was written stays."""

    def write(self, batch: Batch) -> None:
        """Write what is not there yet of an epoch."""
        records = records_of(batch)
        parts = max(1, -(-records.num_rows // self.part))
        begun, there = self._begun
        try:
            for number in range(there if begun == batch.epoch else 0, parts):
                last = number + 1 == parts
                place = place_of(batch.epoch + 1) if last else place_of(batch.epoch, number + 1)
                rows = records.slice(number * self.part, self.part)
                self._topic.write(_records(rows, batch.epoch), place)
                self._begun = read_place(place)
        except FAILURES as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Leave the brokers."""
        self._topic.close()

    def _failed(self, error: Exception) -> TargetFailure:
        # What became of the transaction is found out when the next attempt connects.
        self.close()
        self.shut_out = is_shut_out(error)
        if self.shut_out:
            return TargetFailure(
                "another job delivers for this sink",
                f"{self.to}: {error.args[0].str()}",
                "stop the other job, then start this one anew",
            )
        return TargetFailure(
            f"Kafka does not take answers: {error.args[0].name()}",
            f"{self.to}: {error.args[0].str()}",
            "see that the brokers are up and let this job write the topic; it is tried again",
        )


def records_of(batch: Batch) -> pa.Table:
    """Key, value, query and version of each record of an epoch, in the order of event time."""
    answers = batch.answers
    keys = pc.binary_join_element_wise(answers["query"], answers["group"], "")
    tables = [_table(answers, keys, answers_json(answers))] if answers.num_rows else []
    tables += [_table(rows, rows["query"], _changes_json(rows)) for rows in batch.rows]
    if not tables:
        return _RECORDS.empty_table()
    whole = pa.concat_tables(tables)
    times = np.asarray(whole["as_of"].cast(pa.int64()).to_numpy())
    return whole.take(pa.array(np.argsort(times, kind="stable")))


_RECORDS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("query", pa.string()),
        ("version", pa.int32()),
        ("as_of", pa.timestamp("us", tz="UTC")),
    ]
)


def _table(given: pa.Table, keys: pa.ChunkedArray, values: pa.Array) -> pa.Table:
    columns = [keys.cast(pa.binary()), values, given["query"], given["version"], given["as_of"]]
    return pa.table(columns, schema=_RECORDS)


def writer(to: Destination, site: SinkSite) -> TopicWriter:
    """The writer of a sink; its name and birth tell it from all others."""
    digest = hashlib.sha256(f"{site.sink} {site.born}".encode()).hexdigest()[:16]
    return TopicWriter(to, f"streamgauge-sinks-{site.origin}-{digest}")


def _changes_json(table: pa.Table) -> pa.Array:
    """Changes of rows in the one JSON shape of `RowChange.as_dict`."""
    own = [name for name in table.column_names if name not in HEAD.names]
    head = {name: table[name].combine_chunks() for name in HEAD.names}
    return objects_json(
        {
            "query": column_json(head["query"]),
            "version": column_json(head["version"]),
            "row": rows_json(table.select(own)).cast(pa.string()),
            "count": column_json(head["count"]),
            "as_of": instants_json(head["as_of"]),
            "epoch": column_json(head["epoch"]),
            "missing": column_json(head["missing"]),
            "contract_met": column_json(head["contract_met"]),
            "share": floats_json(head["regions_share"]),
            "unseen": floats_json(head["rows_unseen"]),
            "coverage": floats_json(head["window_coverage"]),
        }
    )


def _records(rows: pa.Table, epoch: int) -> Iterator[Record]:
    """Rows as records; those of one query and version share their headers."""
    made: dict[tuple[str, int], list[tuple[str, bytes]]] = {}
    columns = (rows[name].to_pylist() for name in ("key", "value", "query", "version"))
    number = str(epoch).encode()
    for key, value, query, version in zip(*columns, strict=True):
        headers = made.get((query, version))
        if headers is None:
            headers = [
                ("query", query.encode()),
                ("version", str(version).encode()),
                ("epoch", number),
            ]
            made[query, version] = headers
        yield Record(key, value, headers)
