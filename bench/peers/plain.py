"""Plain Structured Streaming at the same granularity: one batch per tick.

Each batch takes the last value of every series, joins it with the memberships and averages by
query. Form `driver` keeps the last values in the driver, form `state` in Spark's state store.
Neither looks for changes nor keeps the windows, which spares them work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from bench.data import Card
from bench.harness import Outcome, Task
from bench.peers.scan import measured, read, session

FORMS = ("driver", "state")
WARM_UP = 3


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def run(task: Task) -> Outcome:
    """Answer every query once per tick for a bounded number of ticks."""
    card = Card.read(task.prepared)
    spark = session()
    members = spark.createDataFrame(membership(card, task.queries)).repartition(2, "query").cache()
    members.count()
    frame = read(spark, card.path("ticks"), 1)
    form = _kept_in_state if task.form == "state" else _kept_in_driver
    return measured(form(spark, frame, members), task, WARM_UP)


def membership(card: Card, queries: int) -> pa.Table:
    """The table of memberships: query number and series."""
    members = card.members()[:queries]
    numbers = np.repeat(np.arange(len(members), dtype=np.int32), members.shape[1])
    names = pa.DictionaryArray.from_arrays(pa.array(members.ravel()), pa.array(card.series))
    return pa.table({"query": numbers, "series": names.cast(pa.string())})


def _answer(last: Any, members: Any) -> None:
    from pyspark.sql import functions as f

    joined = members.join(f.broadcast(last), "series").groupBy("query").agg(f.avg("value"))
    joined.write.format("noop").mode("overwrite").save()


def _kept_in_driver(spark: Any, frame: Any, members: Any) -> Any:
    from pyspark.sql import functions as f

    latest: dict[str, float] = {}

    def batch(rows: Any, _number: int) -> None:
        found = rows.groupBy("series").agg(f.max_by("value", "ts").alias("value")).toArrow()
        latest.update(zip(found["series"].to_pylist(), found["value"].to_pylist(), strict=True))
        table = pa.table({"series": list(latest), "value": list(latest.values())})
        _answer(spark.createDataFrame(table), members)

    return frame.writeStream.foreachBatch(batch)


def _kept_in_state(_spark: Any, frame: Any, members: Any) -> Any:
    from pyspark.sql import functions as f

    latest = frame.groupBy("series").agg(f.max_by("value", "ts").alias("value"))

    def batch(rows: Any, _number: int) -> None:
        _answer(rows, members)

    return latest.writeStream.outputMode("complete").foreachBatch(batch)
