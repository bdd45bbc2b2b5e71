"""Spark engine: one Structured Streaming query for all standing queries."""

from __future__ import annotations

import re
import time
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.engine.commit import commit
from streamgauge.engine.shard import Receipt
from streamgauge.engine.spark.checkpoints import Checkpoints
from streamgauge.engine.spark.session import open_session
from streamgauge.engine.spark.source import NAME, SCHEMA, Fold, JournalSource, sent_slices
from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.time import Duration
from streamgauge.log.home import Home

# Our own errors come back inside a long trace of Python and Java; the three parts are enough.
OURS = re.compile(r"streamgauge\.kernel\.errors\.(\w+: .*\n  detail: .*\n  hint: .*)")


class SparkEngine:
    """Runs a home on Spark.

    Parameters
    ----------
    home
        Where the gauge lives; on a cluster, a directory that all workers see.
    max_rows
        Rows a stream may put into one epoch.
    master
        Spark master; all local cores when None.
    settings
        Further Spark settings.
    checkpoint
        Where Spark keeps its notes; in the home when None.
    keep_answers
        Microseconds that answers and pages are kept for; for good when None.
    exchange
        Whether rows are read once and sent to their shards; when it costs less if None.
    """

    def __init__(
        self,
        home: Home,
        *,
        max_rows: int,
        master: str | None = None,
        settings: dict[str, str] | None = None,
        checkpoint: str | None = None,
        keep_answers: Duration | None = None,
        exchange: bool | None = None,
    ) -> None:
        self.home = home
        self.options = {
            "home": home.path,
            "shards": str(home.shards),
            "allowed": home.allowed.as_text(),
            "max_rows": str(max_rows),
            "keep_answers": "" if keep_answers is None else str(keep_answers),
            "exchange": {True: "yes", False: "no", None: ""}[exchange],
        }
        self.checkpoints = Checkpoints(home, checkpoint)
        self.session: SparkSession = open_session(master, settings)
        self.options["application"] = str(self.session.sparkContext.applicationId)
        self._query: StreamingQuery | None = None
        self._seen = 0.0

    @property
    def running(self) -> bool:
        """Whether the streaming query is active."""
        return self._query is not None and self._query.isActive

    def start(self) -> None:
        """Start the streaming query from where the checkpoint left off."""
        self.session.dataSource.register(JournalSource)
        stream = self.session.readStream.format(NAME).options(**self.options).load()
        self._seen = time.perf_counter()
        writer = stream.writeStream.foreachBatch(self._commit)
        try:
            self._query = writer.option("checkpointLocation", self.checkpoints.job).start()
        except (PySparkException, Py4JError) as error:
            raise EngineFailure(
                "Spark refused to start the job",
                str(error).strip()[:1000],
                "see streamgauge doctor; the home is as it was. A damaged checkpoint may go: "
                f"{self.checkpoints.job} holds nothing that the home lacks",
            ) from error

    def _commit(self, batch: DataFrame, _batch_id: int) -> None:
        """Gather the receipts of all shards, which runs them, and commit the epoch."""
        start = self.home.committed()
        parts = sent_slices(self.home, start, start + 1)
        if parts:
            # The number of a shard is that of its partition: a hash would put two on one.
            together = batch.repartitionById(self.home.shards, "shard")
            batch = together.mapInArrow(Fold(self.options, len(parts)), SCHEMA)
        rows = batch.collect()
        if not rows:
            return
        found = [Receipt.from_bytes(bytes(row["data"])) for row in rows]
        receipts = sorted(found, key=lambda receipt: receipt.shard)
        now = time.perf_counter()
        commit(self.home, rows[0]["start"], receipts, now - self._seen)
        self._seen = now

    def stop(self) -> None:
        """Stop the streaming query; the session stays for others."""
        if self._query is not None:
            self._query.stop()

    def failure(self) -> str | None:
        """What ended the streaming query, if something did."""
        error: Any = self._query.exception() if self._query is not None else None
        if error is None:
            return None
        ours = OURS.findall(str(error))
        return str(ours[-1]).strip() if ours else str(error)
