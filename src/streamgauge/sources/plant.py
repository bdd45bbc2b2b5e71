"""Plant: synthetic sensors that drift, turn rough, burst and fall silent, the same every time.

What happens at a tick depends on the parameters and the number of the tick only, never on how many
rows were asked for at once or what this process made before.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import SECOND, Duration, Instant, instant
from streamgauge.sources.brownian import Floats, Sensors
from streamgauge.sources.source_kind import Incoming
from streamgauge.streams.schema import TYPES, Schema
from streamgauge.streams.stream import Stream

SCHEMA = Schema.of(series="string", ts="time", value="float", site="string", kind="string")
START = instant("2026-01-01T00:00:00Z")

_SITES = tuple(f"site-{number:02d}" for number in range(10))
_MIDDLES = {"flow": 20.0, "level": 2.0, "power": 100.0, "pressure": 5.0, "temp": 60.0}
_KINDS = tuple(_MIDDLES)
_FILE = re.compile(r"plant-([0-9]{9,})\.parquet")
_NOTE = b"streamgauge.plant"
_FILE_SECONDS = 0.5


@dataclass(frozen=True)
class PlantState:
    """Where the sensors stand when chunk `chunk` begins."""

    chunk: int
    levels: Floats


@dataclass(frozen=True, slots=True)
class Plant:
    """A plant of sensors that tick together.

    Parameters
    ----------
    n_sensors
        Sensors, spread over ten sites and five kinds.
    seed
        Chooses the whole course of the plant.
    start
        Event time of tick 0.
    period
        Event time between ticks.
    volatility
        Middle size of a sensor's step over one second; sensors differ (lognormal).
    drift
        Size of a sensor's steady slope over one second; sensors differ (normal).
    regime_rate
        Chance that a sensor turns rough for a while, its steps four times as large, per episode of
        1,024 ticks.
    burst_rate
        Chance of a jump that decays, per sensor and episode.
    outage_rate
        Chance that a sensor falls silent for a while, per sensor and episode.

    Examples
    --------
    >>> plant = Plant(n_sensors=3, seed=7)
    >>> table, state = plant.rows(0, 2)
    >>> table["series"].to_pylist()[:3]
    ['site-00.flow-0000', 'site-01.flow-0000', 'site-02.flow-0000']
    >>> plant.rows(1, 1)[0].equals(table.slice(3, 3))
    True
    """

    n_sensors: int = 1_000
    seed: int = 1
    start: Instant = START
    period: Duration = SECOND
    volatility: float = 0.1
    drift: float = 0.0
    regime_rate: float = 0.05
    burst_rate: float = 0.05
    outage_rate: float = 0.02

    def __post_init__(self) -> None:
        bounds = {"n_sensors": 1, "period": 1, "seed": 0, "volatility": 0}
        for name, least in bounds.items():
            if getattr(self, name) < least:
                raise _out_of_range(name, getattr(self, name), f"at least {least}")
        for name in ("regime_rate", "burst_rate", "outage_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise _out_of_range(name, getattr(self, name), "a chance from 0 to 1")

    def rows(
        self, first: int, count: int, state: PlantState | None = None
    ) -> tuple[pa.Table, PlantState]:
        """Make the rows of `count` ticks, and the state that leads to the next ones.

        Parameters
        ----------
        first
            Number of the first tick.
        count
            Number of ticks.
        state
            What an earlier call gave. It saves the way from tick 0 and changes no value.
        """
        made = _made(self)
        width = made.sensors.chunk_ticks
        if state is None or state.chunk > first // width:
            state = self.origin()
        tables = []
        while state.chunk * width < first + count:
            base = state.chunk * width
            walked = made.sensors.walk(state.chunk, state.levels)
            low, high = max(first - base, 0), min(first + count - base, width)
            if low < high:
                tables.append(made.table(self, state.chunk, walked, low, high))
            if high < width:
                break
            state = PlantState(state.chunk + 1, walked[-1].copy())
        return pa.concat_tables(tables or [made.nothing()]).combine_chunks(), state

    def origin(self) -> PlantState:
        """Where the sensors stand before tick 0."""
        return PlantState(0, _made(self).levels)

    @property
    def chunk_ticks(self) -> int:
        """Ticks for which random numbers are drawn at once: 256, or fewer for many sensors."""
        return _made(self).sensors.chunk_ticks

    def as_dict(self) -> dict[str, Any]:
        """JSON form, inverse of `from_dict`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plant:
        """Read the JSON form."""
        return cls(**{field.name: data[field.name] for field in fields(cls)})


