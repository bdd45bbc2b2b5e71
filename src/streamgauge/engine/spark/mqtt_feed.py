"""What lands the messages of a stream while the gauge runs, with Spark."""

from __future__ import annotations

import logging
import shutil
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.engine.message_landing import MessageFeed
from streamgauge.engine.spark.kafka_task import RECEIPT_DDL
from streamgauge.engine.spark.mqtt import NAME, register
from streamgauge.engine.spark.tries import Tries
from streamgauge.engine.spark.wording import brief
from streamgauge.kernel.errors import EngineFailure, StreamgaugeError
from streamgauge.kernel.files import number_name
from streamgauge.log.home import Home
from streamgauge.streams.stream import Stream

LOG = logging.getLogger(__name__)
MAX_ROWS = 1_000_000
_COLUMNS = ("topic", "payload", "received", "qos", "retained", "size", "number")


class SparkMqttFeed(MessageFeed):
    """Lands one stream by a streaming query over `streamgauge_mqtt`.

    Parameters
    ----------
    session
        Spark's session.
    home
        Where batches go; a directory that all workers see.
    stream
        Its source names broker and topic.
    """

    def __init__(self, session: SparkSession, home: Home, stream: Stream) -> None:
        super().__init__(home, stream)
        self.session = session
        self.checkpoints = home.root / "landing" / stream.name
        self._query: StreamingQuery | None = None

    def start(self) -> None:
        """Begin."""
        register(self.session)
        super().start()

    def interrupt(self) -> None:
        """End the query, which would wait for messages."""
        if self._query is not None:
            self._query.stop()

    def run(self) -> None:
        """Land over and over, until told to halt or until trying again is of no use."""
        tries = Tries()
        while not self.halt.is_set():
            tries.begin(self.landing.number)
            try:
                self._land()
            except StreamgaugeError as error:
                self.failure = error
                return
            except (PySparkException, Py4JError) as error:
                if self.halt.is_set():
                    return
                tries.failed(self.landing.number)
                said = brief(error)
                LOG.warning("landing of stream %s failed: %s", self.stream.name, said)
                if tries.enough or "\n  hint: " in said:
                    self.failure = EngineFailure(
                        f"the landing of stream {self.stream.name!r} has ended",
                        said,
                        "mend the cause and start again: nothing that was acknowledged is lost",
                    )
                    return
            self.halt.wait(tries.pause)

    def _land(self) -> None:
        """Run a landing until it ends; raise what ended it."""
        options = self.landing.begin(MAX_ROWS)
        # Each landing has a log of its own: Spark's would hold numbers that batches are ahead of.
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        first = self.landing.number
        place = self.checkpoints / number_name(first, "")
        frame = self.session.readStream.format(NAME).options(**options).load()
        receipts = frame.select(*_COLUMNS).mapInArrow(self.landing.task, RECEIPT_DDL)

        def gather(batch: DataFrame, number: int) -> None:
            rows: list[dict[str, Any]] = [row.asDict() for row in batch.collect()]
            self.landing.put(first + number, rows)

        writer = receipts.writeStream.foreachBatch(gather)
        self._query = writer.option("checkpointLocation", str(place)).start()
        if self.halt.is_set():
            self._query.stop()
        self._query.awaitTermination()
