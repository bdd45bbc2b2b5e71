"""The process that runs functions of users: limits on itself, columns in and out as Arrow.

It is started as a script, so that it imports nothing of the job. A request is a line of JSON and,
for a call, an Arrow stream; so is a reply.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def found(target: str, named: bool) -> Callable[..., Any]:
    """The function at a place; it belongs to its module or was listed itself."""
    module_name, _, name = target.partition(":")
    module = importlib.import_module(module_name)
    function = getattr(module, name)
    if not callable(function) or inspect.isclass(function) or inspect.ismodule(function):
        raise TypeError(f"{name!r} is a {type(function).__name__}, not a function")
    public = name in getattr(module, "__all__", ())
    if not (named or public or getattr(function, "__module__", None) == module_name):
        raise TypeError(f"{name!r} is not defined in {module_name!r}, only imported there")
    loaded: Callable[..., Any] = function
    return loaded


def _plain(column: pa.Array) -> Any:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)
    floats = pc.cast(column, pa.float64(), safe=False)
    return np.array(pc.fill_null(floats, np.nan).to_numpy(zero_copy_only=False))


def _called(function: Callable[..., Any], batch: pa.RecordBatch) -> pa.Array:
    with np.errstate(all="ignore"):
        result = np.asarray(function(*(_plain(column) for column in batch.columns)))
    if result.shape != (batch.num_rows,):
        raise ValueError(f"it returned the shape {result.shape} for {batch.num_rows} rows")
    if result.dtype.kind == "M":
        return pa.array(result.astype("datetime64[us]"))
    return pa.array(result, from_pandas=result.dtype.kind == "O")


def _aggregated(function: Callable[..., Any], batch: pa.RecordBatch) -> pa.Array:
    groups = batch.column(0)
    values = groups.values.to_numpy(zero_copy_only=False)
    ends = groups.offsets.to_numpy()
    results = [function(values[a:b]) for a, b in pairwise(ends)]
    return pa.array([r.item() if isinstance(r, np.generic) else r for r in results])


def _limit(limits: dict[str, float]) -> None:
    """Bound what one batch may use from here on."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    mapped = int(pages) * os.sysconf("SC_PAGE_SIZE")
    hard = resource.RLIM_INFINITY
    most = mapped + int(limits["memory"])
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu = int(usage.ru_utime + usage.ru_stime + limits["cpu_seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, hard))
    # Where the job has died nobody else ends a call that waits for ever.
    signal.setitimer(signal.ITIMER_REAL, limits["batch_seconds"] * 2)


def _answer(asked: dict[str, Any], source: BinaryIO) -> pa.Array | None:
    batch = None
    if asked["do"] != "load":
        with pa.ipc.open_stream(source) as reader:
            batch = reader.read_next_batch()
            reader.read_all()
    function = found(asked["target"], asked["named"])
    _limit(asked["limits"])
    if batch is None:
        return None
    return (_aggregated if asked["do"] == "aggregate" else _called)(function, batch)


def main() -> None:
    """Answer requests until the job closes the pipe."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a function prints must not be read as a reply.
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.path[:] = json.loads(source.readline())
    while line := source.readline():
        result, failure = None, ""
        try:
            result = _answer(json.loads(line), source)
        except BaseException as error:
            failure = f"it raised {type(error).__name__}: {error}"[:2000]
        signal.setitimer(signal.ITIMER_REAL, 0)
        sink.write(json.dumps({"failure": failure, "rows": result is not None}).encode() + b"\n")
        if result is not None:
            with pa.ipc.new_stream(sink, pa.schema([("result", result.type)])) as writer:
                writer.write_batch(pa.record_batch([result], names=["result"]))
        sink.flush()


if __name__ == "__main__":
    main()
