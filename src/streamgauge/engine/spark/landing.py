"""Landing: a streaming DataFrame becomes parquet files that the journal can refer to."""

from __future__ import annotations

import threading
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.engine.feed import Feed
from streamgauge.engine.spark.trying import Trying
from streamgauge.engine.spark.wording import brief
from streamgauge.kernel.errors import EngineFailure, SourceFailure
from streamgauge.kernel.files import numbered, read_json, reading, write_json
from streamgauge.log.home import Home
from streamgauge.streams.stream import Stream

# Whose notes the folders of a stream follow; files that begin with _ are no data.
NOTES = "_landing.json"


class LandingFeed(Feed):
    """Lands a stream that a DataFrame is, or Spark's rate source.

    Parameters
    ----------
    session
        Spark's session.
    home
        Where folders of rows go.
    stream
        Its source says which of the two.
    frame
        The streaming DataFrame; None for the rate source.
    checkpoint
        Where Spark keeps its notes.
    """

    def __init__(
        self,
        session: SparkSession,
        home: Home,
        stream: Stream,
        frame: DataFrame | None,
        checkpoint: str,
    ) -> None:
        super().__init__(stream)
        source = stream.source_dict()
        self._frame = rate(session, source["rows_per_second"]) if frame is None else frame
        self._home, self._checkpoint = home, checkpoint
        self._trying = Trying(f"the landing of stream {stream.name!r}", self._land, self._newest)
        self._stopped = False

    def start(self) -> None:
        """Begin."""
        self._trying.start()
        name = f"streamgauge-feed-{self.stream.name}"
        threading.Thread(target=self._watch, name=name, daemon=True).start()

    def _land(self) -> StreamingQuery:
        return land(self._frame, self._home, self.stream.name, self._checkpoint)

    def _newest(self) -> int:
        return max(numbered(self._home.incoming(self.stream.name), ""), default=-1)

    def stop(self) -> None:
        """End after the batch in work."""
        self._stopped = True
        self._trying.stop()

    def _watch(self) -> None:
        """Wait for the end of the query, and keep what ended it."""
        self._trying.wait()
        error = self._trying.failure()
        self.ended = error is None and not self._stopped
        if error is not None and not self._stopped:
            self.failure = EngineFailure(
                f"the landing of stream {self.stream.name!r} has ended",
                brief(error),
                "mend the cause and start again: it goes on from its checkpoint",
            )


def land(frame: DataFrame, home: Home, stream: str, checkpoint: str) -> StreamingQuery:
    """Write each micro-batch as one folder of parquet, whole or absent, once."""
    if not frame.isStreaming:
        raise SourceFailure(
            f"the DataFrame of stream {stream!r} is not a stream",
            "it was made by read, not readStream",
            "use spark.readStream, or write it to files and use sg.files(...)",
        )
    directory = home.incoming(stream)
    admitted = threading.Event()
    refused: list[SourceFailure] = []

    def write(batch: DataFrame, number: int) -> None:
        admitted.wait()
        if refused:
            raise refused[0]
        _refuse_behind(directory, stream, number)
        whole = directory / f"{number:012d}"
        if not whole.exists():
            partial = directory / f"_{number:012d}"
            batch.write.mode("overwrite").parquet(str(partial))
            Path(partial).rename(whole)

    writer = frame.writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", checkpoint).start()
    try:
        _admit(directory, stream, str(query.id), checkpoint)
    except SourceFailure as error:
        refused.append(error)
        raise
    finally:
        admitted.set()
        if refused:
            query.stop()
    return query


def _admit(directory: Path, stream: str, notes: str, checkpoint: str) -> None:
    """Raise unless these are the notes that the rows so far were written by."""
    path = directory / NOTES
    with reading(path, f"the note of who writes stream {stream!r}"):
        known = read_json(path)["query"] if path.exists() else None
    if known is None:
        write_json(path, {"query": notes})
    elif known != notes:
        raise SourceFailure(
            f"the checkpoint of stream {stream!r} is not the one its rows were written by",
            f"{checkpoint} is of query {notes}, the rows of {known}",
            "name the checkpoint it had; without it, declare a new stream: which rows of the "
            "DataFrame were written is known from nowhere else",
        )


def _refuse_behind(directory: Path, stream: str, number: int) -> None:
    """Raise when an old batch comes again: only the newest may, after a crash."""
    newest = max(numbered(directory, ""), default=-1)
    if number < newest:
        raise SourceFailure(
            f"the checkpoint of stream {stream!r} is older than its rows",
            f"it is at batch {number}, batch {newest} was written",
            "put the newer checkpoint back, or declare a new stream: rows would be lost or doubled",
        )


def rate(session: SparkSession, rows_per_second: int) -> DataFrame:
    """Spark's rate source: columns timestamp and value."""
    return session.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
