"""Spark probe: what Spark adds to an epoch, and how shards fare beside each other.

All pages lie ready, so epochs follow each other at once and the time between two commits is the
time of an epoch.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streamgauge.capacity.probe import Trial
from streamgauge.capacity.process import tree_seconds
from streamgauge.capacity.rows import Made, declare
from streamgauge.gauge import connect
from streamgauge.kernel.files import read_json, write_json
from streamgauge.results.change_log import commits

WAIT_SECONDS = 600.0
SETTINGS = {"spark.driver.memory": "1g"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One epoch on Spark: seconds from commit to commit, and those of each shard."""

    rows: int
    ticks: int
    answers: int
    state: int
    seconds: float
    shards: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Turned:
    """All epochs of a trial on so many cores, and processor seconds of the whole tree for each."""

    trial: Trial
    cores: int
    turns: tuple[Turn, ...]
    cpu: float

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        turns = [asdict(turn) for turn in self.turns]
        return {**asdict(self), "trial": self.trial.as_dict(), "turns": turns}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Turned:
        """Read the JSON form."""
        turns = tuple(Turn(**{**one, "shards": tuple(one["shards"])}) for one in data["turns"])
        return cls(Trial.from_dict(data["trial"]), data["cores"], turns, data["cpu"])


def turned(trial: Trial, cores: int) -> Turned:
    """Run a trial on Spark with so many cores of this machine."""
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-capacity-"))
    try:
        return _turned(trial, cores, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _turned(trial: Trial, cores: int, directory: Path) -> Turned:
    made = Made(trial.load, directory / "rows", trial.seed)
    # One file a page: the row limit of a page is reached by each file.
    ticks = [ticks for ticks, _ in trial.pages]
    for each in ticks:
        made.page(each)
    gauge = connect(
        directory / "home",
        engine="spark",
        master=f"local[{cores}]",
        shards=trial.shards,
        max_rows=1,
        settings=SETTINGS,
    )
    declare(gauge, trial.load, made)
    begun = tree_seconds()
    gauge.start()
    try:
        gauge.drain(timeout=WAIT_SECONDS)
    finally:
        gauge.stop()
    ended = tree_seconds()
    records = [record for record in commits(gauge.home) if record["rows"]]
    turns = [
        Turn(
            record["rows"],
            each,
            record["answers"],
            record["state_bytes"] // trial.shards,
            record["seconds"],
            tuple(shard["seconds"] for shard in record["shards"]),
        )
        for record, each in zip(records, ticks, strict=False)
    ]
    spent = 0.0 if begun is None or ended is None else ended - begun
    return Turned(trial, cores, tuple(turns[trial.warm :]), spent / max(1, len(records)))


def main(arguments: list[str]) -> None:
    """Run the trials in a file on one session; write what was seen to another."""
    given, result = map(Path, arguments)
    asked = read_json(given)
    found = [turned(Trial.from_dict(one), asked["cores"]).as_dict() for one in asked["trials"]]
    write_json(result, {"turned": found})


if __name__ == "__main__":
    main(sys.argv[1:])
