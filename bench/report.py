"""What a run found: figures, bars, the tables of it, and its JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.harness import ROOT, Outcome, Spread

FORMAT = 1
PACKAGES = (
    "streamgauge", "pyspark", "pyarrow", "numpy", "numba", "bytewax", "pathway", "apache-flink",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One peer or one form of it in the table of rates."""

    key: str
    title: str
    outcomes: Sequence[Outcome]

    @property
    def rate(self) -> Spread | None:
        """Rows a second over the repetitions."""
        return Spread.of([outcome.rate for outcome in self.outcomes])

    @property
    def cpu_rate(self) -> Spread | None:
        """Rows a second of processor time."""
        return Spread.of([outcome.cpu_rate for outcome in self.outcomes])

    @property
    def first(self) -> Spread | None:
        """Seconds of the first batch."""
        return Spread.of([outcome.first_seconds for outcome in self.outcomes])

    @property
    def note(self) -> str:
        """Why there is no figure, or what to know of it."""
        missing = [outcome.missing for outcome in self.outcomes if outcome.missing]
        notes = [outcome.note for outcome in self.outcomes if outcome.note]
        return (missing + notes + [""])[0]


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and what it has to reach; `at_least` says from which side."""

    value: float | None
    target: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        """Whether it is reached; a figure that is not there reaches nothing."""
        if self.value is None:
            return False
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass(slots=True)
class Report:
    """All that one run of a workload found.

    Examples
    --------
    >>> report = Report("spine", quick=True, origin="generated")
    >>> report.bars["scan_share"] = Bar(0.6, 0.5)
    >>> report.as_dict()["bars"]
    {'scan_share': {'value': 0.6, 'target': 0.5, 'met': True}}
    """

    workload: str
    quick: bool
    origin: str
    lines: list[Line] = field(default_factory=list)
    figures: dict[str, tuple[float | Spread | None, str]] = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    about: str = ""
    checked: str = ""
    right: bool = True

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        figures = {line.key: _line_figure(line) for line in self.lines}
        for name, (value, unit) in self.figures.items():
            figures[name] = _figure(value, unit)
        return {
            "format": FORMAT,
            "workload": self.workload,
            "quick": self.quick,
            "origin": self.origin,
            "about": self.about,
            "checked": self.checked,
            "right": self.right,
            "figures": figures,
            "bars": {
                name: {"value": bar.value, "target": bar.target, "met": bar.met}
                for name, bar in self.bars.items()
            },
            "machine": machine(),
            "versions": versions(),
            "commit": commit(),
        }

    def write(self, path: Path) -> None:
        """Write the JSON form to a file."""
        text = json.dumps(self.as_dict(), indent=2, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")

    def show(self, console: Console) -> None:
        """Print the tables."""
        console.print(self._rates())
        for line in self.lines:
            if line.note:
                console.print(f"  {line.title}: {line.note}", markup=False, highlight=False)
        console.print(self._others())
        console.print(self._bars())
        console.print(self.checked, markup=False, highlight=False)

    def _rates(self) -> Table:
        title = f"{self.workload}: rows a second, ours = 1.00\n{self.about}"
        table = _plain_table(title)
        table.add_column("what", overflow="fold")
        for name in ("rows/s", "low..high", "per CPU s", "ours/it", "it/ours", "first s"):
            table.add_column(name, justify="right", no_wrap=True)
        ours = self.lines[0].rate.value if self.lines and self.lines[0].rate else None
        for line in self.lines:
            table.add_row(line.title, *_cells(line, ours))
        return table

    def _others(self) -> Table:
        table = _plain_table("figures")
        table.add_column("what")
        table.add_column("value", justify="right")
        table.add_column("unit")
        for name, (value, unit) in self.figures.items():
            number = value.value if isinstance(value, Spread) else value
            table.add_row(name, short(number), unit)
        return table

    def _bars(self) -> Table:
        table = _plain_table("bars")
        table.add_column("bar")
        for name in ("value", "target"):
            table.add_column(name, justify="right")
        table.add_column("")
        for name, bar in self.bars.items():
            value = "N/A" if bar.value is None else f"{bar.value:.3g}"
            sign = ">=" if bar.at_least else "<="
            verdict = "met" if bar.met else "missed"
            table.add_row(name, value, f"{sign} {bar.target:g}", verdict)
        return table


def _plain_table(title: str) -> Table:
    """A table that fits into eighty columns."""
    return Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)


def _cells(line: Line, ours: float | None) -> list[str]:
    rate, cpu, first = line.rate, line.cpu_rate, line.first
    if rate is None:
        return ["N/A"] * 5 + ["N/A" if first is None else f"{first.value:.1f}"]
    return [
        short(rate.value),
        f"{short(rate.low)}..{short(rate.high)}" if rate.n > 1 else "once",
        short(cpu.value if cpu else None),
        "N/A" if ours is None else f"{ours / rate.value:.2f}",
        "N/A" if ours is None else f"{rate.value / ours:.3g}",
        "N/A" if first is None else f"{first.value:.1f}",
    ]


def short(value: float | None) -> str:
    """A figure with three digits and a letter for its size.

    >>> short(1_234_567.0), short(0.01234), short(None), short(250.0)
    ('1.23M', '0.0123', 'N/A', '250')
    """
    if value is None:
        return "N/A"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _line_figure(line: Line) -> dict[str, Any]:
    found = _figure(line.rate, "rows/s")
    found["per_cpu_second"] = line.cpu_rate.value if line.cpu_rate else None
    found["first_seconds"] = line.first.value if line.first else None
    found["repetitions"] = [outcome.rate for outcome in line.outcomes]
    found["note"] = line.note
    return found


def _figure(value: float | Spread | None, unit: str) -> dict[str, Any]:
    spread = Spread.of([value]) if not isinstance(value, Spread) else value
    if spread is None:
        return {"value": None, "low": None, "high": None, "unit": unit}
    return {"value": spread.value, "low": spread.low, "high": spread.high, "unit": unit}


def machine() -> dict[str, Any]:
    """What the figures were made on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Versions of what took part."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit that was measured, with a plus sign when files differ from it."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.stdout.strip()
