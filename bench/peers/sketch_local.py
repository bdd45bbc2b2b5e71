"""Grouped summaries in one process, one thread, over the same parquet: ours, DuckDB, chDB.

The form is `who/what`, such as `duckdb/distinct`.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import pyarrow.parquet as pq

from bench.harness import Outcome, Task, cpu_seconds
from bench.peers.sketch_ours import asked, errors
from bench.peers.sketch_spark import REPETITIONS
from bench.sketches import SHARES, TOP, Prepared, distinct_error, missed, rank_error
from streamgauge import functions as sgf
from streamgauge.engine.tally import Tally

# As fine as a t-digest in rank on lognormal values, and sure.
ALPHA = 0.001

Told = dict[int, Any]


def installed() -> bool:
    """Each form looks for itself."""
    return True


def run(task: Task) -> Outcome:
    """One form, first run apart, best of the others."""
    prepared = Prepared.read(task.prepared)
    who, _, what = task.form.partition("/")
    if who != "ours" and importlib.util.find_spec(who) is None:
        return Outcome(missing="not installed")
    work = {"ours": _ours, "duckdb": _duckdb, "chdb": _chdb}[who]
    begun = time.perf_counter()
    work(prepared, what)
    best = Outcome(first_seconds=time.perf_counter() - begun)
    for _ in range(REPETITIONS + 1):
        spent, begun = cpu_seconds(), time.perf_counter()
        told = work(prepared, what)
        took, total = time.perf_counter() - begun, cpu_seconds()
        if spent is not None and total is not None:
            cost = max(total - spent, 1e-3)
            if best.cpu_seconds is None or cost < best.cpu_seconds:
                first = best.first_seconds
                best = Outcome(prepared.rows, took, cost, first_seconds=first)
    ours = who == "ours"
    best.facts = errors(prepared, told, (what,)) if ours else _judged(prepared, what, told)
    return best


def _judged(prepared: Prepared, what: str, told: Told) -> dict[str, float]:
    judge: Any = {"distinct": distinct_error, "quantiles": rank_error, "top": missed}[what]
    found: dict[str, float] = judge(prepared.truth(), told)
    return found


def _ours(prepared: Prepared, what: str) -> Any:
    wanted = {"quantiles": sgf.value_quantiles("v", at=SHARES, alpha=ALPHA)}.get(what)
    summaries = {what: wanted} if wanted else asked(what)
    columns = ["g", *(summary.column for summary in summaries.values())]
    tally = Tally.of(("g",), summaries)
    for path in sorted(prepared.parquet.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                tally.update(file.read_row_group(group, columns=columns, use_threads=False))
    return tally.result().to_pylist()


def _duckdb(prepared: Prepared, what: str) -> Told:
    import duckdb

    shares = list(SHARES)
    form = {
        "distinct": "approx_count_distinct(key)",
        "quantiles": f"approx_quantile(v, {shares})",
        "top": f"approx_top_k(key, {TOP})",
    }[what]
    with duckdb.connect(config={"threads": 1}) as connection:
        query = f"select g, {form} from read_parquet('{prepared.parquet}/*.parquet') group by g"
        return dict(connection.execute(query).fetchall())


def _chdb(prepared: Prepared, what: str) -> Told:
    import chdb

    shares = ", ".join(map(str, SHARES))
    form = {
        "distinct": "uniqCombined(12)(key)",
        "quantiles": f"quantilesTDigest({shares})(v)",
        "top": f"topK({TOP})(key)",
    }[what]
    query = (
        f"select g, {form} as x from file('{prepared.parquet}/*.parquet') group by g "
        "settings max_threads = 1"
    )
    table = chdb.query(query, "ArrowTable")
    return dict(zip(table["g"].to_pylist(), table["x"].to_pylist(), strict=True))
