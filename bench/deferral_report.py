"""The report of the workload `deferral`: a table for each section, and every cell in the JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.report import Report


@dataclass(slots=True)
class Sections(Report):
    """A report with tables of its own.

    Examples
    --------
    >>> report = Sections("deferral", quick=True, origin="made up")
    >>> report.cells.append({"data": "Brownian", "p": 0.9, "fidelity": 0.91})
    >>> report.as_dict()["cells"]
    [{'data': 'Brownian', 'p': 0.9, 'fidelity': 0.91}]
    """

    tables: list[Table] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, with the cells."""
        # A class with slots is made anew by its decorator, which super() does not see.
        return {**Report.as_dict(self), "cells": self.cells, "skipped": self.skipped}

    def show(self, console: Console) -> None:
        """Print the sections, then what every report has."""
        for shown in self.tables:
            console.print(shown)
        Report.show(self, console)
        for words in self.skipped:
            console.print(f"skipped: {words}", markup=False, highlight=False)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table; its first column is words, the others are numbers."""
        made = Table(
            title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0)
        )
        for number, name in enumerate(columns):
            made.add_column(name, justify="right" if number else "left", no_wrap=True)
        for row in rows:
            made.add_row(*row)
        self.tables.append(made)


@dataclass(slots=True)
class SectionsAlone(Sections):
    """A report without rates of rows, for workloads that have none."""

    def show(self, console: Console) -> None:
        """Print the sections, figures and bars."""
        for shown in (*self.tables, self._others(), self._bars()):
            console.print(shown)
        for words in (self.checked, *(f"skipped: {what}" for what in self.skipped)):
            console.print(words, markup=False, highlight=False)


def percent(share: float) -> str:
    """A share as a percentage in four digits.

    >>> percent(0.95123), percent(1.0)
    ('95.12', '100')
    """
    return "100" if share == 1.0 else f"{100 * share:.2f}"
