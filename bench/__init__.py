"""Benchmarks: Streamgauge beside what one would use instead, in one run, as ratios.

>>> print(*workloads()[:7])
audit capacity connectors deferral distinct filters language
>>> print(*workloads()[7:])
packets page promise scale server spine synopses windows
"""

from __future__ import annotations

import importlib
from pathlib import Path

from rich.console import Console

from streamgauge.kernel.errors import QueryNotFound

# Each is a module of this name, imported when it is run: some import servers and other engines.
WORKLOADS = (
    "audit", "capacity", "connectors", "deferral", "distinct", "filters", "language", "packets",
    "page", "promise", "scale", "server", "spine", "synopses", "windows",
)  # fmt: skip


def workloads() -> list[str]:
    """Names of the workloads."""
    return list(WORKLOADS)


def run(
    name: str,
    *,
    quick: bool = False,
    data: str | Path | None = None,
    json_file: str | Path | None = None,
    console: Console | None = None,
) -> int:
    """Run a workload, print its tables, write its JSON; return an exit code.

    Parameters
    ----------
    name
        One of `workloads()`.
    quick
        Under a minute, with little data: shows that all works, not how fast it is.
    data
        Directory of parquet files with columns series, ts, value (zone, kind) to use instead of
        generated rows.
    json_file
        Where the figures go.
    console
        Where tables and progress go; the terminal by default.

    Returns
    -------
    int
        0; 1 when a sampled answer was wrong or, in a full run on generated rows, a bar was missed.
    """
    if name not in WORKLOADS:
        raise QueryNotFound(
            f"no workload named {name!r}", f"workloads are {', '.join(workloads())}", "name one"
        )
    shown = console or Console()
    workload = importlib.import_module(f"bench.{name}")
    report = workload.run(quick=quick, data=Path(data) if data else None, console=shown)
    report.show(shown)
    if json_file is not None:
        report.write(Path(json_file))
    met = all(bar.met for bar in report.bars.values())
    return 0 if report.right and (met or quick or data) else 1
