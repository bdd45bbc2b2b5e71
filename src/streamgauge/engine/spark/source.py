"""The journal as a Spark stream: an offset is a page, a partition is a shard's share of an epoch.

What is read is not rows but receipts: the executor's Python worker reads the columns itself, folds
and evaluates them, and hands back what it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from streamgauge.engine import shard
from streamgauge.engine.lander import Lander
from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.collection import set_aside
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal

NAME = "streamgauge_journal"
SCHEMA = (
    "shard int, epoch long, rows long, late long, answers long, state_bytes long, seconds double, "
    "missed long, overloaded long, share double, spent map<string, long>, "
    "late_by map<string, long>, files map<string, long>, start long"
)


class Share(InputPartition):
    """One shard's share of the pages after `start` up to `stop`."""

    def __init__(self, shard_number: int, start: int, stop: int) -> None:
        self.shard = shard_number
        self.start = start
        self.stop = stop


class JournalReader(DataSourceStreamReader):
    """Lands pages when asked for the latest offset; runs shards when asked to read."""

    def __init__(self, options: dict[str, str]) -> None:
        allowed = Allowed.from_text(options["allowed"])
        shards = int(options["shards"])
        self.home = Home.open(options["home"], shards=shards, allowed=allowed)
        self.max_rows = int(options["max_rows"])
        kept = options.get("keep_answers", "")
        self.keep_answers = int(kept) if kept else None
        self.lander: Lander | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The last committed page: what is committed is done, whatever a checkpoint knows."""
        return {"page": self.home.committed()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The page after `start`, landed now if need be; behind the commits, the last of them."""
        committed = self.home.committed()
        if start["page"] < committed:
            return {"page": committed}
        self._refuse_ahead(start["page"], committed)
        if committed < Journal(self.home).last():
            return {"page": committed + 1}
        if self.lander is None:
            self.lander = Lander(self.home, max_rows=self.max_rows, keep_answers=self.keep_answers)
        return {"page": self.lander.land()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One partition per shard for what is not committed; none when all of it is."""
        committed = self.home.committed()
        if end["page"] <= committed:
            return []
        self._refuse_ahead(start["page"], committed)
        self._refuse_ahead(end["page"], Journal(self.home).last())
        return [Share(k, committed, end["page"]) for k in range(self.home.shards)]

    def _refuse_ahead(self, page: int, known: int) -> None:
        """Raise when a checkpoint has seen pages that this home has not."""
        if page > known:
            raise EngineFailure(
                "the checkpoint is ahead of the home",
                f"it has seen page {page}, the home {self.home.path} knows {known}",
                "put the newer home back, or remove the checkpoint: the home needs nothing of it",
            )

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Run a shard's share; yield its receipt."""
        assert isinstance(partition, Share)
        receipt = shard.run(self.home, partition.shard, partition.start, partition.stop)
        set_aside()
        yield (*astuple(receipt), partition.start)


class JournalSource(DataSource):
    """Registration of the journal with Spark."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return NAME

    def schema(self) -> str:
        """Columns of a receipt."""
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Reader of the journal."""
        return JournalReader(dict(self.options))
