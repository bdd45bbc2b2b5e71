"""Rows and selections for the workload `language`.

Rows have a time and two floats, uniform on [0, 255], `a` in whole numbers. A selection is an AND
of comparisons with constants: one in five of those divides the range evenly, the others are values
of the data. `--data DIR` gives parquet of one's own with the columns ts, a and b (floats).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr, column, literal

COLUMNS = ("a", "b")
TOP = 255
FILES = 8
# An engine closes all ticks up to here.
AFTER = timedelta(minutes=1)
OPS = ("<", "<=", ">", ">=")
PRIME = 1_000_003
# What is compared of two results, in SQL.
SUMS = ("count(*)", "sum(row)", "sum(q)", f"sum(row * q % {PRIME})")

Floats: TypeAlias = npt.NDArray[np.float64]
Factor: TypeAlias = tuple[str, str, float]
Selection: TypeAlias = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A directory of rows, numbered in the column `row`, in files of one batch each."""

    directory: str
    rows: int
    batch: int
    end: str

    @property
    def parquet(self) -> Path:
        """Where the rows are."""
        return Path(self.directory) / "rows"

    @classmethod
    def read(cls, directory: str) -> Prepared:
        """A directory prepared before."""
        text = (Path(directory) / "prepared.json").read_text(encoding="utf-8")
        return cls(**json.loads(text))

    def table(self) -> pa.Table:
        """All rows."""
        return ds.dataset(self.parquet, format="parquet").to_table().combine_chunks()


def generate(directory: Path, rows: int) -> Prepared:
    """Make the rows: one a millisecond."""
    rng = np.random.default_rng(17)
    table = pa.table(
        {
            "ts": pa.array(np.arange(rows) * 1000).cast(pa.timestamp("us", "UTC")),
            "a": rng.integers(0, TOP + 1, rows).astype(np.float64),
            "b": rng.random(rows) * TOP,
        }
    )
    return _seal(directory, table)


def adopt(directory: Path, data: Path, rows: int) -> Prepared:
    """Rows of somebody else's, at most this many."""
    dataset = ds.dataset(data, format="parquet")
    missing = {"ts", *COLUMNS} - set(dataset.schema.names)
    if missing:
        raise BindError(
            f"the rows lack {', '.join(sorted(missing))}",
            f"{data} has {', '.join(dataset.schema.names)}",
            "give columns ts (time), a (float) and b (float)",
        )
    table = dataset.head(rows, columns=["ts", *COLUMNS])
    table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC"))).sort_by("ts")
    for name in COLUMNS:
        table = table.filter(pc.is_finite(table[name].cast(pa.float64())))
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(pa.float64()))
    return _seal(directory, table)


def _seal(directory: Path, table: pa.Table) -> Prepared:
    (directory / "rows").mkdir(parents=True)
    numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
    batch = max(1, -(-table.num_rows // FILES))
    for start in range(0, table.num_rows, batch):
        pq.write_table(numbered.slice(start, batch), directory / "rows" / f"{start:09d}.parquet")
    last = pc.max(table["ts"]).as_py() or datetime.fromtimestamp(0, UTC)
    prepared = Prepared(str(directory), table.num_rows, batch, (last + AFTER).isoformat())
    (directory / "prepared.json").write_text(json.dumps(asdict(prepared)), encoding="utf-8")
    return prepared


def constants(rows: pa.Table, name: str, n: int, rng: np.random.Generator) -> Floats:
    """Constants for a column: a fifth even parts of its range, the others some of its values."""
    values = np.asarray(rows[name].to_numpy())
    low, high = values.min(), values.max()
    even = np.floor(low + (high - low + 1) * rng.integers(0, 8, n) / 8)
    return np.where(rng.random(n) < 0.2, even, values[rng.integers(0, len(values), n)])


def inequalities(rows: pa.Table, n: int, factors: int) -> list[Selection]:
    """Selections of a number of inequalities each, on a and b in turn."""
    rng = np.random.default_rng(23)
    drawn = [constants(rows, COLUMNS[k % 2], n, rng) for k in range(factors)]
    ops = rng.integers(0, len(OPS), (n, factors))
    return [
        tuple((COLUMNS[k % 2], OPS[ops[q, k]], float(drawn[k][q])) for k in range(factors))
        for q in range(n)
    ]


def alerts(rows: pa.Table, n: int) -> list[Selection]:
    """A third: a = c, perhaps with a bound on b. A third: narrow in b. A third: a and b bounded."""
    rng = np.random.default_rng(29)
    a, b = (constants(rows, name, n, rng) for name in COLUMNS)
    spans = [float(np.ptp(rows[name].to_numpy())) for name in COLUMNS]
    width = rng.random(n)
    found: list[Selection] = []
    for q in range(n):
        equal, above = ("a", "=", float(a[q])), ("b", ">", float(b[q]))
        narrow = ("b", "<=", float(b[q] + 0.005 * spans[1] * width[q]))
        wider = ("a", "<", float(a[q] + 0.02 * spans[0] * width[q]))
        forms = (
            (equal,),
            (equal, above),
            (above, narrow),
            (("a", ">=", float(a[q])), wider, above),
        )
        found.append(forms[(0, 2, 3, 1, 2, 3)[q % 6]])
    return found


def conditions(selections: list[Selection]) -> list[tuple[Expr, ...]]:
    """The selections as conjuncts of expressions."""
    return [
        tuple(Expr(op, (column(name), literal(value))) for name, op, value in selection)
        for selection in selections
    ]


def as_ranges(selections: list[Selection]) -> pa.Table:
    """The selections as a table of closed intervals, for a join: q, a0, a1, b0, b1."""
    ends = np.tile([-np.inf, np.inf], (len(selections), 2))
    for q, selection in enumerate(selections):
        for name, op, value in selection:
            at = 2 * COLUMNS.index(name)
            if op in ("=", ">=", ">"):
                least = np.nextafter(value, np.inf) if op == ">" else value
                ends[q, at] = max(ends[q, at], least)
            if op in ("=", "<=", "<"):
                most = np.nextafter(value, -np.inf) if op == "<" else value
                ends[q, at + 1] = min(ends[q, at + 1], most)
    numbers = pa.array(np.arange(len(selections), dtype=np.int32))
    return pa.table([numbers, *ends.T], names=["q", "a0", "a1", "b0", "b1"])


def as_sql(selections: list[Selection]) -> str:
    """One condition for rows that any selection takes."""
    each = (" AND ".join(f"{name} {op} {value!r}" for name, op, value in s) for s in selections)
    return " OR ".join(f"({one})" for one in each)


def as_script(selections: list[Selection]) -> str:
    """The selections as standing queries over the stream `readings`."""
    each = (" AND ".join(f"{name} {op} {value!r}" for name, op, value in s) for s in selections)
    head = "AS SELECT ISTREAM(a, b) FROM readings [ROWS UNBOUNDED] WHERE"
    return "\n".join(f"CREATE QUERY s{k} {head} {where};" for k, where in enumerate(each))


def facts(pairs: float, rows: float, queries: float, mixed: float) -> dict[str, float]:
    """What is compared of two results: how many pairs, and sums over them."""
    return {"pairs": pairs, "rows": rows, "queries": queries, "mixed": mixed}


def judged(numbers: npt.NDArray[Any], queries: npt.NDArray[Any]) -> dict[str, float]:
    """The same of pairs in memory."""
    mixed = numbers * queries % PRIME
    return facts(len(numbers), float(numbers.sum()), float(queries.sum()), float(mixed.sum()))
