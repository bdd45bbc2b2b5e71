"""Landing: a streaming DataFrame becomes parquet files that the journal can refer to."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.kernel.errors import SourceFailure
from streamgauge.log.home import Home


def land(frame: DataFrame, home: Home, stream: str) -> StreamingQuery:
    """Write each micro-batch as one folder of parquet, whole or absent, once."""
    if not frame.isStreaming:
        raise SourceFailure(
            f"the DataFrame of stream {stream!r} is not a stream",
            "it was made by read, not readStream",
            "use spark.readStream, or write it to files and use sg.files(...)",
        )
    directory = home.incoming(stream)

    def write(batch: DataFrame, number: int) -> None:
        whole = directory / f"{number:012d}"
        if not whole.exists():
            partial = directory / f"_{number:012d}"
            batch.write.mode("overwrite").parquet(str(partial))
            Path(partial).rename(whole)

    checkpoint = home.root / "landing" / stream
    writer = frame.writeStream.foreachBatch(write)
    return writer.option("checkpointLocation", str(checkpoint)).start()


def rate(session: SparkSession, rows_per_second: int) -> DataFrame:
    """Spark's rate source: columns timestamp and value."""
    return session.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
