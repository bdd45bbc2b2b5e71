"""Values of objects for the workload `filters`: walks, drifting data, and measured traces.

`--data DIR` takes parquet files with the columns object, ts (time) and value; each value is held
until the next, and read every second.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.harness import ROOT
from streamgauge.filters.constraints import Constraints
from streamgauge.kernel.errors import SourceFailure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHARED = ROOT.parent / "shared" / "data"
PACKETS = SHARED / "packets" / "packets_ndpi.parquet"
SERIES = SHARED / "series"
# Answer widths of five overlapping queries, as multiples of one.
FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
# Seconds of the moving rate, and the longest silence within a piece of a capture.
WINDOW, SILENCE = 60, 120
PAUSE = 120.0
LOGINS = (21, 22, 23, 513, 514, 3389, 5900)
MOST_TICKS = 1_000_000


@dataclass(frozen=True, slots=True)
class Trace:
    """Values, ticks by objects."""

    name: str
    values: Floats


def walks(n: int, ticks: int, seed: int, shift: int = 0) -> tuple[list[Floats], list[Floats]]:
    """Random walks with lognormal(0, 1) steps in blocks, and the step sizes of each block.

    Parameters
    ----------
    n, ticks, seed
        Objects, ticks, and what draws them.
    shift
        Ticks after which the step sizes change places; 0: never.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(0.0, 1.0, n)
    size = shift or min(ticks, 5000)
    level, blocks, steps = np.zeros(n), [], []
    for number in range(ticks // size):
        if shift and number:
            sizes = rng.permutation(sizes)
        block = level + np.cumsum(rng.normal(size=(size, n)) * sizes, axis=0)
        blocks.append(block)
        steps.append(sizes)
        level = block[-1]
    return blocks, steps


def average(n: int, delta: float) -> Constraints:
    """One average over all objects."""
    return Constraints.of(n, [(np.arange(n), np.full(n, 1.0 / n), delta, "linear")])


def overlapping(n: int, delta: float, seed: int = 3) -> Constraints:
    """Five averages over random halves of the objects."""
    rng = np.random.default_rng(seed)
    half = max(n // 2, 2)
    return Constraints.of(
        n,
        [
            (
                np.sort(rng.choice(n, half, replace=False)),
                np.full(half, 1.0 / half),
                delta * factor,
                "linear",
            )
            for factor in FACTORS
        ],
    )


def drifting(n: int, ticks: int, seed: int) -> list[Trace]:
    """Objects that drift: walks with a drift of 0.1 to 1 step a tick, ramps, saw teeth."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(0.0, 1.0, n)
    noise = rng.normal(size=(ticks, n))
    time = np.arange(ticks)[:, None]
    sign = rng.choice([-1.0, 1.0], n)
    drift = sign * np.geomspace(0.1, 1.0, n)[rng.permutation(n)]
    turns = rng.integers(500, 1500, n)
    rise = 2.0 * np.abs((time + rng.integers(0, 1000, n)) % turns - turns / 2)
    tooth = (time + rng.integers(0, 1000, n)) % turns
    return [
        Trace("walks with a drift", np.cumsum((noise + drift) * sizes, axis=0)),
        Trace("ramps up and down", (0.2 * rise + 0.3 * noise) * sizes),
        Trace("saw teeth", (0.2 * tooth + 0.3 * noise) * sizes),
    ]


def measured(directory: Path, ticks: int) -> Iterator[Trace]:
    """One trace for the files of a directory, and one for each folder in it with some."""
    folders = [directory, *sorted(path for path in directory.iterdir() if path.is_dir())]
    found = False
    for folder in folders:
        files = sorted(folder.glob("*.parquet"))
        if files:
            found = True
            yield Trace(folder.name, resampled(files, ticks))
    if not found:
        raise SourceFailure(
            f"no parquet files in {str(directory)!r}",
            "neither there nor in a folder of it",
            "give a directory of parquet files with columns object, ts, value",
        )


def resampled(files: list[Path], ticks: int, tick: int | None = 1_000_000) -> Floats:
    """Values every tick from the first instant at which all objects have one.

    Parameters
    ----------
    files
        Parquet with columns object (or series), ts and value.
    ticks
        How many at most.
    tick
        Microseconds; None: as long as the usual time between readings.
    """
    table = pa.concat_tables([_columns(file) for file in files])
    codes = table["object"].combine_chunks().dictionary_encode()
    objects = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    stamps = table["ts"].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    values = table["value"].cast(pa.float64()).to_numpy()
    order = np.lexsort((stamps, objects))
    objects, stamps, values = objects[order], stamps[order], values[order]
    starts = np.searchsorted(objects, np.arange(len(codes.dictionary) + 1))
    # Objects that begin in the last tenth, or end in the first, would leave nothing in common.
    first, last = stamps[starts[:-1]], stamps[starts[1:] - 1]
    begin = int(np.quantile(first, 0.9, method="higher"))
    kept = np.flatnonzero((first <= begin) & (last > begin))
    if tick is None:
        gaps = np.diff(stamps)[np.diff(objects) == 0]
        tick = int(max(np.median(gaps[gaps > 0]), 1)) if (gaps > 0).any() else 1_000_000
    count = int(min(ticks, MOST_TICKS, (last[kept].max() - begin) // tick + 1))
    grid = begin + tick * np.arange(count, dtype=np.int64)
    found = np.empty((count, kept.size))
    for place, one in enumerate(kept):
        own = slice(starts[one], starts[one + 1])
        found[:, place] = values[own][np.searchsorted(stamps[own], grid, side="right") - 1]
    return found


def _columns(file: Path) -> pa.Table:
    names = pq.read_schema(file).names
    named = "object" if "object" in names else "series"
    missing = {named, "ts", "value"} - set(names)
    if missing:
        raise SourceFailure(
            f"{file.name} has no column {sorted(missing)[0]!r}",
            f"its columns are {', '.join(names)}",
            "give parquet files with columns object, ts, value",
        )
    table = pq.read_table(file, columns=[named, "ts", "value"])
    table = table.rename_columns(["object", "ts", "value"])
    table = table.set_column(0, "object", pc.cast(table["object"], pa.string()))
    finite = pc.and_(pc.is_valid(table["ts"]), pc.is_finite(pc.cast(table["value"], pa.float64())))
    return table.filter(finite)


def packet_rates(hosts: int, ticks: int, seed: int = 0) -> Floats:
    """One-minute packet rates by tick, host and measurement group, from real captures.

    Hosts are the inside addresses with the most packets. Each plays the pieces of its captures in
    random order, again and again, with pauses. Group g - 1 counts packets for which exactly the
    queries in the bits of g want it: logins from outside, incoming, incoming SYN, outgoing DNS,
    with the outside.
    """
    table = pq.read_table(PACKETS)
    pieces: dict[str, list[tuple[Ints, Ints]]] = {}
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    stamps = table["ts"].cast(pa.int64()).to_numpy() // 1_000_000
    address, codes = np.unique(
        np.concatenate([columns["src"], columns["dst"]]).astype(str), return_inverse=True
    )
    src, dst = np.split(codes, 2)
    inside = np.array([_inside(text) for text in address])
    traces = np.unique(columns["trace"].astype(str), return_inverse=True)[1]
    for trace in range(int(traces.max()) + 1):
        rows = np.flatnonzero(traces == trace)
        for host in np.unique(np.concatenate([src[rows], dst[rows]])):
            own = rows[(src[rows] == host) | (dst[rows] == host)]
            if not inside[host] or own.size < 5:
                continue
            own = own[np.argsort(stamps[own], kind="stable")]
            groups = _groups(columns, own, dst[own] == host, inside[src[own]] & inside[dst[own]])
            seconds = stamps[own]
            for part in np.split(
                np.arange(own.size), np.flatnonzero(np.diff(seconds) > SILENCE) + 1
            ):
                piece = (seconds[part] - seconds[part[0]], groups[part])
                pieces.setdefault(str(address[host]), []).append(piece)
    busiest = sorted(pieces, key=lambda name: (-sum(len(s) for s, _ in pieces[name]), name))
    return _played([pieces[name] for name in busiest[:hosts]], ticks, seed)


def _inside(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_private
    except ValueError:
        return False


def _groups(
    columns: dict[str, npt.NDArray[np.generic]],
    rows: Ints,
    incoming: npt.NDArray[np.bool_],
    local: npt.NDArray[np.bool_],
) -> Ints:
    """Which of the five queries want each packet, as bits."""
    port = np.nan_to_num(columns["dport"][rows].astype(np.float64)).astype(np.int64)
    flags = np.nan_to_num(columns["tcp_flags"][rows].astype(np.float64)).astype(np.int64)
    syn = (columns["proto"][rows].astype(np.int64) == 6) & (flags & 0x12 == 0x02)
    outside = ~local
    wants = (
        incoming & outside & np.isin(port, LOGINS),
        incoming,
        incoming & syn,
        ~incoming & (port == 53),
        outside,
    )
    return sum(
        (want.astype(np.int64) << bit for bit, want in enumerate(wants)), np.zeros(1, np.int64)
    )


def _played(pieces: list[list[tuple[Ints, Ints]]], ticks: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    counts = np.zeros((ticks, len(pieces), 32))
    for host, own in enumerate(pieces):
        end = 0
        while end < ticks:
            for number in rng.permutation(len(own)):
                seconds, groups = own[number]
                fits = seconds + end < ticks
                np.add.at(counts, (seconds[fits] + end, host, groups[fits]), 1.0)
                end += int(seconds[-1]) + 1 + int(rng.exponential(PAUSE))
    sums = np.cumsum(counts, axis=0)
    sums[WINDOW:] -= sums[:-WINDOW].copy()
    return sums[:, :, 1:] / WINDOW


def packet_queries(hosts: int, delta: float) -> Constraints:
    """Averages over hosts: the second and fifth within delta, the others within a hundredth."""
    demands = []
    for query in range(5):
        wanted = [group for group in range(31) if (group + 1) >> query & 1]
        members = np.array([host * 31 + group for host in range(hosts) for group in wanted])
        weights = np.full(members.size, 1.0 / hosts)
        demands.append((members, weights, delta if query in (1, 4) else delta / 100.0, "linear"))
    return Constraints.of(31 * hosts, demands)
