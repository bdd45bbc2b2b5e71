"""Many selections in plain Spark: joined with a table of them, or as one filter of many ORs.

The filter says only which rows pass any of them.
"""

from __future__ import annotations

from bench.harness import Outcome, Task
from bench.peers.select_local import timed
from bench.peers.sketch_spark import session
from bench.selections import SUMS, Prepared, alerts, as_ranges, as_sql, facts


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def run(task: Task) -> Outcome:
    """One form, cold once, then warm."""
    from pyspark.sql import functions as F  # noqa: N812

    prepared = Prepared.read(task.prepared)
    asked = alerts(prepared.table(), task.queries)
    spark = session()

    rows = spark.read.parquet(str(prepared.parquet)).repartition(2)

    def joined(what: tuple[str, ...]) -> tuple[float, ...]:
        table = F.broadcast(spark.createDataFrame(as_ranges(asked).to_pandas()))
        pairs = rows.join(table, F.expr("a between a0 and a1 and b between b0 and b1"))
        found = pairs.agg(*(F.expr(one) for one in what)).first()
        return tuple(float(value or 0) for value in found)

    def filtered() -> float:
        return float(rows.where(as_sql(asked)).count())

    if task.form == "join":
        count, judge = (lambda: joined(SUMS[:1])[0]), (lambda: facts(*joined(SUMS)))
        return timed(count, judge, prepared.rows, 1)
    return timed(filtered, lambda: {"rows_with_any": filtered()}, prepared.rows, 1)
