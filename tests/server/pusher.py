"""A process that pushes and is killed between two steps: one child for each place to die at.

Usage: pusher.py FOLDER. Each child works in FOLDER/<place>, and notes there what was acknowledged.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamgauge.checks.waiting import wait_until
from streamgauge.log import spool as log
from streamgauge.log.segments import write_parquet
from streamgauge.server import spool as pushed
from streamgauge.server.bodies import Body, BodyReader
from streamgauge.server.spool import Limits, PushSpool
from tests.server.pushing import STREAM, home_at, lines

REQUESTS = 6
# Where a step is taken, by name: a flush of the log, its snapshot, and what makes files.
STEPS: dict[str, tuple[Any, str]] = {
    "flush": (log.Spool, "_flush"),
    "snapshot": (log, "write_json"),
    "begin": (log.Spool, "begin"),
    "bury": (pushed, "bury"),
    "file": (pushed, "write_parquet"),
    "names": (pushed, "sync_directory"),
}
# Flushes are of records and of marks in turn; the first snapshot is that of the start.
TURNS = {"flush": (1, 2, 3)}
PLACES = [
    f"{step}-{when}-{turn}"
    for step in STEPS
    for when in ("before", "after")
    for turn in TURNS.get(step, (2,))
]


def body(number: int) -> Body:
    """One request: two rows, and one that is a dead letter."""
    return Body(lines([2 * number, 2 * number + 1], f"broken {number}"), key=f"key {number}")


def push_until_killed(folder: Path, place: str) -> None:
    """Push, land and begin anew in turn; die at a place."""
    step, when, turn = place.split("-")
    owner, name = STEPS[step]
    setattr(owner, name, _deadly(getattr(owner, name), when, int(turn)))
    home = home_at(folder / "home")
    with (
        PushSpool(home, STREAM, Limits(log=2000, wait=0.0)) as spool,
        (folder / "told").open("a") as told,
    ):
        for number in range(REQUESTS):
            spool.push(body(number)).result(30)
            told.write(f"{number}\n")
            told.flush()
            wait_until(lambda: not spool.unsettled, 60)


def _deadly(function: Callable[..., Any], when: str, turn: int) -> Callable[..., Any]:
    calls = 0

    def deadly(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == turn and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*given, **named)
        if calls == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return deadly


def main(root: Path) -> None:
    """Fork a child for each place; note how it ended."""
    # What is loaded on first use is loaded once, not in each child.
    reading = BodyReader(STREAM).read([(1, body(0))], 0)
    write_parquet(root / "warm.parquet", reading.table)
    for place in PLACES:
        folder = root / place
        folder.mkdir(parents=True)
        child = os.fork()
        if child == 0:
            try:
                push_until_killed(folder, place)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        (folder / "status").write_text(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
