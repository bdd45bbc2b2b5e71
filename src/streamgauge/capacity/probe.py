"""Probe: runs a workload page by page and says what each step cost.

One shard after the other in this process, so that the processor time of each step is its own.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.capacity.process import peak_bytes
from streamgauge.capacity.rows import Made, declare
from streamgauge.capacity.workload import Workload
from streamgauge.engine import shard
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.gauge import connect
from streamgauge.kernel.files import read_json, write_json
from streamgauge.log.home import Home

NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: a workload, its shards, and the pages as ticks and files."""

    name: str
    load: Workload
    shards: int = 1
    pages: tuple[tuple[int, int], ...] = ((4, 1),)
    warm: int = 2
    seed: int = 1

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), "load": self.load.as_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trial:
        """Read the JSON form."""
        pages = tuple((ticks, segments) for ticks, segments in data["pages"])
        return cls(**{**data, "load": Workload.from_dict(data["load"]), "pages": pages})


@dataclass(frozen=True, slots=True)
class Step:
    """Processor and wall seconds of one step."""

    cpu: float = 0.0
    wall: float = 0.0


@dataclass(slots=True)
class Epoch:
    """What one page was, and what it cost: landing, each shard, the commit."""

    rows: int
    ticks: int
    segments: int
    answers: int
    state: list[int] = field(default_factory=list)
    land: Step = field(default_factory=Step)
    shards: list[Step] = field(default_factory=list)
    commit: Step = field(default_factory=Step)
    answer_bytes: int = 0
    log_bytes: int = 0


@dataclass(slots=True)
class Seen:
    """All that a probe saw, warm-up left out."""

    trial: Trial
    epochs: list[Epoch]
    memory: int = 0

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "trial": self.trial.as_dict(),
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "memory": self.memory,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Seen:
        """Read the JSON form."""
        epochs = [
            Epoch(
                **{
                    **one,
                    "land": Step(**one["land"]),
                    "commit": Step(**one["commit"]),
                    "shards": [Step(**step) for step in one["shards"]],
                }
            )
            for one in data["epochs"]
        ]
        return cls(Trial.from_dict(data["trial"]), epochs, data["memory"])


class _Watch:
    """Times steps."""

    def __init__(self) -> None:
        self.last = Step()

    @contextmanager
    def step(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.last = Step(time.process_time() - cpu, time.perf_counter() - wall)


def probe(trial: Trial, make: Callable[[Workload, Path, int], Made] = Made) -> Seen:
    """Run a workload in a directory that is removed afterwards; `make` makes its rows."""
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-capacity-"))
    try:
        return _probed(trial, directory, make)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _probed(trial: Trial, directory: Path, make: Callable[[Workload, Path, int], Made]) -> Seen:
    made = make(trial.load, directory / "rows", trial.seed)
    gauge = connect(directory / "home", engine="local", shards=trial.shards)
    declare(gauge, trial.load, made)
    lander, epochs = Lander(gauge.home, max_rows=NO_LIMIT), []
    for ticks, segments in trial.pages:
        made.page(ticks, segments)
        epochs.append(_turned(gauge.home, lander, ticks))
        # Rows are of no use to later pages, and a disk is not without end.
        for path in made.directory.iterdir():
            path.write_bytes(b"")
    shard.forget(gauge.home)
    return Seen(trial, epochs[trial.warm :], peak_bytes())


def _turned(home: Home, lander: Lander, ticks: int) -> Epoch:
    """Land one page, run its shards and commit it."""
    watch, start = _Watch(), home.committed()
    with watch.step():
        stop = lander.land()
    page = lander.journal.page(stop)
    rows = sum(segment.rows for segment in page.segments)
    epoch = Epoch(rows, ticks, len(page.segments), 0, land=watch.last)
    receipts = []
    for number in range(home.shards):
        with watch.step():
            receipts.append(shard.run(home, number, start, stop))
        epoch.shards.append(watch.last)
    with watch.step():
        commit(home, start, receipts, 0.0)
    epoch.commit = watch.last
    epoch.answers = sum(receipt.answers for receipt in receipts)
    epoch.state = [receipt.state_bytes for receipt in receipts]
    given = home.answers(stop, 0).parent
    epoch.answer_bytes = sum(path.stat().st_size for path in given.glob("*"))
    logged = (lander.journal.home.journal.glob("*"), home.commits.glob("*"))
    newest = [max(paths, key=lambda path: path.name) for paths in logged]
    epoch.log_bytes = sum(path.stat().st_size for path in newest)
    return epoch


def main(arguments: list[str]) -> None:
    """Probe the trial in a file, in a process of its own; write what was seen to another."""
    given, result = map(Path, arguments)
    trial = Trial.from_dict(read_json(given))
    write_json(result, probe(trial).as_dict())


if __name__ == "__main__":
    main(sys.argv[1:])
