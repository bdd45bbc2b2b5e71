"""Process: what a process and all below it have cost so far, read from the system."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def tree_seconds(pid: int | None = None) -> float | None:
    """Processor time of a process and all below it so far; None where there is no /proc."""
    root = Path("/proc")
    if not (root / "self" / "stat").exists():
        return None
    spent: dict[int, float] = {}
    below: dict[int, list[int]] = {}
    for entry in root.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        parts = text.rpartition(") ")[2].split()
        number = int(entry.name)
        spent[number] = sum(map(int, parts[11:15])) / os.sysconf("SC_CLK_TCK")
        below.setdefault(int(parts[1]), []).append(number)
    total, waiting = 0.0, [pid or os.getpid()]
    while waiting:
        number = waiting.pop()
        total += spent.get(number, 0.0)
        waiting += below.get(number, [])
    return total


def peak_bytes() -> int:
    """Most memory this process has had at once."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
