"""Work over 1 to 16 shards: what a row costs in all, and what the slowest shard does.

Two ways beside each other: each shard reads all rows, or rows are read once and sent to their
shards. Scans and folds run one after the other in this process and are timed by processor time, so
that the figures are those of the work, without Spark and without waiting. Two sizes of epochs give
the cost of a row (slope) and of an epoch (intercept). With `--data DIR`: parquet files with the
columns series, ts, value.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import streamgauge as sg
from bench.report import Bar, Report
from bench.state_changes import page_of
from streamgauge.engine import shard
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.engine.scan import scan
from streamgauge.engine.slices import slices
from streamgauge.log.journal import Journal

NAME = "scale"
SHARDS = (1, 4, 16)
SUMS = (6_000_000, 60_000_000)
ROWS = (1_000_000, 6_000_000)
# Where each shard reads all rows, they cost so much that fewer tell the slope as well.
READ = (1_000_000, 3_000_000)
JOINED = (200_000, 600_000)
QUICK = (60_000, 120_000)
SPAN = 10_000_000
DECLARED = (
    "CREATE STREAM {} (ts TIME, series STRING, item INT, value FLOAT) "
    "FROM FILES '{{rows}}' TIME ts KEY series KEEP 1 MINUTE FUTURE ANY"
)
ASKED = "CREATE QUERY q AS SELECT "
GROUPED = ASKED + "series, {} FROM s [RANGE 10 SECONDS] GROUP BY series EVERY 10 SECONDS {}"


class Case(NamedTuple):
    """Groups, what is asked, and the rows of two epochs whose rows are sent.

    `share` is the share of the rows that a shard of sixteen needs whatever is done, where that is
    more than a sixteenth; each of them needs it if `each`. Groups are drawn evenly, or by Zipf's
    law.
    """

    groups: int
    asked: Sequence[str | sg.Query]
    sizes: tuple[int, int]
    share: float = 0.0
    each: bool = False
    zipf: bool = False


def _portfolio(series: int) -> list[sg.Query]:
    """As many queries as series, each over four of them."""
    rng = np.random.default_rng(7)
    members = rng.integers(0, series, (series, 4))
    return [
        sg.Query(
            f"q{number}",
            "s",
            sg.avg("value"),
            series=tuple(f"series-{n:06d}" for n in sorted(set(row))),
            answer=sg.every("10 seconds"),
        )
        for number, row in enumerate(members.tolist())
    ]


def _selections(how_many: int) -> list[str]:
    """Selections of a few rows in ten thousand each."""
    return [
        f"CREATE QUERY q{n} AS SELECT ISTREAM(series, value) FROM s "
        f"WHERE value > 150 AND item = {n}"
        for n in range(how_many)
    ]


def _join() -> list[str]:
    """A join of two streams in a key, of which few pairs are given."""
    return [
        DECLARED.format("t"),
        ASKED + "ISTREAM(a.series, a.item, b.value) FROM s [RANGE 1 SECOND] AS a "
        "JOIN t [RANGE 1 SECOND] AS b ON a.series = b.series AND a.item = b.item "
        "AND a.value > 130",
    ]


# Cells are sent for the averages, rows for the others.
CASES = {
    "windows_1000": Case(1_000, [GROUPED.format("AVG(value)", "")], SUMS),
    "windows_100000": Case(100_000, [GROUPED.format("AVG(value)", "")], ROWS),
    "total": Case(1_000, [ASKED + "AVG(value) FROM s [RANGE 10 SECONDS] EVERY 10 SECONDS"], SUMS),
    "rows_1000": Case(1_000, [GROUPED.format("STDDEV(value)", "")], ROWS),
    "summaries_1000": Case(
        1_000, [GROUPED.format("APPROX_COUNT_DISTINCT(item)", "WITHIN 5 PERCENT")], ROWS
    ),
    # A query in sixteen is on a shard, and lists four of a thousand series.
    "latest_1000": Case(1_000, _portfolio(1_000), ROWS, 1 - 0.999 ** (4_000 / 16), each=True),
    "latest_10000": Case(10_000, _portfolio(10_000), ROWS, 1 - 0.9999**2_500, each=True),
    "selections_100": Case(1_000, _selections(100), ROWS),
    "join": Case(1_000, _join(), JOINED),
    # The hottest of a thousand groups has so many of the rows.
    "rows_zipf": Case(
        1_000,
        [GROUPED.format("STDDEV(value)", "")],
        ROWS,
        float(1 / (1 / np.arange(1, 1_001)).sum()),
        zipf=True,
    ),
    "windows_zipf": Case(1_000, [GROUPED.format("AVG(value)", "")], SUMS, zipf=True),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds of one epoch: all tasks together, and the slowest fold."""

    total: float
    fold: float


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds for a million rows, of all tasks and of the slowest fold, and for an empty epoch.

    `own` is what a fold takes without rows.
    """

    total: float
    slowest: float
    fixed: float
    own: float


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Measure all cases over all numbers of shards, both ways."""
    report = Report(NAME, quick=quick, origin=str(data) if data else "generated")
    report.about = "processor seconds for a million rows: all tasks, and the slowest fold"
    given = None if data is None else _given(data)
    for name, case in CASES.items():
        found: dict[tuple[str, int], Line] = {}
        for n_shards in SHARDS[:2] if quick else SHARDS:
            for way in ("read", "sent"):
                console.print(f"{name}: {n_shards} shards, rows are {way}")
                sizes = min(READ, case.sizes) if way == "read" else case.sizes
                line = measured(case, n_shards, way == "sent", QUICK if quick else sizes, given)
                found[way, n_shards] = line
                for figure in ("total", "slowest", "fixed", "own"):
                    key = f"{name}_{way}_{n_shards}_{figure}"
                    report.figures[key] = (getattr(line, figure), "s")
        _judge(report, name, found)
    console.print("state that a page writes")
    _state(report, 10_000 if quick else 100_000)
    return report


