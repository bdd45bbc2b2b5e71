"""Draw `answers.svg` of the documentation from a real run on the local engine.

It is the same each time: its rows are fixed. Run it as `python tools/draw_pictures.py`; it writes
to docs/pictures. Pictures of the page are made by the tests in tests/browser.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

import streamgauge as sg
from streamgauge.cli.plant_questions import ZONE, sensor_names, windowed, zones
from streamgauge.sources.plant import Plant

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
WIDTH = 120
MINUTES = 20
SENSORS = 500
# Fonts would be fetched from another site; the reader's own monospaced font does as well.
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def save(path: Path, drawn: RenderableType) -> None:
    """Write what a terminal would show as a picture."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, markup=False
    )
    console.print(drawn)
    picture = console.export_svg(title="streamgauge", unique_id="streamgauge")
    path.write_text(_FONTS.sub("", picture), encoding="utf-8")


def write_minute(folder: Path, minute: int) -> None:
    """Write a minute of the plant, of which one row in 211 comes two seconds late."""
    table, _ = Plant(n_sensors=SENSORS).rows(minute * 60, 60)
    order = np.arange(table.num_rows)
    order[::211] += 2 * SENSORS
    path = folder / f"{minute:04d}.parquet"
    pq.write_table(table.take(np.argsort(order, kind="stable")), path)


def answered(answer: sg.Answer) -> tuple[str | Text, ...]:
    """An answer as a line of the table."""
    group = f"[{', '.join(map(str, answer.group))}]" if answer.group else ""
    wide, endless = answer.high > answer.low, math.isinf(answer.high - answer.low)
    style = "red" if endless else "yellow" if wide else "green"
    ends = "[-inf, inf]" if endless else f"[{answer.low:.6g}, {answer.high:.6g}]"
    seconds = answer.as_of // 1_000_000 % 86_400
    return (
        Text(f"{answer.query}{group}"),
        f"{answer.value:.6g}",
        Text(ends, style),
        ", ".join(charge.by for charge in answer.charges) or "nobody",
        f"{answer.coverage:.0%}",
        f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}",
    )


def chosen(gauge: sg.Gauge) -> list[sg.Answer]:
    """A few answers of each kind, an interrupted one among them where there is one."""
    every = gauge.latest()
    mixes = [answer for answer in every if answer.query.startswith(ZONE)]
    silent = [answer for answer in mixes if answer.basis == "interrupted"]
    sound = [answer for answer in mixes if answer.basis == "exact"]
    kinds = [[a for a in every if a.query == name] for name in ("heat", "spread", "rows")]
    return [*sound[:4], *silent[:1], *(answer for found in kinds for answer in found[:3])]


def draw_answers(path: Path) -> None:
    """Run the plant for some minutes of event time and draw the newest answers."""
    with tempfile.TemporaryDirectory() as folder:
        incoming = Path(folder) / "plant"
        incoming.mkdir()
        write_minute(incoming, 0)
        gauge = sg.connect(f"{folder}/home", engine="local")
        source = sg.files(incoming)
        gauge.stream("plant", source=source, key="series", time="ts", expected_gap="10 s")
        names = sensor_names(Plant(n_sensors=SENSORS))
        gauge.register(*zones(names, 2_000), *windowed())
        for minute in range(1, MINUTES):
            gauge.step()
            write_minute(incoming, minute)
        gauge.step()
        table = Table(expand=True, title="standing queries", title_style="bold")
        for name in ("query", "value", "bar", "charged to", "covers", "as of"):
            table.add_column(name, justify="right" if name in ("value", "covers") else "left")
        for answer in chosen(gauge):
            table.add_row(*answered(answer))
        progress = gauge.progress()
        facts = (
            f"epoch {progress.epoch}   {progress.queries:,} queries   "
            f"{progress.rows:,} rows and {progress.answers:,} answers in the last epoch"
        )
        save(path, Group(table, Text(facts, "dim")))


def main() -> None:
    """Draw it."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw_answers(PICTURES / "answers.svg")


if __name__ == "__main__":
    main()
