"""The journal as a Spark stream: an offset is a page, a partition is a part of its work.

Where each shard reads its rows itself, a partition is a shard and what is read are receipts: the
executor's Python worker reads the columns, folds and evaluates them, and hands back what it did.
Where rows are read once, a partition is a slice of the page, and what is read are packets for the
shards, which `Fold` takes after Spark has brought them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from streamgauge.engine import shard
from streamgauge.engine.lander import Lander
from streamgauge.engine.scan import scan
from streamgauge.engine.slices import Slice, slices
from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.collection import set_aside
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log.home import QUERY_TIMEOUT, Home
from streamgauge.log.journal import Journal, home_for

NAME = "streamgauge_journal"
# `slice` is -1 for a receipt, else the slice that a packet is of.
SCHEMA = "shard int, slice int, start long, stop long, data binary"
_ARROW = pa.schema(
    [
        ("shard", pa.int32()),
        ("slice", pa.int32()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("data", pa.binary()),
    ]
)
RECEIPT = -1


class Share(InputPartition):
    """One shard's share of the pages after `start` up to `stop`."""

    def __init__(self, shard_number: int, start: int, stop: int) -> None:
        self.shard = shard_number
        self.start = start
        self.stop = stop


class Scanned(InputPartition):
    """One slice of the page `stop`, the only one after `start`."""

    def __init__(self, number: int, start: int, stop: int) -> None:
        self.number = number
        self.start = start
        self.stop = stop


class JournalReader(DataSourceStreamReader):
    """Lands pages when asked for the latest offset; runs shards when asked to read."""

    def __init__(self, options: dict[str, str]) -> None:
        self.home = home_of(options)
        self.exchange = {"yes": True, "no": False}.get(options.get("exchange", ""))
        self.application = options.get("application", "")
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
            self.lander = Lander(
                self.home,
                max_rows=self.max_rows,
                keep_answers=self.keep_answers,
                exchange=self.exchange,
            )
        return {"page": self.lander.land()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Partitions of what is not committed: slices of a page whose rows are sent, or shards."""
        committed = self.home.committed()
        if end["page"] <= committed:
            return []
        self._refuse_ahead(start["page"], committed)
        self._refuse_ahead(end["page"], Journal(self.home).last())
        parts = sent_slices(self.home, committed, end["page"])
        if parts:
            return [Scanned(part.number, committed, end["page"]) for part in parts]
        last = Journal(self.home).page(end["page"])
        shards = home_for(self.home, last).shards
        return [Share(k, committed, end["page"]) for k in range(shards)]

    def _refuse_ahead(self, page: int, known: int) -> None:
        """Raise when a checkpoint has seen pages that this home has not."""
        if page > known:
            raise EngineFailure(
                "the checkpoint is ahead of the home",
                f"it has seen page {page}, the home {self.home.path} knows {known}",
                "put the newer home back, or remove the checkpoint: the home needs nothing of it",
            )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Scan a slice and yield its packets, or run a shard's share and yield its receipt."""
        if isinstance(partition, Scanned):
            page = Journal(self.home).page(partition.stop)
            part = slices(page)[partition.number]
            packets = list(scan(self.home, page, part))
            rows = [(k, part.number, data) for k, data in enumerate(packets)]
        else:
            assert isinstance(partition, Share)
            mine = attempt(self.application)
            receipt = shard.run(
                self.home,
                partition.shard,
                partition.start,
                partition.stop,
                attempt=mine,
                expendable=True,
            )
            rows = [(partition.shard, RECEIPT, receipt.to_bytes())]
        set_aside()
        yield from _batches(rows, partition.start, partition.stop)


def sent_slices(home: Home, start: int, stop: int) -> list[Slice]:
    """The slices of an epoch whose rows are sent; none where each shard reads them itself."""
    journal = Journal(home)
    if stop != start + 1 or stop > journal.last():
        return []
    return slices(journal.page(stop))


def _batches(
    rows: Sequence[tuple[int, int, bytes]], start: int, stop: int
) -> Iterator[pa.RecordBatch]:
    """Rows of the schema, one to a batch: packets may be large."""
    for number, part, data in rows:
        yield pa.record_batch([[number], [part], [start], [stop], [data]], schema=_ARROW)


class Fold:
    """Brings the shard of a Spark partition over one page, with the packets that were sent to it.

    A plain value that Spark can send: it opens the home where it runs.
    """

    def __init__(self, options: dict[str, str], n_slices: int) -> None:
        self.options = options
        self.n_slices = n_slices

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take all packets, run the shard, and yield its receipt."""
        sent: dict[int, bytes] = {}
        number = start = stop = -1
        for batch in batches:
            for row in batch.to_pylist():
                number, start, stop = row["shard"], row["start"], row["stop"]
                sent[row["slice"]] = row["data"]
        if not sent:
            return
        if len(sent) != self.n_slices:
            raise EngineFailure(
                f"shard {number} did not get all packets of epoch {stop}",
                f"{len(sent)} of {self.n_slices} came",
                "nothing to do: Spark runs the epoch again",
            )
        home = home_of(self.options)
        ordered = [sent[part] for part in sorted(sent)]
        mine = attempt(self.options.get("application", ""))
        receipt = shard.run(home, number, start, stop, ordered, mine, expendable=True)
        set_aside()
        yield from _batches([(number, RECEIPT, receipt.to_bytes())], start, stop)


def attempt(application: str) -> str | None:
    """A name that no other attempt at a task has, of this application or of another."""
    context = TaskContext.get()
    return None if context is None else f"{application}-{context.taskAttemptId()}"


def home_of(options: dict[str, str]) -> Home:
    """The home that the options of the source name."""
    allowed = Allowed.from_text(options["allowed"])
    memory = options.get("memory", "")
    return Home.open(
        options["home"],
        shards=int(options["shards"]),
        allowed=allowed,
        memory=int(memory) if memory else None,
        query_timeout=options.get("query_timeout", QUERY_TIMEOUT),
        spread=options.get("spread") == "yes",
    )


class JournalSource(DataSource):
    """Registration of the journal with Spark."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return NAME

    def schema(self) -> str:
        """Columns of packets and receipts."""
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Reader of the journal."""
        return JournalReader(dict(self.options))
