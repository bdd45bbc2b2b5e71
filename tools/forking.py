"""Runs of pytest, each in a fork of one process that has loaded all that no fault is planted in.

A start of Python with pytest, Numba, Arrow and pandas costs more than most tests; a fork costs a
hundredth of it. Nothing of this tree is loaded before the fork, so each run sees the tree as it
stands. `Forks` starts the process, which is this module run as a program in the folder of a tree.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

# What `make quick` or `make test` would load from elsewhere sooner or later.
LOADED = (
    "duckdb", "hypothesis", "lark", "numba", "numpy", "pandas", "pyarrow.compute",
    "pyarrow.dataset", "pyarrow.parquet", "rich.console", "scipy.optimize", "scipy.special",
    "scipy.stats",
)  # fmt: skip
# The first that a test is marked with names the command that runs it; without any it is quick.
MARKS = {"nightly": "nightly"} | dict.fromkeys(
    ("jvm", "broker", "browser", "kills", "library", "slow"), "test"
)
# A test that hangs with a fault has failed; so long may one take on a machine that has other work.
LONGEST = 300
# Plugins that were loaded before the fork cannot be rewritten, and need not be.
ALONE = (
    "-q", "--no-header", "-p", "no:cacheprovider", f"--timeout={LONGEST}",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip


def command_of(item: pytest.Item) -> str:
    """The first command that runs a test."""
    return next((c for mark, c in MARKS.items() if item.get_closest_marker(mark)), "quick")


@dataclass
class Outcome:
    """What came of a run: tests that failed with the commands that run them, how many ran.

    `error` says why there is no verdict: the time was over, or there are no such tests.
    """

    failed: dict[str, str] = field(default_factory=dict)
    ran: int = 0
    error: str = ""


class _Noted:
    """A plugin that notes the outcome of a run."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self._commands: dict[str, str] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.outcome.failed[report.nodeid] = "quick"

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._commands = {item.nodeid: command_of(item) for item in session.items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcome.ran += report.when == "call"
        if report.failed:
            self.outcome.failed[report.nodeid] = self._commands[report.nodeid]


class Forks:
    """The process of one tree; `run` runs tests in a fork of it.

    What tests print goes to a file beside the tree.
    """

    def __init__(self, tree: Path, loaded: Sequence[str] = LOADED) -> None:
        paths = (str(tree / "src"), str(tree))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        # Without compiled files each run would read the package anew.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.forking", str(tree.parent / "pytest.log"), *loaded],
            cwd=tree, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, arguments: Sequence[str], seconds: float) -> Outcome:
        """Run pytest with some arguments until it ends or the time is over."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps([[*ALONE, *arguments], seconds]) + "\n")
        asked.flush()
        return Outcome(**json.loads(answers.readline()))

    def close(self) -> None:
        """End the process."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


def _run(arguments: list[str], log: str, answer: int) -> None:
    """Run pytest and write its outcome to a pipe; in a fork, of which nothing is left."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for place, opened in enumerate((nothing, printed, printed)):
        os.dup2(opened, place)
    noted = _Noted()
    code = int(pytest.main(arguments, plugins=[noted]))
    outcome = noted.outcome
    if not outcome.failed and code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        outcome.error = f"pytest ended with {code}, see {log}"
    os.write(answer, json.dumps(asdict(outcome)).encode() + b"\n")


def _forked(arguments: list[str], seconds: float, log: str) -> dict[str, Any]:
    """Run pytest in a fork; what it leaves running is ended with it."""
    answer, end = os.pipe()
    child = os.fork()
    if not child:
        try:
            _run(arguments, log, end)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    os.close(end)
    ready, _, _ = select.select([answer], [], [], seconds)
    told = os.read(answer, 1 << 20) if ready else b""
    os.close(answer)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if told:
        found: dict[str, Any] = json.loads(told)
        return found
    reason = f"the process died, see {log}" if ready else f"no end within {seconds:.0f} s"
    return asdict(Outcome(error=reason))


def serve(log: str, *loaded: str) -> None:
    """Load modules, then answer each line that asks for a run with its outcome."""
    for name in loaded:
        importlib.import_module(name)
    for line in sys.stdin:
        arguments, seconds = json.loads(line)
        print(json.dumps(_forked(arguments, seconds, log)), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
