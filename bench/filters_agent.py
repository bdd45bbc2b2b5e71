"""What an agent costs: lines it reads, parses and filters a second on one core, and its memory.

The agent is the command itself in a process of its own, fed through a pipe, and talks with a
coordinator of a few lines in this one. Rates are per second of processor time, so that other work
on the machine does not count against it.
"""

from __future__ import annotations

import http.server
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from streamgauge.edge.dice import Dice
from streamgauge.edge.protocol import Reply, Report
from streamgauge.filters.bound import Grant

OBJECTS = 200
LINES = 600_000
QUICK_LINES = 200_000
# Full width in steps of the walk: about one reading in a hundred passes.
WIDTH = 20.0

OFFERS = """
import time
from streamgauge.edge.dice import Dice
from streamgauge.filters.bound import Grant
from streamgauge.filters.source import SourceFilter
source, dice, value, walk = SourceFilter(), Dice(1), 0.0, []
for _ in range({offers}):
    value += dice.normal()
    walk.append(value)
source.add(0)
source.offer(0, 0, 0.0)
source.grant(Grant(0, 1, {width}, 0), 0)
offer = source.offer
began = time.process_time()
for at, value in enumerate(walk, 1):
    offer(0, at, value)
print({offers} / (time.process_time() - began))
"""

COMMAND = """
import json, resource, sys
from streamgauge.cli.app import main
try:
    main(sys.argv[1:])
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    # The peak that getrusage tells may be that of the process which started this one.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    heavy = {"numpy", "pandas", "pyarrow", "pyspark", "scipy", "numba"}
    print(json.dumps({
        "seconds": used.ru_utime + used.ru_stime,
        "resident_mb": int(status["VmHWM"].split()[0]) / 1024,
        "heavy": sorted(heavy & set(sys.modules)),
    }))
"""


def measure(*, quick: bool = False) -> dict[str, float]:
    """Measure an agent.

    Returns
    -------
    dict
        `resident_mb`: largest resident memory of the command; `lines_per_second`: read, parsed and
        filtered per second of processor time; `offers_per_second`: the filter alone;
        `passed`: share of the readings that were sent.
    """
    lines = QUICK_LINES if quick else LINES
    base, _ = run_command(b"", ["--once"])
    text = walk_lines(lines)
    used, updates = run_command(text, ["--once", "--grace", "60s"])
    offers = 100_000 if quick else 300_000
    script = OFFERS.format(offers=offers, width=WIDTH)
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {
        "resident_mb": used["resident_mb"],
        "lines_per_second": lines / (used["seconds"] - base["seconds"]),
        "offers_per_second": float(found.stdout),
        "passed": updates / lines,
    }


def walk_lines(lines: int) -> bytes:
    """Lines `key value` of random walks."""
    dice = Dice(7)
    values = [0.0] * OBJECTS
    found = []
    for line in range(lines):
        number = line % OBJECTS
        values[number] += dice.normal()
        found.append(f"host-{number}/packets {values[number]:.4f}\n")
    return "".join(found).encode()


def run_command(text: bytes, options: list[str]) -> tuple[dict[str, Any], int]:
    """Run the command on a text; what it used, and how many updates arrived."""
    with tempfile.TemporaryDirectory() as state, Coordinator() as coordinator:
        source = Path(state) / "lines"
        source.write_bytes(text)
        command = ["edge", coordinator.url, "--stream", "bench", "--agent", "bench"]
        command += ["--log", "none", "--state", f"{state}/agent", *options]
        with source.open("rb") as lines:
            # A pipe, as a program would feed it; the file only keeps this process out of the way.
            feed = subprocess.Popen(["cat"], stdin=lines, stdout=subprocess.PIPE)
            ended = subprocess.run(
                [sys.executable, "-c", COMMAND, *command],
                stdin=feed.stdout,
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            assert feed.stdout is not None
            feed.stdout.close()
            feed.wait()
        used: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        assert not used["heavy"], f"the agent imported {used['heavy']}"
        return used, coordinator.updates


class Coordinator:
    """The smallest coordinator: acknowledges all, grants one width to all."""

    def __init__(self) -> None:
        self.updates = 0
        self._granted: set[int] = set()
        outer = self

        class Door(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = outer.answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Coordinator:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, data: bytes) -> bytes:
        """Reply to a report."""
        now = time.time_ns() // 1_000
        report = Report.decode(data)
        self.updates += len(report.updates)
        fresh = [number for number, _ in report.objects if number not in self._granted]
        self._granted.update(fresh)
        grants = [Grant(number, 1, WIDTH, now) for number in fresh]
        return Reply(report.boot, report.seq, report.sent, now, now, grants).encode()


if __name__ == "__main__":
    figures = measure(quick="--quick" in sys.argv)
    assert all(math.isfinite(figure) for figure in figures.values())
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
