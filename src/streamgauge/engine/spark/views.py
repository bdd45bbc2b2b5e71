"""Views: answers as a Spark DataFrame."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from streamgauge.engine.spark.session import open_session


def as_spark(table: pa.Table) -> DataFrame:
    """An Arrow table of answers as a DataFrame of the running session."""
    session: Any = open_session()
    # Of a table that begins with empty chunks Spark takes nothing.
    frame: DataFrame = session.createDataFrame(table.combine_chunks())
    return frame
