"""Python for Spark with the imports behind it: processes are forked from one that has made them.

Spark starts a Python process for each question to a data source, and gives it ten seconds to call
back, which a busy machine may need for the imports alone. `warm_python` gives a program that Spark
can use as its interpreter. Daemons of workers begin with the imports, so that workers are forked
after them. Readers of streams are forked from a process that serves here. All else is as ever.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READER = "pyspark.sql.streaming.python_streaming_source_runner"
# Workers also let queries fail whose names say how.
IMPORTS = """import streamgauge.engine.spark.kafka_task, streamgauge.engine.spark.source
from tests.engine import every_technique
every_technique.poison(every_technique.as_named)"""
PROGRAM = """#!/bin/sh
if [ "$1 $2" = "-m pyspark.daemon" ]; then
    shift 2
    exec {python} -c '
import runpy
{imports}
runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
' "$@"
elif [ "$1 $2" = "-m {reader}" ]; then
    exec {python} -I -S {here} ask {door}
fi
exec {python} "$@"
"""


@contextmanager
def warm_python() -> Iterator[Path]:
    """Run the process that others are forked from; gives the program for Spark to call."""
    # The address of a socket is short.
    with tempfile.TemporaryDirectory(prefix="sg-") as place:
        door, program = Path(place) / "door", Path(place) / "python"
        names = {"python": sys.executable, "reader": READER, "here": __file__, "door": door}
        program.write_text(PROGRAM.format(imports=IMPORTS, **names))
        program.chmod(0o755)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(door))
        listener.listen()
        with listener, (Path(place) / "log").open("ab") as log:
            command = [sys.executable, __file__, "serve", str(listener.fileno())]
            given = (listener.fileno(),)
            serving = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=given)
            try:
                yield program
            finally:
                serving.kill()
                serving.wait()


def serve(door: int) -> None:
    """Import what readers need, then fork one for whoever asks."""
    # Not above: who asks is to begin at once.
    from pyspark.sql.streaming.python_streaming_source_runner import main
    from pyspark.worker_util import get_sock_file_to_executor

    import streamgauge.engine.spark.mqtt
    import streamgauge.engine.spark.source  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener, parent = socket.socket(fileno=door), os.getppid()
    listener.settimeout(1.0)
    # Tests that are killed do not end it.
    while os.getppid() == parent:
        try:
            asked, _ = listener.accept()
        except TimeoutError:
            continue
        if os.fork():
            asked.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        asked.settimeout(None)
        os.environ.update(json.loads(asked.makefile().readline()))
        with get_sock_file_to_executor(timeout=None) as jvm:
            main(jvm, jvm)
        os._exit(0)


def ask(door: str) -> None:
    """Have a reader forked with the environment that Spark gave, and end when it does."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(door)
        asked.sendall(json.dumps(dict(os.environ)).encode() + b"\n")
        asked.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        ask(sys.argv[2])
