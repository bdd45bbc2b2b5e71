"""Panels for the workload `deferral`: a few series on common ticks, made up or read from parquet.

`--data DIR` takes parquet files with the columns series, ts (time) and value. Files in DIR itself
are one panel, each folder in it with parquet is another. Of each the nine series with the most
readings in common are taken, or fewer where no more lie together in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data import START, load, ticks_of
from bench.harness import ROOT
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import MINUTE, SECOND

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MEMBERS = 9
WINDOW_MINUTES, WINDOW_TICKS = 30, 30
# Bounds in deviations of one tick of the average, for what is made up.
SIGMAS = (1.0, 3.16, 10.0, 31.6, 100.0)
# Bounds of measured series: in deviations of one tick, and of the level.
STEPS, LEVELS = (0.75, 3.0), (0.25, 0.5, 1.0)
SHARED = ROOT.parent / "shared" / "data" / "series"
# Overlaps of more series than this are not worth counting pair by pair.
CANDIDATES = 100
# A series that shares fewer ticks than this share of the first pair's is left out.
LEAST_SHARED = 0.1
LEAST_TICKS = 200


@dataclass(frozen=True, slots=True)
class Panel:
    """Series on common ticks, each value held until the next.

    Parameters
    ----------
    name
        What it is called in tables.
    tick
        Length of a tick in microseconds.
    ticks
        The fresh ticks, as whole tick numbers.
    values
        Value of each series at each fresh tick.
    present
        Whether a series has a row at a fresh tick.
    bounds
        Bounds to ask for, each with its name.
    real
        Whether it was measured somewhere.
    """

    name: str
    tick: int
    ticks: Ints
    values: Floats
    present: Flags
    bounds: tuple[tuple[str, float], ...] = ()
    real: bool = False

    @property
    def average(self) -> Floats:
        """Average of all series at each fresh tick."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def window(self) -> int:
        """Thirty minutes in ticks, or thirty ticks where one is longer than a minute."""
        return WINDOW_TICKS if self.tick > MINUTE else WINDOW_MINUTES * MINUTE // self.tick

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series."""
        return tuple(f"s{number:04d}" for number in range(self.values.shape[1]))

    def head(self, ticks: int) -> Panel:
        """The first fresh ticks of it."""
        return replace(
            self,
            ticks=self.ticks[:ticks],
            values=self.values[:ticks],
            present=self.present[:ticks],
        )

    def write(self, directory: Path, group: int = 100_000) -> int:
        """Write its rows as parquet, so many to a row group; how many there are."""
        place, member = np.nonzero(self.present)
        names = pa.DictionaryArray.from_arrays(
            pa.array(member.astype(np.int32)), pa.array(self.series)
        )
        table = pa.table(
            {
                "series": names.cast(pa.string()),
                "ts": pa.array(self.ticks[place] * self.tick, pa.timestamp("us", tz="UTC")),
                "value": self.values[place, member],
            }
        )
        directory.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, directory / "rows.parquet", row_group_size=group)
        return int(table.num_rows)


def _walk(steps: Floats) -> Floats:
    return np.cumsum(steps, axis=0)


def _brownian(rng: np.random.Generator, n: int, drift: float = 0.0) -> Floats:
    """Independent walks; the drift is in deviations of their average."""
    return _walk(rng.standard_normal((n, MEMBERS)) + drift / np.sqrt(MEMBERS))


def _bursts(rng: np.random.Generator, n: int) -> Floats:
    """Steps four times as long in bursts of 500 ticks or so, a tenth of the time."""
    wild = np.zeros(n, np.bool_)
    start = 0
    while start < n:
        start += int(rng.exponential(4_500)) + 1
        length = int(rng.exponential(500)) + 1
        wild[start : start + length] = True
        start += length
    return _walk(rng.standard_normal((n, MEMBERS)) * np.where(wild, 4.0, 1.0)[:, None])


def _jumps(rng: np.random.Generator, n: int) -> Floats:
    """Each series jumps by 30 of its steps or so once in 2,000 ticks."""
    jump = rng.random((n, MEMBERS)) < 1 / 2_000
    return _walk(rng.standard_normal((n, MEMBERS)) * np.where(jump, 30.0, 1.0))


def _periodic(rng: np.random.Generator, n: int) -> Floats:
    """A wave of 1,440 ticks, a little apart for each series, under white noise."""
    phase = rng.normal(0.0, 0.2, MEMBERS)
    time = 2 * np.pi * np.arange(n)[:, None] / 1_440 + phase
    return np.asarray(30.0 * np.sin(time) + rng.standard_normal((n, MEMBERS)))


def _reverting(rng: np.random.Generator, n: int) -> Floats:
    """Values that return to their mean: AR(1) with 0.99."""
    values = rng.standard_normal((n, MEMBERS))
    for i in range(1, n):
        values[i] += 0.99 * values[i - 1]
    return values


def _correlated(rng: np.random.Generator, n: int) -> Floats:
    """Walks that share half of their variance."""
    own, common = rng.standard_normal((n, MEMBERS)), rng.standard_normal((n, 1))
    return _walk(np.sqrt(0.5) * (own + common))


def _sessions(rng: np.random.Generator, n: int) -> Floats:
    """Walks that move on by 15 steps or so while a session is closed."""
    steps = rng.standard_normal((n, MEMBERS))
    steps[::SESSION] *= 15.0
    return _walk(steps)


SESSION, CLOSED = 390, 1_050
_MADE: tuple[tuple[str, Callable[[np.random.Generator, int], Floats]], ...] = (
    ("Brownian", _brownian),
    ("drift 0.02", lambda rng, n: _brownian(rng, n, 0.02)),
    ("drift 0.1", lambda rng, n: _brownian(rng, n, 0.1)),
    ("bursts x4", _bursts),
    ("jumps", _jumps),
    ("periodic", _periodic),
    ("AR(1) 0.99", _reverting),
    ("correlated", _correlated),
    ("sessions", _sessions),
)


def made(ticks: int, *, seed: int = 17) -> Iterator[Panel]:
    """Panels that are made up, each from a seed of its own."""
    for number, (name, make) in enumerate(_MADE):
        values = make(np.random.default_rng([seed, number]), ticks)
        when = START // SECOND + 1 + np.arange(ticks)
        if name == "sessions":
            when += np.arange(ticks) // SESSION * CLOSED
        # The usual step: jumps and bursts are what the bound does not know of.
        moves = np.abs(np.diff(values.mean(axis=1)))
        unit = float(np.median(moves)) / 0.6745
        bounds = tuple((f"{size:g} sigma", size * unit) for size in SIGMAS)
        yield Panel(name, SECOND, when, values, np.ones(values.shape, np.bool_), bounds)


def measured(directory: Path, ticks: int) -> Iterator[Panel]:
    """Panels of parquet: one of the files of a directory, one of each folder in it."""
    folders = [path for path in sorted(directory.iterdir()) if path.is_dir()]
    found = False
    for folder in (directory, *folders):
        if any(folder.glob("*.parquet")) or (
            folder != directory and any(folder.rglob("*.parquet"))
        ):
            found = True
            yield _aligned(folder, ticks)
    if not found:
        raise SourceFailure(
            f"no parquet files in {str(directory)!r}",
            f"{len(folders)} folders, none with parquet",
            "give a directory of parquet files with columns series, ts, value",
        )


def _aligned(folder: Path, ticks: int) -> Panel:
    columns = load(folder)
    tick = usual_gap(columns.ts)
    when = ticks_of(columns.ts, tick)
    chosen = most_common(when, columns.sid, len(columns.series))
    mine = np.flatnonzero(np.isin(columns.sid, chosen))
    member = np.searchsorted(chosen, columns.sid[mine])
    fresh, place = np.unique(when[mine], return_inverse=True)
    values = np.full((len(fresh), len(chosen)), np.nan)
    # Rows are in the order of time, so the last of a tick stays.
    values[place, member] = columns.value[mine]
    present = ~np.isnan(values)
    held = np.maximum.accumulate(np.where(present, np.arange(len(fresh))[:, None], 0), axis=0)
    values = np.take_along_axis(values, held, axis=0)
    # From where all have begun to where the first has ended.
    first = int(np.argmax(present, axis=0).max())
    last = len(fresh) - int(np.argmax(present[::-1], axis=0).max())
    if last - first < LEAST_TICKS:
        raise SourceFailure(
            f"too few common readings in {str(folder)!r}",
            f"{max(0, last - first)} ticks of {tick / SECOND:g} s, {len(chosen)} series",
            f"give series that overlap in time for {LEAST_TICKS} ticks or more",
        )
    # A first value that is held at the start counts as a row there.
    present[first] = True
    panel = Panel(
        folder.name, tick, fresh[first:last], values[first:last], present[first:last], real=True
    )
    return replace(panel.head(ticks), bounds=level_bounds(panel.head(ticks).average))


def usual_gap(ts: Ints) -> int:
    """The commonest distance of two instants in whole seconds, a second at least."""
    gaps = np.diff(np.unique(ts))
    if len(gaps) == 0:
        return SECOND
    lengths, counts = np.unique((gaps + SECOND // 2) // SECOND, return_counts=True)
    return max(1, int(lengths[np.argmax(counts)])) * SECOND


def most_common(when: Ints, sid: npt.NDArray[np.int32], n_series: int) -> Ints:
    """The series, nine at most, that most often have rows at the same ticks; in order."""
    longest = np.argsort(-np.bincount(sid, minlength=n_series), kind="stable")[:CANDIDATES]
    own = [np.unique(when[sid == one]) for one in longest]
    shared = np.zeros((len(own), len(own)), np.int64)
    for a in range(len(own)):
        for b in range(a + 1, len(own)):
            together = len(np.intersect1d(own[a], own[b], assume_unique=True))
            shared[a, b] = shared[b, a] = together
    chosen = [int(np.argmax(shared.max(axis=1)))]
    while len(chosen) < min(MEMBERS, len(own)):
        worst = shared[:, chosen].min(axis=1)
        worst[chosen] = -1
        if worst.max() <= LEAST_SHARED * shared.max():
            break
        chosen.append(int(np.argmax(worst)))
    return np.sort(longest[chosen]).astype(np.int64)


def level_bounds(path: Floats) -> tuple[tuple[str, float], ...]:
    """Bounds of a measured path, from small to large."""
    step, level = float(np.std(np.diff(path))), float(np.std(path))
    found = [(f"{size:g} step", size * step) for size in STEPS]
    found += [(f"{size:g} level", size * level) for size in LEVELS]
    return tuple(sorted(found, key=lambda bound: bound[1]))


@dataclass(frozen=True, slots=True)
class Silences:
    """A panel with readings withheld: stretches in which a few of the series are silent.

    `panel` has the truth in its values; rows are withheld where it is not `present`.
    """

    panel: Panel
    start: Ints
    length: Ints


def silenced(panel: Panel, silent: int, lengths: tuple[int, ...], period: int) -> Silences:
    """Withhold rows once in a period of fresh ticks, for lengths in turn.

    The series that move most fall silent: without them the average is hardest to tell.
    """
    moving = np.argsort(-np.abs(np.diff(panel.values, axis=0)).mean(axis=0), kind="stable")
    start = np.arange(period, len(panel.ticks) - max(lengths) - 1, period)
    length = np.resize(np.array(lengths, np.int64), len(start))
    present = panel.present.copy()
    for begun, ticks in zip(start.tolist(), length.tolist(), strict=True):
        present[begun : begun + ticks, moving[:silent]] = False
    return Silences(replace(panel, present=present), start, length)
