"""Running peers: in processes of their own, in turns, with their time and what they cost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streamgauge.capacity.process import tree_seconds

ROOT = Path(__file__).resolve().parent.parent
MASTER = "local[2]"
SHARDS = 2
WARM_UP = 2
GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Task:
    """One run of one peer.

    Parameters
    ----------
    peer
        Module of `bench.peers` that runs it.
    prepared
        Prepared directory of rows.
    files
        Files of `rows/` that make one batch.
    queries
        Standing queries over latest values.
    form
        Which of its forms a peer with several runs.
    batches
        Batches to stop after, for peers that are run for a bounded number.
    seconds
        Time the peer may take for its measurement.
    home
        Where Streamgauge keeps the gauge, when somebody wants to look at it afterwards.
    """

    peer: str
    prepared: str
    files: int = 1
    queries: int = 10_000
    form: str = ""
    batches: int = 0
    seconds: float = 600.0
    home: str = ""


@dataclass(slots=True)
class Outcome:
    """What a run gave: rows and seconds of its steady part, or why there is none."""

    rows: int = 0
    seconds: float = 0.0
    cpu_seconds: float | None = None
    first_seconds: float | None = None
    facts: dict[str, float] = field(default_factory=dict)
    note: str = ""
    missing: str = ""

    @property
    def rate(self) -> float | None:
        """Rows a second."""
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None

    @property
    def cpu_rate(self) -> float | None:
        """Rows a second of processor time, which a busy machine disturbs less."""
        return self.rows / self.cpu_seconds if self.rows and self.cpu_seconds else None


# Processor time of a process and all below it.
cpu_seconds = tree_seconds


def run_tasks(tasks: Sequence[Task]) -> list[Outcome]:
    """Run tasks one after the other in a process of their own; a crash is an outcome too."""
    scratch = Path(tempfile.mkdtemp(prefix="streamgauge-bench-run-"))
    try:
        return _run_in(scratch, tasks)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_in(scratch: Path, tasks: Sequence[Task]) -> list[Outcome]:
    result, log = scratch / "outcomes.json", scratch / "log.txt"
    given = json.dumps([asdict(task) for task in tasks])
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    limit = sum(task.seconds for task in tasks) + GRACE_SECONDS
    missing = ""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.peers", given, str(result), str(os.getpid())],
            cwd=scratch,
            env={**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_DIRS": str(scratch / "spark")},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            missing = f"not done within {limit:.0f} s"
        finally:
            _end_session(process.pid)
            process.wait()
    found = json.loads(result.read_text(encoding="utf-8")) if result.exists() else []
    outcomes = [Outcome(**one) for one in found]
    if len(outcomes) < len(tasks):
        missing = missing or f"failed: {last_words(log)}"
    return outcomes + [Outcome(missing=missing) for _ in tasks[len(outcomes) :]]


def _end_session(pid: int) -> None:
    """End what a run may have left behind: it has a session of its own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def last_words(log: Path) -> str:
    """The last line of a log that says something."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    spoken = [line.strip() for line in lines if line.strip()]
    return spoken[-1][:200] if spoken else "nothing was said"


Group = dict[str, Task]


def in_turns(
    groups: Sequence[Group], repetitions: int, run: Callable[[Group], list[Outcome]]
) -> dict[str, list[Outcome]]:
    """Run groups interleaved: all of them once, then all of them again."""
    found: dict[str, list[Outcome]] = {name: [] for group in groups for name in group}
    for _ in range(repetitions):
        for group in groups:
            for name, outcome in zip(group, run(group), strict=True):
                found[name].append(outcome)
    return found


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure from several repetitions: the middle one, and how far they lie apart."""

    value: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread | None:
        """Median and range of what there is; None when there is nothing."""
        there = [value for value in values if value is not None]
        if not there:
            return None
        return cls(statistics.median(there), min(there), max(there), len(there))


def middle(spread: Spread | None) -> float | None:
    """The middle of the repetitions, if there were any."""
    return None if spread is None else spread.value


def ratios(
    ours: Sequence[Outcome], theirs: Sequence[Outcome], field: str = "rate"
) -> Spread | None:
    """Ratio of each repetition to the one run beside it."""
    pairs: list[float | None] = []
    for one, other in zip(ours, theirs, strict=False):
        a, b = getattr(one, field), getattr(other, field)
        pairs.append(a / b if a and b else None)
    return Spread.of(pairs)


class Steps:
    """Shows how far a run is: a bar on a terminal, else a line per step."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self.total = total
        self.done = 0
        self._bar: Progress | None = None
        self._task: Any = None

    @contextmanager
    def shown(self) -> Iterator[Steps]:
        """Show the bar while the steps run."""
        if not self.console.is_terminal:
            yield self
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        count = TextColumn("{task.completed}/{task.total}")
        with Progress(*columns, count, TimeElapsedColumn(), console=self.console) as bar:
            self._bar, self._task = bar, bar.add_task("", total=self.total)
            yield self
        self._bar = None

    @contextmanager
    def step(self, what: str) -> Iterator[list[str]]:
        """One step; what is put into the list is printed with its time when it is done."""
        said: list[str] = []
        started = time.perf_counter()
        if self._bar is not None:
            self._bar.update(self._task, description=what)
        yield said
        self.done += 1
        took = time.perf_counter() - started
        result = f": {'; '.join(said)}" if said else ""
        self.console.print(
            f"[{self.done}/{self.total}] {what}{result} ({took:.0f} s)",
            markup=False,
            highlight=False,
        )
        if self._bar is not None:
            self._bar.advance(self._task)