def _state(report: Report, groups: int) -> None:
    """Bytes and seconds of a page where one group in a hundred moves, and where there are few."""
    many, few = page_of(groups, groups // 100), page_of(50, 20)
    report.figures["state_written_a_page"] = (many.written, "bytes")
    report.figures["state_bytes"] = (many.state, "bytes")
    report.figures["state_page"] = (many.seconds, "s")
    report.figures["small_state_page"] = (few.seconds, "s")
    report.bars["state_written_share"] = Bar(many.written / many.state, 0.027, at_least=False)


def _judge(report: Report, case: str, found: dict[tuple[str, int], Line]) -> None:
    most = max(n for _, n in found)
    one, many = found["sent", 1], found["sent", most]
    read, asked = found["read", 1], CASES[case]
    # Rows that all shards need together, for each row there is.
    rows = most * asked.share if asked.each and most == SHARDS[-1] else 1.0
    slope = many.total / one.total / max(1.0, rows)
    report.bars[f"{case}_slope"] = Bar(slope, 1.2, at_least=False)
    if asked.share and most == SHARDS[-1]:
        slowest = Bar(many.slowest / one.slowest, asked.share / 0.8, at_least=False)
    else:
        slowest = Bar(many.slowest / read.slowest, 1.6 / most, at_least=False)
    report.bars[f"{case}_slowest"] = slowest
    report.bars[f"{case}_fold"] = Bar(many.own, 0.1, at_least=False)
    report.figures[f"{case}_sent_{most}_to_read_1"] = (many.total / read.total, "ratio")


def measured(
    case: Case, n_shards: int, sent: bool, sizes: tuple[int, int], given: pa.Table | None
) -> Line:
    """Slope and intercept from epochs of two sizes, each the cheaper of two."""
    root = Path(tempfile.mkdtemp(prefix="streamgauge-scale-"))
    try:
        rows = root / "rows"
        rows.mkdir()
        gauge = sg.connect(root / "home", engine="local", shards=n_shards, exchange=sent)
        for asked in (DECLARED.format("s"), *case.asked):
            if isinstance(asked, str):
                gauge.sql(asked.replace("{rows}", str(rows)))
        gauge.register(*(asked for asked in case.asked if not isinstance(asked, str)))
        lander = Lander(gauge.home, max_rows=10**9, exchange=sent)
        costs: dict[int, list[Cost]] = {size: [] for size in sizes}
        for number, size in enumerate((sizes[0], *sizes, *sizes)):
            table = _rows(number, size, case) if given is None else _part(given, number, size)
            pq.write_table(table, rows / f"{number:03d}.parquet", row_group_size=1 << 19)
            cost = _epoch(gauge, lander, sent)
            if number:
                costs[size].append(cost)
        shard.forget(gauge.home)
        return _line(costs, sizes)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _epoch(gauge: sg.Gauge, lander: Lander, sent: bool) -> Cost:
    home, start = gauge.home, gauge.home.committed()
    lander.land()
    page = Journal(home).page(start + 1)
    scans, packets = [], []
    for part in slices(page):
        begun = time.process_time()
        packets.append(list(scan(home, page, part)))
        scans.append(time.process_time() - begun)
    assert bool(packets) == sent, "an epoch went the other way"
    folds, receipts = [], []
    for k in range(home.shards):
        begun = time.process_time()
        mine = [packet[k] for packet in packets] if sent else None
        receipts.append(shard.run(home, k, start, start + 1, mine))
        folds.append(time.process_time() - begun)
    commit(home, start, receipts, 0.0)
    return Cost(sum(scans) + sum(folds), max(folds))


def _line(costs: dict[int, list[Cost]], sizes: tuple[int, int]) -> Line:
    least = {n: min(found, key=lambda cost: cost.total) for n, found in costs.items()}
    small, large = least[sizes[0]], least[sizes[1]]
    millions = (sizes[1] - sizes[0]) / 1e6
    slope = (large.total - small.total) / millions
    slowest = min(c.fold for c in costs[sizes[1]]) - min(c.fold for c in costs[sizes[0]])
    fixed = small.total - slope * sizes[0] / 1e6
    fold = min(c.fold for c in costs[sizes[0]]) - slowest / millions * sizes[0] / 1e6
    return Line(slope, slowest / millions, max(fixed, 0.0), max(fold, 0.0))


def _rows(number: int, size: int, case: Case) -> pa.Table:
    rng = np.random.default_rng(number)
    names = pa.array([f"series-{n:06d}" for n in range(case.groups)])
    codes = rng.integers(0, case.groups, size, dtype=np.int32)
    if case.zipf:
        shares = np.cumsum(1 / np.arange(1, case.groups + 1))
        codes = np.searchsorted(shares, rng.random(size) * shares[-1]).astype(np.int32)
    ts = number * SPAN + np.sort(rng.integers(0, SPAN, size))
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "series": pa.DictionaryArray.from_arrays(codes, names),
            "item": rng.integers(0, 1000, size),
            "value": rng.normal(100.0, 15.0, size),
        }
    )


def _given(directory: Path) -> pa.Table:
    """Rows of all files, with an item for sketches that is made of the value."""
    tables = [
        pq.read_table(path, columns=["series", "value"]) for path in directory.glob("*.parquet")
    ]
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    values = np.nan_to_num(np.asarray(table["value"].cast(pa.float64()).to_numpy()))
    items = pa.array((values * 100).astype(np.int64))
    series = table["series"].cast(pa.string())
    return pa.table({"series": series, "item": items, "value": pa.array(values)})


def _part(given: pa.Table, number: int, size: int) -> pa.Table:
    """So many of the given rows, over and over, spread evenly over a span of time."""
    which = pa.array((np.arange(size) + number * size) % len(given))
    ts = number * SPAN + np.linspace(0, SPAN - 1, size).astype(np.int64)
    return given.take(which).add_column(0, "ts", pa.array(ts, pa.timestamp("us", "UTC")))
