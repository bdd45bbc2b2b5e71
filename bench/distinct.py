"""Distinct counts over columns of real files: how often intervals hold, and whether misses agree.

Each column is counted by sketches of many data directories, two kept sketches in each, with seeds
as registration derives them. Values enter as the engine hands them to a sketch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console

from bench.report import Bar, Report
from streamgauge.checks.trials import cutoff
from streamgauge.contracts.contract import Contract
from streamgauge.engine.rows import as_numbers
from streamgauge.kernel.keys import items, keys
from streamgauge.plan.seeds import seeded
from streamgauge.plan.summary import model_name, named_model
from streamgauge.synopses.choose import choose
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Need

Flags = npt.NDArray[np.bool_]
NAME = "distinct"
COLUMNS, HOMES = 50, 20
SKETCHES = ("one", "two")


@dataclass(frozen=True, slots=True)
class Column:
    """Different values of a column, and where it is from."""

    name: str
    values: Any


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether each interval missed: by column, data directory and kept sketch."""

    columns: tuple[tuple[str, int], ...]
    missed: Flags
    promised: float


def columns_of(directory: Path, most: int) -> list[Column]:
    """Columns of all parquet files below a directory, spread over their numbers of values."""
    found: dict[int, Column] = {}
    for path in sorted(directory.rglob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for name in file.schema_arrow.names:
                kind = file.schema_arrow.field(name).type
                if pa.types.is_nested(kind) or pa.types.is_decimal(kind):
                    continue
                values = _different(file.read([name]).column(name))
                if 2 <= len(values) <= 1_200_000:
                    found.setdefault(len(values), Column(f"{path.stem}.{name}", values))
    counts = sorted(found)
    # Evenly on a scale of logarithms first: many columns have few values.
    logs = np.log(counts)
    near = {int(np.abs(logs - at).argmin()) for at in np.linspace(logs[0], logs[-1], most)}
    rest = [place for place in reversed(range(len(counts))) if place not in near]
    chosen = sorted([*near, *rest[: most - len(near)]])
    return [found[counts[place]] for place in chosen]


def _different(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Different values as the engine hands them to a sketch."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return keys(items(pc.unique(column).drop_null()), seed=0).view(np.int64)
    if pa.types.is_boolean(column.type):
        return keys(items(pc.unique(column.cast(pa.string())).drop_null()), seed=0).view(np.int64)
    if pa.types.is_date(column.type) or pa.types.is_time(column.type):
        column = column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column
    if not (pa.types.is_timestamp(column.type) or pa.types.is_primitive(column.type)):
        return np.empty(0, np.int64)
    numbers = np.unique(as_numbers(column))
    return (numbers[~np.isnan(numbers)] + 0.0).view(np.int64)


def covered(columns: list[Column], homes: int, *, first: int = 1, within: float = 0.05,
            confidence: float = 0.95) -> Coverage:  # fmt: skip
    """Count each column in so many data directories."""
    owed = Contract.relative(within, confidence=confidence)
    chosen = model_name(choose(Need(Distinct(), owed)).model)
    missed = np.zeros((len(columns), homes, len(SKETCHES)), np.bool_)
    for place, column in enumerate(columns):
        for home in range(homes):
            for number, kept in enumerate(SKETCHES):
                held = named_model(seeded(chosen, first + home, f"{column.name} {kept}")).empty()
                held.update(column.values)
                bar = held.query(Distinct())
                missed[place, home, number] = not bar.low <= len(column.values) <= bar.high
    told = tuple((column.name, len(column.values)) for column in columns)
    return Coverage(told, missed, confidence)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Count columns of files, or generated ones, in many data directories."""
    homes = 5 if quick else HOMES
    report = Report(NAME, quick=quick, origin="generated" if data is None else str(data))
    columns = generated(COLUMNS) if data is None else columns_of(data, COLUMNS)
    console.print(f"{len(columns)} columns in {homes} data directories")
    found = covered(columns, homes)
    misses, size = int(found.missed.sum()), found.missed.size
    chance = 1.0 - found.promised
    worst = int(found.missed.sum(axis=(1, 2)).max())
    both = int(found.missed.all(axis=2).sum())
    report.figures["covered"] = (1.0 - misses / size, "share")
    report.figures["largest_count"] = (float(found.columns[-1][1]), "values")
    report.bars["misses"] = Bar(misses, cutoff(size, chance), at_least=False)
    of_one = cutoff(size // len(columns), chance)
    report.bars["misses_of_one_column"] = Bar(worst, of_one, at_least=False)
    report.bars["misses_of_both_sketches"] = Bar(both, cutoff(size // 2, chance**2), at_least=False)
    report.right = all(bar.met for bar in report.bars.values())
    report.about = f"{len(columns)} columns, {homes} data directories, two sketches in each"
    report.checked = f"{size - misses} of {size} intervals contain the count"
    return report


def generated(most: int) -> list[Column]:
    """Columns of consecutive whole numbers, 2 to 100,000 of them."""
    counts = np.unique(np.geomspace(2, 100_000, most).astype(int)).tolist()
    return [Column(str(n), np.arange(n, dtype=np.float64).view(np.int64)) for n in counts]
