"""Synopses of DataFrames: answers with bars over groups, batch and streaming.

Each task folds its rows into one packed tally and ships that, not rows; one task puts the tallies
together. Given paths instead of a DataFrame, a task reads the columns it needs with Arrow where it
folds them, so that no row passes through the JVM. Over a streaming DataFrame the parts leave as
DataSketches bytes and Spark's own aggregates unite them in its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from streamgauge.engine.spark.session import open_session
from streamgauge.engine.tally import SUMMARY, Summary, Tally, foreign_bytes
from streamgauge.kernel.errors import BindError
from streamgauge.synopses import registry
from streamgauge.synopses.questions import Distinct, Quantile, Question, TopK
from streamgauge.synopses.synopsis import Expiring

Batches = Iterator[pa.RecordBatch]
ANSWER_TYPE = "struct<value:double,low:double,high:double,confidence:double>"

# How Spark itself unites sketches of each kind, for streams.
UNIONS: dict[str, Callable[[Column], Column]] = {
    "hll": lambda column: F.hll_union_agg(column),
    "kll": lambda column: F.kll_merge_agg_double(column),
    "theta": lambda column: F.theta_union_agg(column),
}


def quantiles(column: str, *, at: Sequence[float] = (0.5, 0.95, 0.99), k: int = 200) -> Summary:
    """Quantiles of a column within a rank error of about 1.65 percent at k=200 (KLL)."""
    return Summary("kll", column, (("k", k),), questions=tuple(Quantile(phi) for phi in at))


def value_quantiles(
    column: str, *, at: Sequence[float] = (0.5, 0.95, 0.99), alpha: float = 0.01
) -> Summary:
    """Quantiles of a column within a share `alpha` of their value, for sure (log histogram)."""
    asked = tuple(Quantile(phi) for phi in at)
    return Summary("log_histogram", column, (("alpha", alpha),), questions=asked)


def distinct(column: str, *, lg_k: int = 12) -> Summary:
    """How many different values a column holds (HyperLogLog)."""
    return Summary("hll", column, (("lg_k", lg_k),), questions=(Distinct(),))


def top_k(column: str, k: int = 10, *, capacity: int = 384) -> Summary:
    """The k values that most rows hold, with sure bars around their counts (Space-Saving)."""
    return Summary("space_saving", column, (("capacity", capacity),), questions=(TopK(k),))


def summary(kind: str, column: str, *questions: Question, **parameters: Any) -> Summary:
    """Any registered synopsis that can be merged and has no window: rows here have no time."""
    if kind not in registry() or registry()[kind].merging == "none":
        usable = ", ".join(
            sorted(
                name
                for name, found in registry().items()
                if found.merging != "none" and not issubclass(found, Expiring)
            )
        )
        raise BindError(f"no synopsis {kind!r} can be merged", f"there are {usable}", "name one")
    if issubclass(registry()[kind], Expiring):
        raise BindError(
            f"synopsis {kind!r} needs the time of each row",
            "rows of a DataFrame have no order, so its window would depend on the partitions",
            "register a standing query with a window on a stream, or filter the rows by time "
            "first and use a synopsis without a window",
        )
    return Summary(kind, column, tuple(parameters.items()), questions=questions)


def summarise(
    rows: DataFrame | str | Path | Sequence[str],
    *,
    by: Sequence[str] | str = (),
    sketches: bool = False,
    **summaries: Summary,
) -> DataFrame:
    """Summaries of columns for each group: answers with bars, and the sketches if asked for.

    Parameters
    ----------
    rows
        A DataFrame, batch or streaming, or paths of parquet files and directories.
    by
        Grouping columns.
    sketches
        Whether to give the bytes of each sketch too: those of DataSketches where it has such a
        sketch, our own otherwise. Over a stream they are all that is given.
    summaries
        Name of a column of the result, and what it holds.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if isinstance(rows, DataFrame):
        _check_columns(rows.columns, names, summaries)
        if rows.isStreaming:
            return _summarise_stream(rows, names, summaries)
        wanted = [*dict.fromkeys((*names, *(s.column for s in summaries.values())))]
        chosen = rows.select(*wanted)
        parts = chosen.mapInArrow(_folding(names, summaries), "part binary")
        schema = to_arrow_schema(chosen.schema)
        return _put_together(parts, schema, names, summaries, sketches=sketches)
    files = _row_groups([str(rows)] if isinstance(rows, str | Path) else list(map(str, rows)))
    schema = pq.read_schema(files[0][0])
    _check_columns(schema.names, names, summaries)
    session: Any = open_session()
    tasks = _tasks(session, files)
    parts = tasks.mapInArrow(_reading(names, summaries), "part binary")
    return _put_together(parts, schema, names, summaries, sketches=sketches)


def quantiles_of(sketch: str | Column, *at: float, kind: str = "kll") -> Column:
    """Quantiles with bars from a column of sketch bytes, Spark's or ours: an array of answers."""
    return _reader(sketch, kind, tuple(Quantile(phi) for phi in at or (0.5,)))


def distinct_of(sketch: str | Column, *, kind: str = "hll") -> Column:
    """A distinct count with its bar from a column of sketch bytes, Spark's or ours."""
    return _reader(sketch, kind, (Distinct(),))[0]


def _reader(sketch: str | Column, kind: str, questions: tuple[Question, ...]) -> Column:
    spark_functions: Any = F
    read: Any = spark_functions.arrow_udf(_answering(kind, questions), f"array<{ANSWER_TYPE}>")
    column: Column = read(F.col(sketch) if isinstance(sketch, str) else sketch)
    return column


