"""Kafka: records of a topic become batches of clean rows, each record in one batch and no other.

Spark's connector reads, workers parse and write, this process gathers their receipts and puts each
batch into its place at once, with the offsets it ends at. A start goes on from the offsets of the
newest batch, so what Spark remembers of its own is never needed to be right.
"""

from __future__ import annotations

import json
import logging
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.engine.feed import ThreadFeed
from streamgauge.engine.spark.jars import check_session
from streamgauge.engine.spark.kafka_task import COLUMNS, RECEIPT_DDL, LandRecords
from streamgauge.engine.spark.kafka_topic import Bounds, TopicAway, topic_bounds
from streamgauge.engine.spark.tries import Tries
from streamgauge.engine.spark.wording import brief
from streamgauge.kernel.errors import EngineFailure, SourceFailure, StreamgaugeError
from streamgauge.kernel.files import number_name
from streamgauge.kernel.login import Login
from streamgauge.kernel.secrets import resolved
from streamgauge.log.batches import DEAD, Batch, newest_batch, put_batch
from streamgauge.log.home import Home
from streamgauge.log.segments import write_parquet
from streamgauge.sources.kafka_login import java_settings
from streamgauge.sources.rejects import Rejects
from streamgauge.streams.stream import Stream

# Records of one batch: bounded, so that a backlog of any size fits into memory.
MAX_OFFSETS = 2_000_000
# With the connector's own three minutes would pass before a broker that is away is told of.
_PATIENCE = {"kafka.default.api.timeout.ms": "15000", "kafka.request.timeout.ms": "10000"}
EARLIEST = -2
Gap = tuple[int, int, int]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a landing goes on: the number of its next batch, and the next offset by partition."""

    number: int
    ends: dict[int, int]


class KafkaFeed(ThreadFeed):
    """Lands one stream, over and over until it is stopped.

    Parameters
    ----------
    session
        Spark's session, started with the connector.
    home
        Where batches go.
    stream
        Its source names servers, topic, format and what a gap means.
    """

    def __init__(self, session: SparkSession, home: Home, stream: Stream) -> None:
        check_session(session, "kafka")
        super().__init__(stream)
        self.session = session
        self.source = stream.source_dict()
        self.topic = str(self.source["topic"])
        self.directory = home.incoming(stream.name)
        self.parts = self.directory / "_parts"
        self.checkpoints = home.root / "landing" / stream.name
        self._query: StreamingQuery | None = None
        self._ends: dict[int, int] = {}

    def interrupt(self) -> None:
        """End the query, which would wait for records."""
        if self._query is not None:
            self._query.stop()

    def goal(self) -> dict[int, int]:
        """The offsets that the topic ends at now; empty when nobody can tell."""
        try:
            return {p: bounds.end for p, bounds in self._bounds().items()}
        except TopicAway:
            return {}

    def reached(self, goal: dict[int, int]) -> bool:
        """Whether batches hold everything up to some offsets."""
        return all(self._ends.get(p, 0) >= end for p, end in goal.items())

    def run(self) -> None:
        """Land over and over, until told to halt or until trying again is of no use."""
        tries = Tries()
        while not self.halt.is_set():
            tries.begin(newest_batch(self.directory))
            try:
                self._land()
            except TopicAway as away:
                self.trouble = f"{away.what}: {away.detail}"
                _log.warning("stream %s waits: %s (%s)", self.stream.name, away.what, away.detail)
            except StreamgaugeError as error:
                self.failure = error
                return
            except (PySparkException, Py4JError) as error:
                count = tries.failed(newest_batch(self.directory))
                if self.halt.is_set():
                    return
                self.trouble = brief(error)
                _log.warning("landing of stream %s failed: %s", self.stream.name, self.trouble)
                if tries.enough and self._answers():
                    self.failure = EngineFailure(
                        f"the landing of stream {self.stream.name!r} failed {count} times in a row",
                        self.trouble,
                        "mend the cause and start again: it goes on from the newest batch",
                    )
                    return
            self.halt.wait(tries.pause)

    def _answers(self) -> bool:
        """Whether the broker answers, so that it is not why the landing fails."""
        try:
            self._bounds()
        except TopicAway:
            return False
        return True

    def _bounds(self) -> dict[int, Bounds]:
        return topic_bounds(self.session, self.source["servers"], self.topic, self._options())

    def _options(self) -> dict[str, str]:
        """Settings of the client, with the password that the file or the environment has now."""
        login = java_settings(Login.from_dict(self.source))
        found = {f"kafka.{name}": value for name, value in login.items()}
        given = self.source.get("options", {})
        return found | {name: resolved(str(value)) for name, value in given.items()}

    def _land(self) -> None:
        """Run a landing until it ends; raise what ended it."""
        bounds = self._bounds()
        shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir(parents=True)
        resume = self._mended(self._resume(bounds), bounds)
        self._ends = dict(resume.ends)
        self._query = self._started(resume, bounds)
        self.trouble = None
        if self.halt.is_set():
            self._query.stop()
        self._query.awaitTermination()

    def _resume(self, bounds: dict[int, Bounds]) -> Resume:
        newest = newest_batch(self.directory)
        number = 0 if newest is None else newest.number + 1
        if newest is not None and newest.topic == self.topic:
            return Resume(number, newest.ends)
        if self.source.get("starting", "earliest") == "earliest":
            return Resume(number, {p: here.first for p, here in bounds.items()})
        # What "latest" meant is written down, or a restart would pass over what came meanwhile.
        ends = {p: here.end for p, here in bounds.items()}
        put_batch(self.directory, Batch(number, self.topic, ends), {})
        return Resume(number + 1, ends)

    def _mended(self, resume: Resume, bounds: dict[int, Bounds]) -> Resume:
        """Where to go on when offsets are gone: refuse, or tell the gap in a batch of its own."""
        lost = _lost(resume.ends, bounds)
        if not lost:
            return resume
        said = ", ".join(f"{self.topic}-{p}: {first} to {last}" for p, first, last in lost)
        if self.source.get("on_loss", "fail") != "continue":
            raise SourceFailure(
                f"records of topic {self.topic!r} are gone before they were read",
                f"offsets by partition, {said}",
                "keep records longer; to go on with what is left declare ON LOSS CONTINUE "
                "(on_loss='continue')",
            )
        _log.warning("stream %s goes on without lost records: %s", self.stream.name, said)
        ends = {p: end for p, end in resume.ends.items() if p in bounds}
        ends |= {p: bounds[p].first for p, _, _ in lost if p in bounds}
        self._put_gaps(resume.number, ends, lost)
        return Resume(resume.number + 1, ends)

    def _put_gaps(self, number: int, ends: dict[int, int], lost: list[Gap]) -> None:
        """A batch that has no rows, and a dead letter for each gap."""
        parts: dict[Path, str] = {}
        for partition, first, last in lost:
            part = self.parts / f"{uuid.uuid4().hex}.parquet"
            origin = f"kafka:{self.topic}-{partition}:{first}"
            write_parquet(part, Rejects.whole(origin, _gone(first, last)).rows)
            parts[part] = f"{DEAD}/{partition:05d}-gap.parquet"
        names = tuple(Path(name).name for name in parts.values())
        put_batch(self.directory, Batch(number, self.topic, ends, {}, names, tuple(lost)), parts)

    def _started(self, resume: Resume, bounds: dict[int, Bounds]) -> StreamingQuery:
        # Each landing has a log of its own: Spark's would hold offsets that batches are ahead of.
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        place = self.checkpoints / number_name(resume.number, "")
        starting = {str(p): resume.ends.get(p, EARLIEST) for p in bounds}
        options = self._options()
        if not _PATIENCE.keys() & options.keys():
            options |= _PATIENCE
        reader = self.session.readStream.format("kafka").options(**options)
        frame = (
            reader.option("fetchOffset.numRetries", "1")
            .option("kafka.bootstrap.servers", self.source["servers"])
            .option("subscribe", self.topic)
            .option("startingOffsets", json.dumps({self.topic: starting}))
            .option("failOnDataLoss", "true")
            .option("maxOffsetsPerTrigger", self.source.get("max_offsets") or MAX_OFFSETS)
            .load()
        )
        declared = self.stream.schema.names
        extra = [c for n, c in COLUMNS.items() if n in declared and c in ("key", "timestamp")]
        chosen = frame.select("value", "partition", "offset", *extra)
        task = LandRecords(self.stream.as_dict(), self.topic, str(self.parts))
        receipts = chosen.mapInArrow(task, RECEIPT_DDL)

        def gather(batch: DataFrame, number: int) -> None:
            self._gather(batch, resume.number + number, place / "offsets" / str(number))

        writer = receipts.writeStream.foreachBatch(gather)
        return writer.option("checkpointLocation", str(place)).start()

    def _gather(self, batch: DataFrame, number: int, log: Path) -> None:
        """Run the tasks of a batch; put what their receipts tell of into its place."""
        receipts = sorted(batch.collect(), key=lambda row: (row["partition"], row["first"]))
        ends = self._ends | _logged_ends(log, self.topic)
        parts: dict[Path, str] = {}
        files: dict[str, str] = {}
        letters: list[str] = []
        for serial, row in enumerate(receipts):
            stem = f"{row['partition']:05d}-{serial:04d}"
            if row["path"]:
                files[f"{stem}.parquet"] = f"{self.topic}-{row['partition']}"
                parts[Path(row["path"])] = f"{stem}.parquet"
            if row["letters"]:
                letters.append(f"{stem}.parquet")
                parts[Path(row["letters"])] = f"{DEAD}/{stem}.parquet"
        if receipts:
            put_batch(self.directory, Batch(number, self.topic, ends, files, tuple(letters)), parts)
        self._ends = ends


def _lost(ends: dict[int, int], bounds: dict[int, Bounds]) -> list[Gap]:
    """Partition, first and last offset of what is gone; a topic made anew begins at 0 again."""
    gaps = []
    for partition, end in sorted(ends.items()):
        here = bounds.get(partition)
        if here is None or here.end < end:
            gaps.append((partition, end, end))
        elif here.first > end:
            gaps.append((partition, end, here.first - 1))
    return gaps


def _gone(first: int, last: int) -> str:
    return f"offsets {first} to {last} are gone" if last > first else f"offset {first} is gone"


def _logged_ends(log: Path, topic: str) -> dict[int, int]:
    """The offsets that a batch ends at, as Spark noted them before it ran it."""
    lines = log.read_text(encoding="utf-8").splitlines()
    try:
        ends = json.loads(lines[-1])[topic]
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise EngineFailure(
            "Spark's log of offsets is not as expected",
            f"{log}: {lines[-1:]}",
            "use a release of Spark that this one was tested with; see streamgauge doctor",
        ) from error
    return {int(partition): int(end) for partition, end in ends.items()}
