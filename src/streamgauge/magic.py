"""The language in a notebook: `%load_ext streamgauge.magic`, then cells that begin with `%%gauge`.

`%gauge HOME` opens a home. `%%gauge` runs the statements of its cell on it, all or none, and shows
what came of the last one; `%%gauge NAME` gives the cell's one SELECT a name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from IPython.core.interactiveshell import InteractiveShell

from streamgauge.contracts.picture import ROWS, answers_html, plan_html, table_html
from streamgauge.contracts.shown import Answers
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.gauge import Gauge, connect
from streamgauge.kernel.errors import BindError

# The columns that SHOW ANSWERS begins with.
OF_ANSWERS = ["query", "group", "value", "low", "high"]


class Shown:
    """What a statement shows, as a notebook draws it.

    Parameters
    ----------
    shown
        A table or a text.
    answers
        The answers that a table is of, if it is of answers; they are drawn with their bars.

    Examples
    --------
    >>> Shown(pa.table({"name": ["heat"]}))
    name
    heat
    """

    def __init__(self, shown: pa.Table | str, answers: Answers | None = None) -> None:
        self.shown = shown
        self.answers = answers

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
            return plan_html(self.shown)
        if self.answers:
            return answers_html(self.answers)
        rows = [list(row.values()) for row in _rows(self.shown)]
        return table_html(self.shown.column_names, rows, more=self.shown.num_rows - len(rows))


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
        return _result(gauge, outcomes)

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


def _result(gauge: Gauge, outcomes: list[Outcome]) -> Shown | None:
    """What the last statement shows, below what the others did."""
    shown = [item.shown for item in outcomes if item.shown is not None]
    did = [str(item) for item in outcomes if item.did]
    if shown and isinstance(shown[-1], pa.Table):
        return Shown(shown[-1], _answers_in(gauge, shown[-1]))
    texts = [*did, *(item for item in shown if isinstance(item, str))]
    return Shown("\n".join(texts)) if texts else None


def _answers_in(gauge: Gauge, table: pa.Table) -> Answers | None:
    """The answers that a table lists, whole: a table leaves out who widened their bars."""
    if table.column_names[: len(OF_ANSWERS)] != OF_ANSWERS:
        return None
    listed = set(table["query"].to_pylist())
    return Answers(answer for answer in gauge.latest() if answer.query in listed)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Make the magic known; IPython calls this for `%load_ext streamgauge.magic`."""
    shell.register_magic_function(Notebook(shell).magic, "line_cell", "gauge")  # type: ignore[arg-type]
