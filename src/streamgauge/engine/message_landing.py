"""Messages of a spool become batches of clean rows, each message in one batch and no other.

What a batch ends at stands in its manifest, so a start goes on from the newest batch, whichever
engine wrote it. Rows keep the order in which messages came: which of them are late depends on that
order, and not on how they fell into batches.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engine.feed import ThreadFeed
from streamgauge.engine.spark.kafka_task import gathered, write_parts
from streamgauge.engine.subscriber import HEARD, MESSAGES
from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.files import read_json, reading
from streamgauge.log.batches import DEAD, Batch, newest_batch, put_batch
from streamgauge.log.home import Home
from streamgauge.log.messages import newest_number
from streamgauge.sources.records import parse_records
from streamgauge.sources.rejects import Rejects
from streamgauge.sources.settle import Parsed
from streamgauge.streams.stream import Stream

LANE = "mqtt"
_BESIDE = {
    "mqtt_topic": "topic",
    "mqtt_received": "received",
    "mqtt_qos": "qos",
    "mqtt_retained": "retained",
}


@dataclass(frozen=True, slots=True)
class LandMessages:
    """Plain data, so that it travels to executors: the stream, and where files go.

    Parameters
    ----------
    declared
        The stream, in its JSON form.
    place
        Directory that all workers see.
    """

    declared: dict[str, Any]
    place: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Land messages; a receipt for each file or two."""
        stream = Stream.from_dict(self.declared)
        for table in gathered(iter(batches)):
            numbers = table["number"].to_numpy()
            parsed = parse_messages(table, stream)
            yield write_parts(parsed, self.place, (0, int(numbers[0]), int(numbers[-1])))


def parse_messages(table: pa.Table, stream: Stream) -> Parsed:
    """Rows of messages, and dead letters of those that are none."""
    source = stream.source_dict()
    origin = f"mqtt:{source['topic']}"
    large = pc.and_(pc.is_null(table["payload"]), pc.greater(table["size"], 0)).to_numpy()
    whole = table.filter(pa.array(~large)) if large.any() else table
    parsed = parse_records(
        whole["payload"].combine_chunks(),
        stream,
        # The clock of the arrival, so that a second landing gives the same rows.
        arrived=int(as_instants(table["received"]).max()),
        origin=origin,
        places=whole["number"].to_numpy().astype(np.int64),
        beside={name: whole[column].combine_chunks() for name, column in _BESIDE.items()},
    )
    if not large.any():
        return parsed
    entries = [
        (row["number"], f"the message has {row['size']:,} bytes, too many to keep", row["topic"])
        for row in table.filter(pa.array(large)).select(["number", "size", "topic"]).to_pylist()
    ]
    letters = pa.concat_tables([parsed.rejects, Rejects.of(origin, entries).rows])
    return Parsed(parsed.table, letters)


class MessageLanding:
    """Where the batches of one stream are put, and where the next goes on.

    Parameters
    ----------
    home
        Where batches go, and where the spool is.
    stream
        Its source names broker and topic.
    """

    def __init__(self, home: Home, stream: Stream) -> None:
        self.stream = stream
        self.topic = str(stream.source_dict()["topic"])
        self.directory = home.incoming(stream.name)
        self.parts = self.directory / "_parts"
        self.spool = home.root / "mqtt" / stream.name
        self.number, self.next = 0, 0

    @property
    def task(self) -> LandMessages:
        """What turns messages into files."""
        return LandMessages(self.stream.as_dict(), str(self.parts))

    def begin(self, max_rows: int) -> dict[str, str]:
        """Find where to go on; the options of the subscription that begins there."""
        shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir(parents=True)
        (self.spool / HEARD).unlink(missing_ok=True)
        newest = newest_batch(self.directory)
        if newest is not None:
            self.number, self.next = newest.number + 1, newest.ends.get(0, 0)
        source = self.stream.source_dict()
        given = {name: said for name, said in source.items() if name not in ("kind", "format")}
        own = {"spool": self.spool, "start": self.next, "max_rows": max_rows}
        return {name: str(said) for name, said in {**given, **own}.items()}

    def put(self, number: int, receipts: list[dict[str, Any]]) -> None:
        """Bring what receipts tell of into its place, all of it at once."""
        if not receipts or number < self.number:
            return
        parts: dict[Path, str] = {}
        files: dict[str, str] = {}
        letters: list[str] = []
        for serial, row in enumerate(sorted(receipts, key=lambda receipt: receipt["first"])):
            name = f"{serial:05d}.parquet"
            if row["path"]:
                files[name] = LANE
                parts[Path(row["path"])] = name
            if row["letters"]:
                letters.append(name)
                parts[Path(row["letters"])] = f"{DEAD}/{name}"
        end = 1 + max(row["last"] for row in receipts)
        put_batch(self.directory, Batch(number, self.topic, {0: end}, files, tuple(letters)), parts)
        self.number, self.next = number + 1, end

    def trouble(self) -> str | None:
        """What keeps the listener from its broker, if something does."""
        try:
            with reading(self.spool / HEARD, "the note of what a broker said"):
                heard = read_json(self.spool / HEARD)
                if heard["full"]:
                    return "the spool holds all it may, until the job has used some of it"
                return None if heard["connected"] else heard["trouble"] or "the connection broke"
        except FileNotFoundError:
            return "the broker has not answered yet"


class MessageFeed(ThreadFeed):
    """What the feeds of messages have in common, with Spark and without.

    Parameters
    ----------
    home
        Where batches go; with Spark a directory that all workers see.
    stream
        Its source names broker and topic.
    """

    def __init__(self, home: Home, stream: Stream) -> None:
        super().__init__(stream)
        self.landing = MessageLanding(home, stream)

    def goal(self) -> dict[int, int]:
        """The messages that have come so far."""
        return {0: newest_number(self.landing.spool / MESSAGES)}

    def reached(self, goal: dict[int, int]) -> bool:
        """Whether batches hold everything up to some message."""
        return all(self.landing.next >= end for end in goal.values())

    def look(self) -> None:
        """Take over what the listener has written: it may live in a process of Spark's."""
        self.trouble = self.landing.trouble()
