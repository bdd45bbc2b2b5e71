"""MQTT as a Spark stream: `streamgauge_mqtt`, whose offsets are numbers of messages in a spool.

A broker cannot repeat what it was told is done, so messages are on the disk before they are
acknowledged, and Spark reads them from there as often as it wants. The process of the reader on
the driver listens; tasks read the parts of the spool, on the same machine or in a directory that
all see. What a batch has used is let go when Spark commits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from streamgauge.engine.subscriber import Subscriber
from streamgauge.engine.subscription import Subscription
from streamgauge.kernel.errors import StateTooOld
from streamgauge.log.messages import Piece

NAME = "streamgauge_mqtt"
SCHEMA = (
    "topic string, payload binary, received timestamp, qos int, retained boolean, size long, "
    "number long"
)
TASK_BYTES = 8 << 20


class Share(InputPartition):
    """Messages that one task reads."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces


class MqttReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Listens on the driver from the first question on; reads the spool where tasks run."""

    def __init__(self, options: dict[str, str]) -> None:
        self.subscription = Subscription.of(options)
        self.subscriber: Subscriber | None = None
        self.target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The oldest message of the spool that is wanted."""
        first = self._listening().messages.first
        return {"message": max(first, self.subscription.start)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """As many messages as a batch may have."""
        most = self.subscription.max_rows
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The newest message on the disk, or as far as one batch may go."""
        subscriber = self._listening()
        subscriber.check()
        begin, newest = start["message"], subscriber.messages.next
        if begin > newest:
            raise StateTooOld(
                "the checkpoint is ahead of the spool of its messages",
                f"it has used {begin}, {self.subscription.spool} has seen {newest}",
                "bring the spool back, or remove the checkpoint and begin anew",
            )
        if begin == newest and subscriber.messages.full:
            # Spark commits a batch when it plans the next, which would wait for room to be made.
            subscriber.messages.let_go(begin)
        end = newest if self.target is None else max(begin, min(newest, self.target))
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return {"message": end}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """The newest message, whatever a batch may have."""
        return {"message": self._listening().messages.next}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let what comes from now on wait for another run."""
        self.target = self._listening().messages.next

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Shares of about the same size, in the order of arrival."""
        pieces = self._listening().messages.pieces(start["message"], end["message"])
        shares: dict[int, list[Piece]] = {}
        for piece, upto in zip(pieces, accumulate(p.size for p in pieces), strict=True):
            shares.setdefault((upto - piece.size) // TASK_BYTES, []).append(piece)
        return [Share(share) for share in shares.values()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Messages as columns."""
        assert isinstance(partition, Share)
        for piece in partition.pieces:
            yield from piece.numbered()

    def commit(self, end: dict[str, int]) -> None:
        """Let go of what all batches up to `end` have used."""
        if self.subscriber is not None:
            self.subscriber.messages.let_go(end["message"])

    def stop(self) -> None:
        """Leave the broker."""
        subscriber, self.subscriber = self.subscriber, None
        if subscriber is not None:
            subscriber.close()

    def _listening(self) -> Subscriber:
        # Readers are made in several processes; the one that is asked for offsets listens.
        if self.subscriber is None:
            self.subscriber = Subscriber(self.subscription).open()
        return self.subscriber


class MqttSource(DataSource):
    """Topics of an MQTT broker as a streaming DataFrame.

    Options are those of `Subscription`: url, topic and spool at least.
    """

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return NAME

    def schema(self) -> str:
        """Columns of a message; the payload is null where it was larger than max_message."""
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Reader of the topics."""
        return MqttReader(dict(self.options))


def register(session: SparkSession) -> None:
    """Make the format known to a session."""
    session.dataSource.register(MqttSource)
