"""Killing a running gauge: the driver, or one of its Python workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamgauge.checks.waiting import wait_until
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from streamgauge.results.row_blocks import as_row_changes, row_changes
from streamgauge.sources.plant import Plant, PlantWriter
from tests import forked
from tests.chaos import victim as undying
from tests.chaos.victim import VIEWS, all_given

MASTER = "local[2,4]"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Undisturbed:
    """Files, and what a local run that nobody kills answers of them."""

    files: Path
    answers: list[str]


def undisturbed_run(root: Path, *, n_files: int) -> Undisturbed:
    """Run what victims run in this process, on the local engine."""
    files = plant_files(root / "files", n_files=n_files)
    undying.main(str(root / "home"), str(files), "local")
    answers = everything(root / "home")
    assert len(answers) > 500
    for name in VIEWS:
        assert sum(f"query='{name}'" in answer for answer in answers) > 20, name
    return Undisturbed(files, answers)


def plant_files(directory: Path, *, n_files: int) -> Path:
    writer = PlantWriter(Plant(n_sensors=100, seed=11), str(directory))
    for _ in range(n_files):
        writer.write(40)
    all_given(directory).touch()
    return directory


class Given:
    """Files that victims are given a few at a time: none is at its end before the test says so.

    A file is an epoch. One more than was waited for is always there, so that what is killed after
    a commit is at work.
    """

    def __init__(self, files: Path, folder: Path) -> None:
        self.folder = folder
        self._left = sorted(files.iterdir())
        folder.mkdir()
        self._give(1)

    def epochs(self, home: Path, victim: subprocess.Popen[bytes], n: int) -> None:
        """Have a running victim commit so many epochs more, of so many files more."""
        self._give(n)
        epochs(home, victim, n)

    def rest(self) -> Path:
        """Give what is left, and say that it was all."""
        assert self._left, "victims were killed before the end"
        self._give(len(self._left))
        all_given(self.folder).touch()
        return self.folder

    def _give(self, n: int) -> None:
        for file in self._left[:n]:
            os.link(file, self.folder / file.name)
        del self._left[:n]


def start(home: Path, files: Path, engine: str, *more: str) -> subprocess.Popen[bytes]:
    """Start a victim in a process group of its own."""
    command = [sys.executable, "-m", undying.__name__, str(home), str(files), engine, *more]
    with (home.parent / f"{home.name}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, start_new_session=True)


def kill_group(victim: subprocess.Popen[bytes]) -> None:
    """Kill -9 on the driver and all it started."""
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()


def python_workers(victim: subprocess.Popen[bytes]) -> list[int]:
    """Processes of the victim's session that are Spark's Python workers.

    They have process groups of their own.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                session = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[3])
                command = (entry / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue
            if session == victim.pid and b"pyspark.daemon" in command:
                found.append(int(entry.name))
    return found


def committed(home: Path) -> int:
    return Home(str(home), 2).committed()


def finish(home: Path, files: Path, engine: str, *more: str) -> None:
    """Run a victim to its end."""
    process = start(home, files, engine, *more)
    try:
        wait_until(lambda: process.poll() is not None, 500, what="the victim to finish")
    finally:
        if process.poll() is None:
            kill_group(process)
    assert process.returncode == 0, log_of(home)
    assert (home / "done").exists()


@contextmanager
def while_it_runs(home: Path, files: Path, master: str) -> Iterator[subprocess.Popen[bytes]]:
    """A driver of Spark that is killed with all it started after the block."""
    process = start(home, files, "spark", master)
    try:
        yield process
    finally:
        if process.poll() is None:
            kill_group(process)


def epochs(home: Path, process: subprocess.Popen[bytes], n: int) -> None:
    """Wait until a running victim has committed some more epochs."""
    target = committed(home) + n

    def reached() -> bool:
        assert process.poll() is None, log_of(home)
        return committed(home) >= target

    wait_until(reached, 400, what=f"epoch {target}")


def log_of(home: Path) -> str:
    """The last that victims on a home said."""
    return (home.parent / f"{home.name}.log").read_text(errors="replace")[-3000:]


def kill_after_epochs(home: Path, files: Path, engine: str, n: int, seed: int, *more: str) -> None:
    """Start, wait for some commits and a random moment more, kill everything."""
    dice = np.random.default_rng(seed)
    victim = start(home, files, engine, *more)
    before = committed(home)
    target = before + int(dice.integers(1, n + 1))
    try:
        wait_until(
            lambda: committed(home) >= target or victim.poll() is not None,
            180,
            what=f"epoch {target}",
            every=float(dice.uniform(0.001, 0.05)),
        )
    finally:
        if victim.poll() is None:
            kill_group(victim)


def finish_forked(main: Callable[..., object], home: Path, *args: object) -> None:
    """Run a victim to its end in a fork."""
    log = home.parent / f"{home.name}.log"
    victim = forked.start(main, str(home), *map(str, args), output=log)
    try:
        code = forked.ended(victim, 300)
    finally:
        forked.kill(victim)
    assert code == 0, log.read_text(errors="replace")[-3000:]
    assert (home / "done").exists()


def kill_forked(
    main: Callable[..., object], home: Path, *args: object, most: int, seed: int, least: int = 1
) -> None:
    """Let a victim commit some epochs in a fork, wait for a random moment more, and kill it."""
    dice = np.random.default_rng(seed)
    log = home.parent / f"{home.name}.log"
    target = committed(home) + int(dice.integers(least, most + 1))
    victim = forked.start(main, str(home), *map(str, args), output=log)
    try:
        every = float(dice.uniform(0.001, 0.02))
        forked.wait_for(
            victim, lambda: committed(home) >= target, 180, what=f"epoch {target}", every=every
        )
    finally:
        forked.kill(victim)


def everything(home: Path) -> list[str]:
    """All answers of a home, numbers and rows, in order, as text."""
    opened = Home(str(home), 2)
    numbers = [repr(answer) for answer in as_answers(answers(opened))]
    rows = [repr(change) for name in VIEWS for change in as_row_changes(row_changes(opened, name))]
    return numbers + rows
