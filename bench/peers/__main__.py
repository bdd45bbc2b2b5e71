"""The process that runs tasks: `python -m bench.peers TASKS OUTCOMES PARENT`."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.harness import Outcome, Task


def end_with(parent: int) -> None:
    """End this process and all it started when the process that asked for it is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def main(text: str, path: str) -> None:
    """Run tasks; the outcomes so far are in the file after each, should the next one crash."""
    outcomes: list[dict[str, Any]] = []
    for given in json.loads(text):
        task = Task(**given)
        peer = importlib.import_module(f"bench.peers.{task.peer}")
        outcome: Outcome = peer.run(task) if peer.installed() else Outcome(missing="not installed")
        outcomes.append(asdict(outcome))
        partial = Path(f"{path}.tmp")
        partial.write_text(json.dumps(outcomes), encoding="utf-8")
        partial.replace(path)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(int(sys.argv[3]),), daemon=True).start()
    main(sys.argv[1], sys.argv[2])
    sys.stdout.flush()
    # A JVM or a thread of a peer must not hold the process after its outcome is there.
    os._exit(0)
