"""Spark's own grouped sketches over the same parquet, and a bare scan of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench.harness import Outcome, Task, cpu_seconds
from bench.peers import scan
from bench.sketches import SHARES, TOP, Prepared, distinct_error, missed, rank_error

REPETITIONS = 2


def installed() -> bool:
    """Spark is what Streamgauge runs on."""
    return True


def session() -> Any:
    """A session that puts groups together in two parts."""
    return scan.session("spark.sql.shuffle.partitions", "2")


def run(task: Task) -> Outcome:
    """One form, cold once, then warm."""
    prepared = Prepared.read(task.prepared)
    spark = session()
    shares = ", ".join(map(str, SHARES))
    forms = {
        "distinct": "hll_sketch_estimate(hll_sketch_agg(key, 12))",
        "quantiles": "kll_sketch_get_quantile_double("
        f"kll_sketch_agg_double(v, 200), array({shares}))",
        "top": f"approx_top_k(key, {TOP})",
    }
    from pyspark.sql import functions as F  # noqa: N812

    def work() -> Any:
        # A DataFrame made anew: run twice, one and the same would keep its shuffle files.
        frame = spark.read.parquet(str(prepared.parquet)).groupBy("g")
        if task.form == "scan":
            return frame.agg(F.count("*"), F.sum("v"), F.max("key")).collect()
        return frame.agg(F.expr(forms[task.form]).alias("x")).collect()

    return timed(work, prepared, lambda rows: errors(task.form, prepared, rows))


def timed(
    work: Callable[[], Any], prepared: Prepared, judge: Callable[[Any], dict[str, float]]
) -> Outcome:
    """Run work cold, then warm; the best warm run counts."""
    begun = time.perf_counter()
    work()
    first = time.perf_counter() - begun
    best = Outcome(first_seconds=first)
    for _ in range(REPETITIONS):
        spent, begun = cpu_seconds(), time.perf_counter()
        found = work()
        took, total = time.perf_counter() - begun, cpu_seconds()
        if not best.seconds or took < best.seconds:
            best = Outcome(prepared.rows, took, first_seconds=first)
            if spent is not None and total is not None:
                best.cpu_seconds = total - spent
    best.facts = judge(found)
    return best


def errors(form: str, prepared: Prepared, rows: Any) -> dict[str, float]:
    """How far off Spark's answers are."""
    if form == "scan":
        return {}
    truth = prepared.truth()
    if form == "distinct":
        return distinct_error(truth, {row["g"]: row["x"] for row in rows})
    if form == "quantiles":
        return rank_error(truth, {row["g"]: list(row["x"]) for row in rows})
    return missed(truth, {row["g"]: [found["item"] for found in row["x"]] for row in rows})
