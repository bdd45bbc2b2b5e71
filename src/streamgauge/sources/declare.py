"""How rows arrive, as plain data: the `source` of a stream declaration."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.sources.plant import Plant

FORMATS = ("parquet", "csv", "jsonl")


@dataclass(frozen=True, slots=True)
class Source:
    """A source by kind and options; `frame` holds a DataFrame, which no file can keep.

    Examples
    --------
    >>> plant(n_sensors=10, speed=60).options["n_sensors"]
    10
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    frame: Any = None

    def as_pairs(self) -> tuple[tuple[str, Any], ...]:
        """Form kept in the stream's declaration."""
        return (("kind", self.kind), *self.options.items())


def files(path: str | Path, format: str = "parquet", **options: Any) -> Source:
    """Files that appear in a directory, whole: parquet, csv or jsonl."""
    return Source("files", {"path": str(Path(path).absolute()), "format": format, **options})


def plant(n_sensors: int = 1000, seed: int = 1, speed: float = 60.0) -> Source:
    """The synthetic plant, written while the gauge runs, `speed` times as fast as the clock."""
    Plant(n_sensors=n_sensors, seed=seed)
    return Source("plant", {"n_sensors": n_sensors, "seed": seed, "speed": speed})


def rate(rows_per_second: int = 100) -> Source:
    """Spark's rate source."""
    return Source("rate", {"rows_per_second": rows_per_second})


def dataframe(frame: Any) -> Source:
    """Any streaming DataFrame; it must be handed over again after a restart."""
    return Source("dataframe", {}, frame)
