"""The job's side of the process that runs functions of users."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.kernel.allowed import Allowed

WORKER = Path(__file__).with_name("function_worker.py")
# What a function may know of the environment; passwords and tokens of the job are not among it.
INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
START_SECONDS = 60.0


class CallFailed(Exception):
    """A function failed, or its process was ended; the text says how."""


class FunctionProcess:
    """One process that runs functions one batch at a time; started again after it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._paths: list[str] = []

    def load(self, target: str, allowed: Allowed) -> None:
        """Import a function there; raise CallFailed when that cannot be done."""
        self._ask("load", target, allowed, None)

    def call(self, target: str, allowed: Allowed, columns: list[pa.Array]) -> pa.Array:
        """Call a function on columns of equal length."""
        names = [f"c{place}" for place in range(len(columns))]
        return self._ask("call", target, allowed, pa.record_batch(columns, names=names))

    def aggregate(self, target: str, allowed: Allowed, groups: pa.ListArray) -> pa.Array:
        """Call an aggregate on the values of each group."""
        return self._ask("aggregate", target, allowed, pa.record_batch([groups], names=["values"]))

    def _ask(
        self, do: str, target: str, allowed: Allowed, batch: pa.RecordBatch | None
    ) -> pa.Array | None:
        limits = {
            "memory": allowed.memory,
            "cpu_seconds": allowed.cpu_seconds,
            "batch_seconds": allowed.batch_seconds,
        }
        asked = {"do": do, "target": target, "named": allowed.named(target), "limits": limits}
        # The job's own directory may hold modules too; an empty entry means that directory.
        paths = [path or str(Path.cwd()) for path in sys.path]
        if paths != self._paths:
            # Modules may be found elsewhere since the process began.
            self.close()
        with self._lock:
            fresh = self._process is None
            self._paths = paths
            process = self._process or self._start()
            late = threading.Event()
            # A new process imports its modules first, which is not the fault of a batch.
            most = allowed.batch_seconds + (START_SECONDS if fresh or do == "load" else 0.0)
            timer = threading.Timer(most, self._too_late, (process, late))
            timer.daemon = True
            timer.start()
            try:
                return _exchange(process, asked, batch)
            except (OSError, EOFError, pa.ArrowInvalid):
                raise CallFailed(self._ended(process, late, allowed, most)) from None
            finally:
                timer.cancel()

    def _start(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        environment = {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            close_fds=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(self._paths).encode() + b"\n")
        return self._process

    @staticmethod
    def _too_late(process: subprocess.Popen[bytes], late: threading.Event) -> None:
        late.set()
        process.kill()

    def _ended(
        self, process: subprocess.Popen[bytes], late: threading.Event, allowed: Allowed, most: float
    ) -> str:
        process.kill()
        code = process.wait()
        self.close()
        if late.is_set():
            return f"it took longer than {most:g} s"
        if code == -24:
            return f"it used more than {allowed.cpu_seconds:g} s of CPU time"
        return f"its process ended with status {code}"

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                continue

    def abandon(self) -> None:
        """Forget the process in a fork: it is the parent's."""
        process, self._process = self._process, None
        self._lock = threading.Lock()
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                os.close(pipe.fileno())
            process.returncode = 0
            _ABANDONED.append(process)


def _exchange(
    process: subprocess.Popen[bytes], asked: dict[str, Any], batch: pa.RecordBatch | None
) -> pa.Array | None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    if batch is not None:
        with pa.ipc.new_stream(process.stdin, batch.schema) as writer:
            writer.write_batch(batch)
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise EOFError
    told = json.loads(line)
    if told["failure"]:
        raise CallFailed(told["failure"])
    if not told["rows"]:
        return None
    with pa.ipc.open_stream(process.stdout) as reader:
        result = reader.read_next_batch().column(0)
        reader.read_all()
    return result


_ABANDONED: list[subprocess.Popen[bytes]] = []
PROCESS = FunctionProcess()
atexit.register(PROCESS.close)
os.register_at_fork(after_in_child=PROCESS.abandon)
