"""Rows and queries made for measuring: series that walk at random, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.capacity.workload import PANED, PARSED, Asked, Workload
from streamgauge.contracts.contract import Contract
from streamgauge.gauge import Gauge
from streamgauge.kernel.time import SECOND
from streamgauge.operators.aggregate import avg, maximum, minimum, quantile, total
from streamgauge.operators.predicate import col
from streamgauge.plan.members import Members
from streamgauge.plan.query import Query, every, on_change
from streamgauge.sources.declare import files
from streamgauge.streams.schema import Schema
from streamgauge.windows.window import Range

STREAM = "measured"
START = 1_767_225_600 * SECOND
# Those that share a table.
AGGREGATES = (avg, minimum, maximum, total)
# Standard deviations of an average that a deferred answer may be off by.
TOLERANCE = 4.0
CONFIDENCE = 0.9
# Share of rows that one selection gives: values are uniform in their last digits.
SCALE = 1_000_000


@dataclass(slots=True)
class Made:
    """Files of rows of a workload, page after page.

    `per_tick` rows come at each tick; where they are fewer than the series, of some of them drawn
    at random.
    """

    load: Workload
    directory: Path
    seed: int = 1
    written: int = 0
    ticks: int = 0
    value: npt.NDArray[np.float64] = field(init=False)
    rng: np.random.Generator = field(init=False)
    names: pa.Array = field(init=False)
    zones: pa.Array = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.value = self.rng.normal(size=self.load.series)
        self.names = pa.array([f"s{i:07d}" for i in range(self.load.series)])
        groups = max([one.groups for one in self.load.of(*PANED)], default=1)
        self.zones = pa.array([f"zone-{i % groups:05d}" for i in range(self.load.series)])
        self.directory.mkdir(parents=True)

    @property
    def per_tick(self) -> int:
        """Rows of one tick."""
        return max(1, round(self.load.rows * self.load.tick))

    def page(self, ticks: int, segments: int = 1) -> int:
        """Write the rows of so many ticks as files; return how many there are."""
        parts = [self._tick(self.ticks + k) for k in range(ticks)]
        self.ticks += ticks
        who = np.concatenate([part[0] for part in parts])
        at = np.concatenate([part[1] for part in parts])
        value = np.concatenate([part[2] for part in parts])
        for chunk in np.array_split(np.arange(len(who)), segments):
            self._write(who[chunk], at[chunk], value[chunk])
        return len(who)

    def _tick(self, number: int) -> tuple[Any, Any, Any]:
        n, series = self.per_tick, self.load.series
        who = np.arange(series) if n == series else self.rng.integers(0, series, n)
        self.value[who] += self.rng.normal(size=n)
        width = round(self.load.tick * SECOND)
        at = np.full(n, START + (number + 1) * width)
        return who, at, self.value[who]

    def _write(self, who: Any, at: Any, value: Any) -> None:
        columns = {
            "series": self.names.take(pa.array(who)),
            "ts": pa.array(at, pa.timestamp("us", tz="UTC")),
            "value": pa.array(value),
            "zone": self.zones.take(pa.array(who)),
            "draw": pa.array(self.rng.integers(0, SCALE, len(who)).astype(np.float64)),
        }
        name = f"{self.written:08d}"
        self.written += 1
        if self.load.source in PARSED:
            _write_lines(columns, self.directory / f"{name}.jsonl")
        else:
            pq.write_table(pa.table(columns), self.directory / f"{name}.parquet")


def _write_lines(columns: dict[str, Any], path: Path) -> None:
    """Rows as JSON lines, made column by column."""
    times = np.asarray(columns["ts"].cast(pa.int64()).to_numpy()) // SECOND
    instants = np.datetime_as_string(times.astype("datetime64[s]")).tolist()
    series, zone = columns["series"].to_pylist(), columns["zone"].to_pylist()
    value, draw = columns["value"].to_pylist(), columns["draw"].to_pylist()
    lines = [
        f'{{"series":"{s}","ts":"{t}Z","value":{v!r},"zone":"{z}","draw":{d!r}}}\n'
        for s, t, v, z, d in zip(series, instants, value, zone, draw, strict=True)
    ]
    path.write_text("".join(lines), encoding="utf-8")


def declare(gauge: Gauge, load: Workload, made: Made) -> None:
    """Declare the stream and register all that is asked."""
    form = "jsonl" if load.source in PARSED else "parquet"
    schema = Schema.of(series="string", ts="time", value="float", zone="string", draw="float")
    gauge.stream(
        STREAM,
        source=files(made.directory, format=form),
        time="ts",
        key="series",
        schema=schema,
        tick=load.tick,
        future=None,
        keep=max([one.window for one in load.of(*PANED)], default=60.0),
    )
    for serial, one in enumerate(load.asked):
        if one.kind == "selection":
            gauge.sql(_selections(one))
        elif one.kind in ("deferred", "watched"):
            gauge.register(_family(gauge, load, one, serial, made.directory.parent))
        elif one.kind == "latest":
            gauge.register(*_latest(load, one, serial))
        else:
            gauge.register(*_windows(load, one, serial))


def _members(load: Workload, one: Asked, serial: int) -> npt.NDArray[np.int32]:
    """Different series for each query: a start and a stride drawn at random."""
    rng = np.random.default_rng(serial + 11)
    width = min(one.members, load.series)
    start = rng.integers(0, load.series, (one.queries, 1))
    stride = rng.integers(1, max(2, load.series // width), (one.queries, 1))
    return ((start + stride * np.arange(width)) % load.series).astype(np.int32)


def _family(gauge: Gauge, load: Workload, one: Asked, serial: int, directory: Path) -> Query:
    members = _members(load, one, serial)
    cells = np.repeat(np.arange(one.queries), members.shape[1])
    names = pa.array([f"s{i:07d}" for i in range(load.series)])
    path, table = directory / f"members-{serial}.parquet", f"members_{serial}"
    pq.write_table(pa.table({"cell": cells, "series": names.take(pa.array(members.ravel()))}), path)
    gauge.create_table(table, path)
    owed = Contract.absolute(TOLERANCE / members.shape[1] ** 0.5, confidence=CONFIDENCE)
    return Query(
        f"family-{serial}",
        STREAM,
        avg("value"),
        members=Members(table, "series", ("cell",)),
        contract=owed,
        regime="timer" if one.kind == "deferred" else "watch",
    )


def _latest(load: Workload, one: Asked, serial: int) -> list[Query]:
    members = _members(load, one, serial)
    answer = on_change(2.5 / members.shape[1] ** 0.5)
    return [
        Query(
            f"latest-{serial}-{number:06d}",
            STREAM,
            avg("value"),
            series=tuple(f"s{i:07d}" for i in row),
            answer=answer,
        )
        for number, row in enumerate(members.tolist())
    ]


def _windows(load: Workload, one: Asked, serial: int) -> list[Query]:
    found = []
    for number in range(one.queries):
        aggregate = AGGREGATES[number % len(AGGREGATES)]("value")
        contract = Contract()
        if one.kind == "summary":
            aggregate = quantile("value", 0.5 + 0.49 * number / one.queries)
            contract = Contract.relative(0.01)
        filtered = number % one.pieces
        found.append(
            Query(
                f"{one.kind}-{serial}-{number:06d}",
                STREAM,
                aggregate,
                window=Range(one.window, slide=one.slide),
                where=col("draw") >= float(filtered) if filtered else None,
                group_by=("zone",),
                answer=every(one.slide),
                contract=contract,
            )
        )
    return found


def _selections(one: Asked) -> str:
    """Statements whose conditions each let one row of a hundred pass."""
    rng = np.random.default_rng(5)
    width = SCALE // 100
    starts = rng.integers(0, SCALE - width, one.queries).tolist()
    # Statements of our own language, made of our own names and numbers.
    return "\n".join(
        f"CREATE QUERY selection_{number} AS SELECT ISTREAM(series, value) "  # noqa: S608  # nosec B608
        f"FROM {STREAM} [ROWS UNBOUNDED] WHERE draw >= {start} AND draw < {start + width};"
        for number, start in enumerate(starts)
    )