def _out_of_range(name: str, value: object, wanted: str) -> BindError:
    return BindError(
        f"{name} of a plant must be {wanted}", f"got {value}", f"leave {name} out for its default"
    )


class _Made:
    """What is fixed about a plant: names, places and sensors."""

    def __init__(self, plant: Plant) -> None:
        n, seconds = plant.n_sensors, plant.period / SECOND
        n_sites, n_kinds = len(_SITES), len(_KINDS)
        places = sorted((i % n_sites, i // n_sites % n_kinds, i) for i in range(n))
        per_kind = n_sites * n_kinds
        names = [f"{_SITES[site]}.{_KINDS[kind]}-{i // per_kind:04d}" for site, kind, i in places]
        self._series = (np.arange(n, dtype=np.int32), pa.array(names))
        self._site = (np.array([p[0] for p in places], dtype=np.int32), pa.array(_SITES))
        self._kind = (np.array([p[1] for p in places], dtype=np.int32), pa.array(_KINDS))
        self.sensors = Sensors(
            n=n,
            seed=plant.seed,
            volatility=plant.volatility * float(np.sqrt(seconds)),
            drift=plant.drift * seconds,
            rates=(plant.regime_rate, plant.burst_rate, plant.outage_rate),
        )
        middles = np.array(list(_MIDDLES.values()))[self._kind[0]]
        self.levels: Floats = middles * (1 + 0.1 * self.sensors.scatter)

    def table(self, plant: Plant, chunk: int, walked: Floats, low: int, high: int) -> pa.Table:
        """Rows of ticks low..high of a chunk, by time and then by sensor."""
        readings, speaking = self.sensors.readings(chunk, walked)
        n, ticks = plant.n_sensors, high - low
        first = plant.start + plant.period * (chunk * self.sensors.chunk_ticks + low)
        times = np.repeat(first + plant.period * np.arange(ticks, dtype=np.int64), n)
        values = readings[low:high].reshape(-1)
        kept = slice(None) if speaking is None else np.flatnonzero(speaking[low:high])
        columns = [
            self._coded(self._series, ticks, kept),
            pa.array(times[kept]).cast(TYPES["time"]),
            pa.array(values[kept]),
            self._coded(self._site, ticks, kept),
            self._coded(self._kind, ticks, kept),
        ]
        return pa.table(columns, names=list(SCHEMA.names))

    def nothing(self) -> pa.Table:
        """No rows, of the right types."""
        text = pa.dictionary(pa.int32(), pa.string())
        types = [text if kind == "string" else TYPES[kind] for _, kind in SCHEMA.columns]
        pairs = zip(SCHEMA.names, types, strict=True)
        return pa.schema(list(pairs)).empty_table()

    @staticmethod
    def _coded(
        column: tuple[NDArray[np.int32], pa.Array], ticks: int, kept: slice | NDArray[np.int64]
    ) -> pa.DictionaryArray:
        codes = np.tile(column[0], ticks)[kept]
        return pa.DictionaryArray.from_arrays(pa.array(codes), column[1], safe=False)


@lru_cache(maxsize=4)
def _made(plant: Plant) -> _Made:
    return _Made(plant)


class PlantWriter:
    """Writes a plant to a directory of parquet files, and goes on where the last file ends.

    Parameters
    ----------
    plant
        What to write. A directory holds one plant only.
    directory
        Where to write `plant-000000000.parquet` and so on; made when it is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = PlantWriter(Plant(n_sensors=2), directory).write_next()
    ...     PlantWriter(Plant(n_sensors=2), directory).tick
    256
    """

    def __init__(self, plant: Plant, directory: str) -> None:
        self.plant = plant
        self.tick = 0
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._number = 0
        self._state = plant.origin()
        names = (entry.name for entry in self._directory.iterdir())
        numbers = [int(match[1]) for match in map(_FILE.fullmatch, names) if match]
        if numbers:
            self._number = max(numbers) + 1
            self._resume(self._path(max(numbers)))

    def write_next(self) -> str:
        """Write a file up to the end of the current chunk; gives its path."""
        width = self.plant.chunk_ticks
        return self.write(width - self.tick % width)

    def write(self, count: int) -> str:
        """Write a file of the next `count` ticks; gives its path."""
        table, state = self.plant.rows(self.tick, count, self._state)
        path = self._path(self._number)
        unfinished = path.with_name(path.name + ".tmp")
        with pq.ParquetWriter(
            unfinished,
            table.schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in SCHEMA.names if name != "value"],
        ) as file:
            file.write_table(table, row_group_size=max(table.num_rows, 1))
            file.add_key_value_metadata({_NOTE: _note(self.plant, self.tick + count, state)})
        unfinished.replace(path)
        self.tick, self._state, self._number = self.tick + count, state, self._number + 1
        return str(path)

    def run(
        self,
        speed: float,
        stop: threading.Event,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write at `speed` times real time, a file about every half second, until told to stop.

        A plant that cannot keep up writes one file after the other, of a chunk at most.
        """
        if not speed > 0:
            raise BindError(
                "the speed of a plant must be positive",
                f"got {speed}",
                "write speed=1 for real time",
            )
        begin, first = clock(), self.tick
        ticks_per_second = speed * SECOND / self.plant.period
        while not stop.is_set():
            due = first + int((clock() - begin) * ticks_per_second) - self.tick
            if due > 0:
                self.write(min(due, self.plant.chunk_ticks))
            if due <= self.plant.chunk_ticks:
                stop.wait(max(_FILE_SECONDS, 1 / ticks_per_second))

    def _path(self, number: int) -> Path:
        return self._directory / f"plant-{number:09d}.parquet"

    def _resume(self, last: Path) -> None:
        try:
            note = json.loads(pq.read_metadata(last).metadata[_NOTE])
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise SourceFailure(
                f"cannot go on after {last}",
                f"its footer does not tell where the plant stood: {error}",
                "remove that file, or write to an empty directory",
            ) from None
        if note["plant"] != self.plant.as_dict():
            mine = self.plant.as_dict()
            differing = [name for name in mine if mine[name] != note["plant"].get(name)]
            raise BindError(
                f"{self._directory} holds another plant",
                f"{', '.join(differing)} differ from {last.name}",
                "give the same parameters, or an empty directory",
            )
        levels = np.frombuffer(base64.b64decode(note["levels"]), dtype="<f8").astype(np.float64)
        self._state = PlantState(note["chunk"], levels)
        self.tick = note["next"]


def _note(plant: Plant, following: int, state: PlantState) -> str:
    levels = base64.b64encode(state.levels.astype("<f8").tobytes()).decode()
    note = {"next": following, "chunk": state.chunk, "levels": levels, "plant": plant.as_dict()}
    return json.dumps(note)


def writer(stream: Stream, home: Incoming) -> Callable[[threading.Event], None]:
    """Writes the readings of its sensors."""
    source = stream.source_dict()
    sensors = Plant(n_sensors=source["n_sensors"], seed=source["seed"])
    return partial(PlantWriter(sensors, str(home.incoming(stream.name))).run, source["speed"])
