"""Processes to be killed, forked from one that has loaded everything (`tests.preloaded`).

A start of Python with all its modules takes seconds of a core, a fork takes a hundredth of one.
What is forked is a process like any other: `kill -9` is real, and nothing of its memory is left.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from streamgauge.checks.waiting import wait_until

ROOT = Path(__file__).parents[1]


def start(target: Callable[..., object], *args: object, output: Path) -> ForkServerProcess:
    """Run a function of a module in a process of its own; what it prints is added to a file.

    The process ends with the one that started it.
    """
    process = _server().Process(target=_begin, args=(str(output), target, args))
    process.start()
    return process


def kill(process: ForkServerProcess) -> None:
    """Kill -9, and wait until it is gone; one that has ended stays so."""
    process.kill()
    process.join()


def freeze(process: ForkServerProcess) -> None:
    """Stop it where it is; connections stay open and nothing is said."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)


def thaw(process: ForkServerProcess) -> None:
    """Let a frozen process go on; one that was not frozen does not notice."""
    if process.is_alive():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGCONT)


def wait_for(
    process: ForkServerProcess,
    condition: Callable[[], object],
    seconds: float,
    *,
    what: str,
    every: float = 0.02,
) -> None:
    """Wait for something that a process does; it is an error if the process ends before."""
    wait_until(lambda: condition() or process.exitcode is not None, seconds, what=what, every=every)
    assert process.exitcode is None, f"ended with {process.exitcode} before {what}"


def ended(process: ForkServerProcess, seconds: float) -> int:
    """Wait for its end; the exit code, negative for a signal."""
    wait_until(lambda: process.exitcode is not None, seconds, what="the process to end")
    assert process.exitcode is not None
    return process.exitcode


def _server() -> ForkServerContext:
    """The server that forks; there is one, and it ends with this process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [before])])
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
    return context


def _begin(output: str, target: Callable[..., object], args: tuple[object, ...]) -> None:
    assert "tests.preloaded" in sys.modules, "the server could not load what is to be forked"
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for printed in (1, 2):
        os.dup2(descriptor, printed)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    target(*args)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
