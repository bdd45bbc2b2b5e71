"""Rows for the workload `windows`: keys that each send ten numbers a second.

`--data DIR` gives parquet of one's own with the columns key (text or whole number), ts (time) and
value (float); its rows are taken in the order of time.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from streamgauge.kernel.errors import BindError

START = 1_767_225_600_000_000
SECOND = 1_000_000
KEYS, PER_SECOND = 1000, 10
LENGTH, SLIDE = 60, 1
SHARE = 0.95
COLUMNS = ("key", "ts", "value")

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Hops:
    """A prepared directory: files of a batch, and files of a twentieth of one for the slow."""

    directory: str
    rows: int
    batch: int
    keys: int

    def path(self, name: str) -> Path:
        """A folder of it."""
        return Path(self.directory) / name

    @classmethod
    def read(cls, directory: str) -> Hops:
        """A directory prepared before."""
        return cls(**json.loads((Path(directory) / "hops.json").read_text(encoding="utf-8")))

    def head(self, rows: int) -> pa.Table:
        """The first rows, in memory."""
        table = ds.dataset(sorted(self.path("slices").glob("*.parquet"))).to_table()
        return table.slice(0, rows)


def generate(directory: Path, rows: int, batch: int) -> Hops:
    """Ten rows a second for each key, in the order of time."""
    rng = np.random.default_rng(5)
    step = SECOND // (KEYS * PER_SECOND)
    names = pa.array([f"k{i:04d}" for i in range(KEYS)])
    number = np.arange(rows)
    table = pa.table(
        {
            "key": names.take(pa.array(number % KEYS)),
            "ts": pa.array(START + number * step, pa.timestamp("us", tz="UTC")),
            "value": rng.lognormal(3.0, 1.0, rows),
        }
    )
    return _write(directory, table, batch)


def adopt(directory: Path, data: Path, rows: int, batch: int) -> Hops:
    """Rows of somebody else's, by time."""
    dataset = ds.dataset(data, format="parquet")
    missing = set(COLUMNS) - set(dataset.schema.names)
    if missing:
        raise BindError(
            f"the rows lack {', '.join(sorted(missing))}",
            f"{data} has {', '.join(dataset.schema.names)}",
            "give columns key, ts (time) and value (float)",
        )
    table = dataset.to_table(columns=list(COLUMNS)).sort_by("ts").slice(0, rows)
    table = table.set_column(0, "key", pc.cast(table["key"], pa.string()))
    times = pc.cast(table["ts"], pa.timestamp("us", tz="UTC"))
    return _write(directory, table.set_column(1, "ts", times), min(batch, table.num_rows // 4))


def _write(directory: Path, table: pa.Table, batch: int) -> Hops:
    for name, size, most in (("rows", batch, table.num_rows), ("slices", batch // 20, batch)):
        (directory / name).mkdir(parents=True)
        for part, start in enumerate(range(0, most, size)):
            rows = table.slice(start, min(size, most - start))
            path = directory / name / f"{part:05d}.parquet"
            pq.write_table(rows, path, row_group_size=max(1, size // 4))
    keys = len(table["key"].unique())
    hops = Hops(str(directory), table.num_rows, batch, keys)
    (directory / "hops.json").write_text(json.dumps(asdict(hops)), encoding="utf-8")
    return hops
