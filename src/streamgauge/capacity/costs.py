"""Costs: what was measured, as data, with where and when; the package brings those of one machine.

`costs.json` beside this file is written by `streamgauge plan-capacity --measure --write-package`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from streamgauge.capacity.fit import Estimate, Fitted
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.files import read_json, write_json

FORMAT = 1
PACKAGED = "costs.json"
FITS = ("shard", "land", "commit", "state", "memory", "spark", "driver")


@dataclass(frozen=True, slots=True)
class Costs:
    """Fitted costs of all steps of an epoch.

    Parameters
    ----------
    shard
        Processor seconds of a shard, over `amounts.WORK`.
    land, commit
        Seconds of the lander (over pages, segments and parsed rows) and of the commit (over
        pages and shards).
    state, memory
        Bytes of a shard's state and of its process.
    spark
        Seconds that Spark adds to an epoch, over epochs, tasks of one core and all tasks.
    driver
        Processor seconds of the driver, over epochs and tasks.
    single
        Plain numbers: `waits` is what a shard waits for the disk in an epoch, `crowding` how much
        slower a shard is when all cores of a machine are busy, `answer_bytes`, `epoch_bytes` and
        `row_bytes` what is stored for each, `jvm_bytes` what the driver's Java process takes.
    about
        Where and when.
    """

    shard: Fitted
    land: Fitted
    commit: Fitted
    state: Fitted
    memory: Fitted
    spark: Fitted
    driver: Fitted
    single: dict[str, float]
    about: dict[str, Any] = field(default_factory=dict)

    def one(self, name: str) -> float:
        """A plain number."""
        return self.single[name]

    def rough(self, name: str, times: float = 1.0) -> Estimate:
        """A plain number with the bar of one that was measured in few places."""
        return Estimate.around(self.single[name] * times, self.single["roughly"])

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        fits = {name: getattr(self, name).as_dict() for name in FITS}
        return {"format": FORMAT, **fits, "single": self.single, "about": self.about}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Costs:
        """Read the JSON form."""
        fits = {name: Fitted.from_dict(data[name]) for name in FITS}
        return cls(**fits, single=dict(data["single"]), about=dict(data["about"]))

    @classmethod
    def read(cls, path: Path) -> Costs:
        """Read a file that a measurement wrote."""
        try:
            data = read_json(path, "a file of costs")
            if data["format"] != FORMAT:
                raise KeyError("format")
            return cls.from_dict(data)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceFailure(
                f"{path} has no costs that can be read",
                f"{type(error).__name__}: {error}",
                "write one: streamgauge plan-capacity --measure --costs FILE",
            ) from error

    @classmethod
    def packaged(cls) -> Costs:
        """The costs that come with the package."""
        text = files("streamgauge.capacity").joinpath(PACKAGED).read_text(encoding="utf-8")
        return cls.from_dict(json.loads(text))

    def write(self, path: Path) -> None:
        """Write the file that `read` reads."""
        write_json(path, self.as_dict())
