"""Two runs side by side: `python -m bench.compare OLD.json NEW.json`.

A figure is worse (or better) when it moved by more than a tenth and the spreads of the two runs
do not overlap; moved within the spreads it is noise.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.report import short

ROOM = 0.10
# Figures of which less is better, by their unit.
COSTS = {"s", "bytes", "epochs"}
# Figures that describe a run and are neither good nor bad.
NEUTRAL = {"value", "of checks", "of epoch", "rows"}


def verdict(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What became of a figure: same, better, worse, noise, new, gone, N/A.

    >>> verdict(dict(value=10, low=9, high=11, unit="rows/s"),
    ...         dict(value=20, low=19, high=21, unit="rows/s"))
    'better'
    """
    before, after = old.get("value"), new.get("value")
    if before is None and after is None:
        return "N/A"
    if before is None or after is None:
        return "new" if before is None else "gone"
    if new["unit"] in NEUTRAL:
        return ""
    if abs(after - before) <= ROOM * abs(before):
        return "same"
    if old["low"] <= new["high"] and new["low"] <= old["high"]:
        return "noise"
    return "better" if (after > before) != (new["unit"] in COSTS) else "worse"


def compared(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Rows of the table: name, old, new, ratio, verdict."""
    none: dict[str, Any] = {}
    rows = []
    for name in dict.fromkeys([*old["figures"], *new["figures"]]):
        before, after = old["figures"].get(name, none), new["figures"].get(name, none)
        a, b = before.get("value"), after.get("value")
        ratio = f"{b / a:.2f}" if a and b is not None else "N/A"
        rows.append((name, short(a), short(b), ratio, verdict(before, after)))
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 when something became worse."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description="Compare two runs."
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    given = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (given.old, given.new))
    rows = compared(old, new)
    console = Console()
    console.print(_table(rows, str(old.get("commit")), str(new.get("commit"))))
    if old["machine"] != new["machine"] or old["quick"] != new["quick"]:
        console.print("the two runs differ in machine, load or size: read ratios, not rates")
    return int(any(row[-1] == "worse" for row in rows))


def _table(rows: list[tuple[str, str, str, str, str]], old: str, new: str) -> Table:
    table = Table(title="figures of two runs", title_justify="left")
    table.add_column("figure")
    for name in (f"old {old}", f"new {new}", "new/old"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows:
        table.add_row(*row)
    return table


if __name__ == "__main__":
    sys.exit(main())
