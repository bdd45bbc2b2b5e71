"""The rows of a workload: generated, or the user's own, in the files that every peer reads.

A prepared directory holds

- `rows/`: the rows in event-time order, one file per batch;
- `slices/`: the first rows again in files of a tenth of a batch, for peers that cannot take more;
- `ticks/`: the first ticks again, one file each, for peers that answer once per batch;
- `members.npy`: which series each standing query reads;
- `card.json`: the `Card`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.hashing import stable_hash
from streamgauge.kernel.time import SECOND

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

START = 1_750_000_000 * SECOND
N_ZONES, N_KINDS = 10, 4
BATCHES_AT_LEAST = 6
# Two row groups or more, so that a scan of one file can use both cores.
GROUPS_PER_FILE = 4


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is run.

    At most `rows` rows and `checks` ticks are used; in sparse data the ticks are fewer rows. The
    first `ticks` ticks and `slices` slices are there for the peers that need them.
    """

    rows: int
    batch: int
    checks: int = 100_000
    queries: int = 10_000
    ticks: int = 60
    slices: int = 20
    n_series: int = 1_000


@dataclass(frozen=True, slots=True)
class Card:
    """What a prepared directory holds."""

    directory: str
    origin: str
    rows: int
    batch: int
    files: int
    tick: int
    series: tuple[str, ...]
    zones: tuple[str, ...]
    kind: str
    median: float
    epsilon: float

    def path(self, name: str) -> Path:
        """A file or folder of the prepared directory."""
        return Path(self.directory) / name

    def members(self) -> Codes:
        """Series of each standing query, one row per query, as places in `series`."""
        found: Codes = np.load(self.path("members.npy"))
        return found

    def write(self) -> None:
        """Leave the card in its directory."""
        self.path("card.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, directory: str | Path) -> Card:
        """The card of a prepared directory."""
        found = json.loads((Path(directory) / "card.json").read_text(encoding="utf-8"))
        return cls(**{**found, "series": tuple(found["series"]), "zones": tuple(found["zones"])})


@dataclass(slots=True)
class Columns:
    """Rows as columns in event-time order; `sid` is a place in `series`, `zone` and `kind`."""

    ts: Ints
    sid: Codes
    value: Floats
    series: list[str]
    zone: list[str]
    kind: list[str]

    def __len__(self) -> int:
        return len(self.ts)

    def table(self, start: int, stop: int) -> pa.Table:
        """Some of the rows as a table of the workload's schema."""
        sid = pa.array(self.sid[start:stop])

        def words(values: list[str]) -> pa.Array:
            return pa.DictionaryArray.from_arrays(sid, pa.array(values)).cast(pa.string())

        return pa.table(
            {
                "series": words(self.series),
                "ts": pa.array(self.ts[start:stop], pa.timestamp("us", tz="UTC")),
                "value": self.value[start:stop],
                "zone": words(self.zone),
                "kind": words(self.kind),
            }
        )


def ticks_of(ts: Ints, tick: int) -> Ints:
    """The check that first sees each instant."""
    return -((-ts) // tick)


def generate(rows: int, n_series: int, *, seed: int = 7) -> Columns:
    """Series that walk at random and tick once a second, all together."""
    rng = np.random.default_rng(seed)
    seconds = -(-rows // n_series)
    step = 0.05 * np.exp(rng.normal(0.0, 0.5, n_series))
    value = np.empty((seconds, n_series))
    last = np.full(n_series, 100.0)
    for start in range(0, seconds, 1000):
        part = value[start : start + 1000]
        part[:] = rng.standard_normal(part.shape)
        part *= step
        part[0] += last
        np.cumsum(part, axis=0, out=part)
        last = part[-1]
    numbers = np.arange(n_series, dtype=np.int32)
    return Columns(
        np.repeat(START + np.arange(1, seconds + 1) * SECOND, n_series)[:rows],
        np.tile(numbers, seconds)[:rows],
        value.ravel()[:rows],
        [f"s{number:04d}" for number in numbers],
        [f"zone-{number % N_ZONES}" for number in numbers],
        [f"kind-{number // N_ZONES % N_KINDS}" for number in numbers],
    )


def load(directory: Path) -> Columns:
    """The user's rows: parquet with columns series, ts, value and perhaps zone, kind."""
    files = sorted(directory.rglob("*.parquet")) if directory.is_dir() else []
    if not files:
        raise SourceFailure(
            f"no parquet files in {str(directory)!r}",
            "the directory is empty or absent" if directory.is_dir() else "there is no directory",
            "give a directory of parquet files with columns series, ts, value",
        )
    table = pa.concat_tables([_columns_of(path) for path in files], promote_options="default")
    usable = pc.and_(pc.is_valid(table["series"]), pc.is_valid(table["ts"]))
    table = table.filter(pc.and_(usable, pc.fill_null(pc.is_finite(table["value"]), False)))
    if table.num_rows == 0:
        raise SourceFailure(
            f"no usable rows in {str(directory)!r}",
            f"{len(files)} files, all rows have a null or an infinite value",
            "give rows with series, ts and a finite value",
        )
    return _in_order(table)


def _columns_of(path: Path) -> pa.Table:
    schema = pq.read_schema(path)
    missing = [name for name in ("series", "ts", "value") if name not in schema.names]
    if missing:
        raise BindError(
            f"no column {missing[0]!r} in {path.name!r}",
            f"its columns are {', '.join(schema.names)}",
            "name the columns series, ts and value",
        )
    extra = [name for name in ("zone", "kind") if name in schema.names]
    table = pq.read_table(path, columns=["series", "ts", "value", *extra])
    columns = {name: table[name].cast(pa.string()) for name in ("series", *extra)}
    return pa.table(
        {"ts": as_instants(table["ts"]), "value": table["value"].cast(pa.float64()), **columns}
    )


def _in_order(table: pa.Table) -> Columns:
    ts = table["ts"].to_numpy()
    order = np.argsort(ts, kind="stable")
    coded = table["series"].combine_chunks().dictionary_encode()
    names: list[str] = coded.dictionary.to_pylist()
    sid = coded.indices.to_numpy().astype(np.int32)
    return Columns(
        ts[order],
        sid[order],
        table["value"].to_numpy()[order],
        names,
        _word(table, "zone", sid, [f"zone-{stable_hash(s) % N_ZONES}" for s in names]),
        _word(table, "kind", sid, [f"kind-{stable_hash(s, seed=1) % N_KINDS}" for s in names]),
    )


def _word(table: pa.Table, name: str, sid: Codes, derived: list[str]) -> list[str]:
    """A word per series: that of its first row, or the derived one where there is none."""
    if name not in table.column_names:
        return derived
    _, first = np.unique(sid, return_index=True)
    found = table[name].take(pa.array(first)).to_pylist()
    return [own if own is not None else other for own, other in zip(found, derived, strict=True)]


def tick_for(ts: Ints) -> int:
    """A second, or in slower data the usual distance of two instants, in whole seconds."""
    gaps = np.diff(np.unique(ts[:1_000_000]))
    usual = int(np.median(gaps)) if len(gaps) else SECOND
    return max(SECOND, usual // SECOND * SECOND)


def choose_members(n_series: int, queries: int, *, seed: int = 11) -> Codes:
    """Nine series for each query, or all of them where there are fewer."""
    rng = np.random.default_rng(seed)
    width = min(9, n_series)
    return np.stack([rng.choice(n_series, width, replace=False) for _ in range(queries)]).astype(
        np.int32
    )


def prepare(columns: Columns, directory: Path, sizes: Sizes, *, origin: str) -> Card:
    """Write the files that all peers read; `epsilon` is left to be calibrated."""
    tick = tick_for(columns.ts[: sizes.rows])
    rows = _rows_within(columns.ts[: sizes.rows], tick, sizes.checks)
    batch = max(1, min(sizes.batch, rows // BATCHES_AT_LEAST))
    edges = list(range(0, rows, batch))
    _write(columns, directory / "rows", [*edges, rows])
    piece = max(1, batch // 10)
    reach = min(rows, piece * sizes.slices)
    _write(columns, directory / "slices", [*range(0, reach, piece), reach])
    seen = ticks_of(columns.ts[: min(rows, 4 * batch)], tick)
    starts = np.flatnonzero(np.diff(seen, prepend=seen[0] - 1))[: sizes.ticks + 1]
    _write(columns, directory / "ticks", starts.tolist())
    used = np.unique(columns.sid[:rows])
    np.save(directory / "members.npy", used[choose_members(len(used), sizes.queries)])
    kinds = [columns.kind[number] for number in used]
    card = Card(
        directory=str(directory),
        origin=origin,
        rows=rows,
        batch=batch,
        files=len(edges),
        tick=tick,
        series=tuple(columns.series),
        zones=tuple(sorted({columns.zone[number] for number in used})),
        kind=min(kinds),
        median=float(np.median(columns.value[:batch])),
        epsilon=0.0,
    )
    card.write()
    return card


def _rows_within(ts: Ints, tick: int, checks: int) -> int:
    """Rows of the first ticks."""
    ticks = np.unique(ticks_of(ts, tick))[:checks]
    return int(np.searchsorted(ts, ticks[-1] * tick, side="right"))


def _write(columns: Columns, directory: Path, edges: list[int]) -> None:
    directory.mkdir(parents=True)
    for number, (start, stop) in enumerate(pairwise(edges)):
        path = directory / f"{number:05d}.parquet"
        group = max(1, -(-(stop - start) // GROUPS_PER_FILE))
        pq.write_table(columns.table(start, stop), path, row_group_size=group)
        # Spark takes files by their age; equal ages would be taken in any order.
        os.utime(path, (number + 1, number + 1))


@dataclass(slots=True)
class Part:
    """Rows of one prepared file, with the series as places in the card's list."""

    ts: Ints
    sid: Codes
    value: Floats


def parts(
    card: Card, folder: str = "rows", *, start: int = 0, limit: int | None = None
) -> Iterator[Part]:
    """The prepared rows again, file by file."""
    place = {name: number for number, name in enumerate(card.series)}
    stop = None if limit is None else start + limit
    for path in sorted(card.path(folder).iterdir())[start:stop]:
        table = pq.read_table(path, read_dictionary=["series"], memory_map=True)
        coded = table["series"].combine_chunks()
        words = np.array([place[name] for name in coded.dictionary.to_pylist()], np.int32)
        yield Part(
            as_instants(table["ts"]), words[coded.indices.to_numpy()], table["value"].to_numpy()
        )
