"""Spark engine: one Structured Streaming query for all standing queries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain, repeat

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.engine.commit import commit
from streamgauge.engine.settling import settled
from streamgauge.engine.shard import Receipt
from streamgauge.engine.spark.checkpoints import Checkpoints
from streamgauge.engine.spark.session import open_session
from streamgauge.engine.spark.source import NAME, SCHEMA, Fold, JournalSource, sent_slices
from streamgauge.engine.spark.trying import FAILURES, Trying
from streamgauge.engine.spark.wording import OURS
from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.time import Duration
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, home_for


def _receipts(rows: Sequence[Row]) -> list[Receipt]:
    return [Receipt.from_bytes(bytes(row["data"])) for row in rows]


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
            "memory": "" if home.memory is None else str(home.memory),
            "query_timeout": f"{home.query_timeout} s",
            "exchange": {True: "yes", False: "no", None: ""}[exchange],
        }
        self.checkpoints = Checkpoints(home, checkpoint)
        self.session: SparkSession = open_session(master, settings)
        alone = str(self.session.sparkContext.master).startswith("local")
        self.options["spread"] = "no" if alone else "yes"
        self.options["application"] = str(self.session.sparkContext.applicationId)
        self._trying: Trying | None = None
        self._seen = 0.0

    @property
    def running(self) -> bool:
        """Whether the streaming query is active, or about to be begun again."""
        return self._trying is not None and self._trying.active

    def start(self) -> None:
        """Start the streaming query from where the checkpoint left off."""
        self._trying = Trying("the job", self._begin, self.home.committed)
        try:
            self._trying.start()
        except FAILURES as error:
            raise EngineFailure(
                "Spark refused to start the job",
                str(error).strip()[:1000],
                "see streamgauge doctor; the home is as it was. A damaged checkpoint may go: "
                f"{self.checkpoints.job} holds nothing that the home lacks",
            ) from error

    def _begin(self) -> StreamingQuery:
        self.session.dataSource.register(JournalSource)
        stream = self.session.readStream.format(NAME).options(**self.options).load()
        self._seen = time.perf_counter()
        writer = stream.writeStream.foreachBatch(self._commit)
        return writer.option("checkpointLocation", self.checkpoints.job).start()

    def _commit(self, batch: DataFrame, _batch_id: int) -> None:
        """Gather the receipts of all shards, which runs them, and commit the epoch."""
        start = self.home.committed()
        parts = sent_slices(self.home, start, start + 1)
        if parts:
            # The number of a shard is that of its partition: a hash would put two on one.
            shards = home_for(self.home, Journal(self.home).page(start + 1)).shards
            together = batch.repartitionById(shards, "shard")
            batch = together.mapInArrow(Fold(self.options, len(parts)), SCHEMA)
        rows = batch.collect()
        if not rows:
            return
        began, stop = rows[0]["start"], rows[0]["stop"]
        attempts = chain([rows], (batch.collect() for _ in repeat(None)))
        receipts = settled(self.home, stop, lambda: _receipts(next(attempts)))
        now = time.perf_counter()
        commit(self.home, began, receipts, now - self._seen)
        self._seen = now

    def stop(self) -> None:
        """Stop the streaming query; the session stays for others."""
        if self._trying is not None:
            self._trying.stop()

    def failure(self) -> str | None:
        """What ended the streaming query, if something did."""
        error = self._trying.failure() if self._trying is not None else None
        if error is None:
            return None
        ours = OURS.findall(str(error))
        return str(ours[-1]).strip() if ours else str(error)
