"""Starting and stopping a gauge from a terminal: signals, Spark's own messages, the spinner."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from streamgauge.cli.signals import clean_signals
from streamgauge.cli.vitals import check_running
from streamgauge.cli.warm import warming
from streamgauge.control.control_topic import ControlTopic
from streamgauge.engine.spark.session import check_java, open_session
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import EngineFailure, StreamgaugeError
from streamgauge.results.change_log import epochs_after

SPARK_LOG = "spark.log"
POLL_SECONDS = 0.1
COMPILING = "compiling kernels (once, about half a minute)"


@dataclass(frozen=True, slots=True)
class Launch:
    """A gauge to be run, on which engine, told on which console."""

    gauge: Gauge
    console: Console
    engine: str = "spark"
    master: str | None = None
    settings: dict[str, str] | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the job until the end of the block, whatever ends it."""
        with clean_signals():
            try:
                self._start()
                # Spark set its own handler for Ctrl-C while it started.
                with clean_signals():
                    yield
            finally:
                with self._quiet():
                    self.gauge.stop()

    def _start(self) -> None:
        try:
            if self.engine == "spark":
                self._prepare()
            with self.spinner("starting the job"), self._quiet():
                self.gauge.start()
        except RuntimeError as error:
            if isinstance(error, StreamgaugeError):
                raise
            raise EngineFailure(
                "Spark did not start",
                f"{str(error).strip()[:500]}; its log is {self._log}",
                "see what is missing with: streamgauge doctor",
            ) from error

    def _prepare(self) -> None:
        """Start Spark and compile the kernels side by side."""
        check_java()
        with warming() as processes:
            with self.spinner("starting Spark"), self._quiet():
                open_session(self.master, self.settings)
            if processes:
                with self.spinner(COMPILING):
                    for process in processes:
                        process.wait()

    def wait_for_answers(self) -> None:
        """Wait for the first answers after those there are."""
        seen = self.gauge.home.committed()
        with self.spinner("waiting for the first answers"):
            while not epochs_after(self.gauge.home, seen):
                check_running(self.gauge)
                threading.Event().wait(POLL_SECONDS)

    @contextmanager
    def spinner(self, text: str) -> Iterator[None]:
        """Say what is going on; on a terminal, only while it does."""
        if self.console.is_terminal:
            with self.console.status(text):
                yield
        else:
            self.console.print(f"{text} ...")
            yield

    @property
    def _log(self) -> Path:
        return self.gauge.home.root / SPARK_LOG

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Keep what Spark writes to the terminal in a log in the home."""
        with stderr_to(self._log) if self.engine == "spark" else nullcontext():
            yield


def watch(
    gauge: Gauge,
    look: Callable[[], None],
    *,
    every: float,
    seconds: float | None = None,
    topic: ControlTopic | None = None,
) -> None:
    """Look again and again until interrupted, the job stops by itself, or the time is over."""
    begin = time.monotonic()
    while seconds is None or time.monotonic() - begin < seconds:
        check_running(gauge)
        if topic is not None:
            topic.check()
        look()
        threading.Event().wait(every)


@contextmanager
def stderr_to(path: Path) -> Iterator[None]:
    """Send standard error to a file meanwhile; a process started inside keeps it so for life."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(target, 2)
    os.close(target)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
