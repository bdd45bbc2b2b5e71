"""The language in a notebook: `%load_ext streamgauge.magic`, then cells that begin with `%%gauge`.

`%gauge HOME` opens a home. `%%gauge` runs the statements of its cell on it, all or none, and shows
what came of the last one; `%%gauge NAME` gives the cell's one SELECT a name.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pyarrow as pa
from IPython.core.interactiveshell import InteractiveShell

from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.gauge import Gauge, connect
from streamgauge.kernel.errors import BindError

ROWS = 50


class Shown:
    """What a statement shows, as a notebook draws it."""

    def __init__(self, shown: pa.Table | str) -> None:
        self.shown = shown

    def __repr__(self) -> str:
        if isinstance(self.shown, str):
            return self.shown
        titles = self.shown.column_names
        rows = [[_cell(row[name]) for name in titles] for row in _rows(self.shown)]
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
        lines = [titles, *rows]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        if isinstance(self.shown, str):
            return f"<pre>{html.escape(self.shown)}</pre>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.shown.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row.values())
            + "</tr>"
            for row in _rows(self.shown)
        )  # fmt: skip
        more = max(self.shown.num_rows - ROWS, 0)
        foot = f"<p>and {more:,} more rows</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.slice(0, ROWS).to_pylist()
    return found


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Notebook:
    """The magic `gauge` of one shell, and the gauge it works on."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.gauge: Gauge | None = None

    def magic(self, line: str, cell: str | None = None) -> Any:
        """Open a home, or run the statements of a cell."""
        if cell is None:
            return self._open(line.strip())
        return self._run(cell, line.strip() or None)

    def _open(self, home: str) -> Gauge:
        """Use the gauge that a variable holds, or open the home of that name."""
        held = self.shell.user_ns.get(home)
        self.gauge = held if isinstance(held, Gauge) else connect(Path(home), engine="local")
        return self.gauge

    def _run(self, text: str, name: str | None) -> Any:
        gauge = self._found()
        trial = gauge.trial()
        outcomes = Script(gauge, trial).run(text, name)
        gauge.take(trial)
        return _result(outcomes)

    def _found(self) -> Gauge:
        if self.gauge is None:
            held = self.shell.user_ns.get("gauge")
            if not isinstance(held, Gauge):
                raise BindError(
                    "no gauge is open in this notebook",
                    "there is no variable named gauge, and %gauge was not called",
                    "open a home first: %gauge my-home, or gauge = sg.connect('my-home')",
                )
            self.gauge = held
        return self.gauge


def _result(outcomes: list[Outcome]) -> Shown | None:
    """What the last statement shows, below what the others did."""
    shown = [item.shown for item in outcomes if item.shown is not None]
    did = [str(item) for item in outcomes if item.did]
    if shown and isinstance(shown[-1], pa.Table):
        return Shown(shown[-1])
    texts = [*did, *(item for item in shown if isinstance(item, str))]
    return Shown("\n".join(texts)) if texts else None


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Make the magic known; IPython calls this for `%load_ext streamgauge.magic`."""
    shell.register_magic_function(Notebook(shell).magic, "line_cell", "gauge")  # type: ignore[arg-type]