def _answering(kind: str, questions: tuple[Question, ...]) -> Callable[[pa.Array], pa.Array]:
    fields = ("value", "low", "high", "confidence")

    def answer(sketches: pa.Array) -> pa.Array:
        source: Any = registry()[kind]
        out: list[list[dict[str, float]] | None] = []
        for data in sketches.to_pylist():
            if data is None:
                out.append(None)
                continue
            own = data.startswith(b"SGST")
            held = source.from_bytes(data) if own else source.from_datasketches(data)
            found = [held.query(question) for question in questions]
            out.append([{name: getattr(bar, name) for name in fields} for bar in found])
        cell = pa.struct([(name, pa.float64()) for name in fields])
        return pa.array(out, pa.list_(cell))

    # Spark reads the annotations to know what kind of function this is; ours are only text.
    answer.__annotations__ = {"sketches": pa.Array, "return": pa.Array}
    return answer


def _folding(by: tuple[str, ...], summaries: dict[str, Summary]) -> Callable[[Batches], Batches]:
    def fold(batches: Batches) -> Batches:
        tally = Tally.of(by, summaries)
        for batch in batches:
            tally.update(batch)
        if len(tally):
            yield _part(tally)

    return fold


def _reading(by: tuple[str, ...], summaries: dict[str, Summary]) -> Callable[[Batches], Batches]:
    wanted = [*dict.fromkeys((*by, *(s.column for s in summaries.values())))]

    def read(batches: Batches) -> Batches:
        tally = Tally.of(by, summaries)
        for batch in batches:
            for path, group in zip(
                batch.column("path").to_pylist(), batch.column("group").to_pylist(), strict=True
            ):
                with pq.ParquetFile(path) as file:
                    tally.update(file.read_row_group(group, columns=wanted, use_threads=False))
        if len(tally):
            yield _part(tally)

    return read


def _part(tally: Tally) -> pa.RecordBatch:
    return pa.record_batch([pa.array([tally.to_bytes()], pa.binary())], ["part"])


def _put_together(
    parts: DataFrame,
    schema: pa.Schema,
    by: tuple[str, ...],
    summaries: dict[str, Summary],
    *,
    sketches: bool,
) -> DataFrame:
    keys = [schema.field(name) for name in by]
    plain = [pa.field(f.name, getattr(f.type, "value_type", f.type)) for f in keys]
    result = pa.schema([*plain, *(pa.field(name, SUMMARY) for name in summaries)])

    def merge(batches: Batches) -> Batches:
        whole = Tally.of(by, summaries)
        for batch in batches:
            for data in batch.column("part").to_pylist():
                whole.merge(Tally.from_bytes(data, by, summaries))
        if len(whole):
            yield from whole.result(sketches=sketches).cast(result).to_batches()

    return parts.repartition(1).mapInArrow(merge, from_arrow_schema(result))


def _summarise_stream(
    rows: DataFrame, by: tuple[str, ...], summaries: dict[str, Summary]
) -> DataFrame:
    """Sketches of each group over all rows so far, united in Spark's own state."""
    for name, asked in summaries.items():
        if asked.kind not in UNIONS:
            raise BindError(
                f"{name!r} cannot be kept over a streaming DataFrame",
                f"Spark unites {', '.join(UNIONS)}; {asked.kind} is ours alone",
                "register a standing query on a gauge, or use foreachBatch with summarise",
            )
    wanted = [*dict.fromkeys((*by, *(s.column for s in summaries.values())))]
    chosen = rows.select(*wanted)
    schema = to_arrow_schema(chosen.schema)
    out = pa.schema([*(schema.field(n) for n in by), *((n, pa.binary()) for n in summaries)])

    def fold(batches: Batches) -> Batches:
        tally = Tally.of(by, summaries)
        for batch in batches:
            tally.update(batch)
        if len(tally):
            columns = [tally.keys()[name].combine_chunks() for name in by]
            for bank in tally.banks.values():
                held = [foreign_bytes(bank.synopsis(group)) for group in range(len(tally))]
                columns.append(pa.array(held, pa.binary()))
            yield pa.RecordBatch.from_arrays(columns, schema=out)

    parts = chosen.mapInArrow(fold, from_arrow_schema(out))
    unions = [UNIONS[s.kind](F.col(name)).alias(name) for name, s in summaries.items()]
    return parts.groupBy(*by).agg(*unions)


def _row_groups(paths: list[str]) -> list[tuple[str, int, int]]:
    """Path, number and rows of every row group below some paths."""
    found = []
    for path in paths:
        for file in ds.dataset(path, format="parquet").files:
            meta = pq.read_metadata(file)
            found += [(file, i, meta.row_group(i).num_rows) for i in range(meta.num_row_groups)]
    if not found:
        raise BindError("no rows to summarise", f"no parquet below {paths}", "check the path")
    return found


def _tasks(session: SparkSession, files: list[tuple[str, int, int]]) -> DataFrame:
    """Row groups dealt to as many tasks as there are cores, about the same rows to each."""
    n_tasks = min(len(files), session.sparkContext.defaultParallelism)
    shares: list[list[tuple[str, int]]] = [[] for _ in range(n_tasks)]
    load = [0] * n_tasks
    for path, group, rows in sorted(files, key=lambda f: -f[2]):
        lightest = load.index(min(load))
        shares[lightest].append((path, group))
        load[lightest] += rows
    dealt = session.sparkContext.parallelize(shares, n_tasks)
    return dealt.flatMap(list).toDF("path string, group int")


def _check_columns(
    known: Sequence[str], by: tuple[str, ...], summaries: dict[str, Summary]
) -> None:
    for column in (*by, *(s.column for s in summaries.values())):
        if column not in known:
            raise BindError(
                f"unknown column {column!r}", f"there are {', '.join(known)}", "check the spelling"
            )
    if not summaries:
        raise BindError(
            "nothing to summarise", "no summary was given", "add d=distinct('user'), for example"
        )
