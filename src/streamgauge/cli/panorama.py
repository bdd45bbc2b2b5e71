"""Panorama: a dozen live answers with their bars, a head of figures and the last changes."""

from __future__ import annotations

from collections import deque

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from streamgauge.cli import draw
from streamgauge.cli.vitals import Vitals
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import instant_text
from streamgauge.results.change_log import as_answers, epoch_answers, epochs_after

HISTORY = 60
TICKER = 5
# Lines of the head, the frames and the titles around the rows.
FRAME_LINES = 9
# Below this a terminal has room for a short bar only.
WIDE = 96

Row = tuple[str, tuple[str, ...]]


class Panorama:
    """Follows some answers of a gauge and draws them.

    Parameters
    ----------
    vitals
        Figures for the head.
    rows
        What to follow, the most interesting first: name of the query, and its group.
    """

    def __init__(self, vitals: Vitals, rows: list[Row]) -> None:
        self.vitals = vitals
        self.rows = rows
        self.newest: dict[Row, Answer] = {}
        self.values: dict[Row, deque[float]] = {}
        self.before: dict[str, float] = {}
        self.ticker: deque[Text] = deque(maxlen=TICKER)
        self.notice = ""
        self.interrupted = 0
        self._seen = vitals.epoch

    def look(self) -> None:
        """Take in what was committed since the last look."""
        self.vitals.read()
        home = self.vitals.gauge.home
        for epoch in epochs_after(home, self._seen):
            self.take(epoch_answers(home, epoch))
            self._seen = epoch

    def take(self, table: pa.Table) -> None:
        """Take in the answers of an epoch."""
        followed = pa.array(sorted({name for name, _ in self.rows}))
        wanted = set(self.rows)
        for answer in as_answers(table.filter(pc.is_in(table["query"], followed))):
            row = (answer.query, tuple(map(str, answer.group)))
            if row in wanted:
                self.newest[row] = answer
                if answer.value is not None:
                    self.values.setdefault(row, deque(maxlen=HISTORY)).append(answer.value)
        self.interrupted += pc.sum(pc.equal(table["basis"], "interrupted")).as_py() or 0
        self._tick(table)

    def _tick(self, table: pa.Table) -> None:
        """Put two changes of an epoch on the ticker, one with a widened bar if there is one."""
        ungrouped = table.filter(pc.equal(table["group"], ""))
        wide = ungrouped.filter(pc.not_equal(ungrouped["basis"], "exact"))
        told = [t.slice(t.num_rows - 1) for t in (ungrouped, wide) if t.num_rows]
        for answer in as_answers(pa.concat_tables(told)) if told else ():
            self.ticker.append(_changed(answer, self.before.get(answer.query)))
        pairs = zip(ungrouped["query"].to_pylist(), ungrouped["value"].to_pylist(), strict=True)
        self.before.update({name: value for name, value in pairs if value is not None})

    def draw(self, width: int, height: int) -> RenderableType:
        """The whole picture, cut to the size of a terminal."""
        lines = max(3, height - FRAME_LINES - TICKER)
        ticker = Text("\n").join([*self.ticker, *[Text("")] * (TICKER - len(self.ticker))])
        return Group(
            Panel(self._head(), title="streamgauge demo", border_style="blue"),
            Text(self.notice, style="bold green"),
            self._table(lines, draw.TRACK if width >= WIDE else draw.TRACK // 2),
            Panel(ticker, title="last changes", border_style="blue"),
        )

    def _head(self) -> RenderableType:
        vitals = self.vitals
        rows, answers = vitals.rates()
        grid = Table.grid(expand=True)
        for _ in range(4):
            grid.add_column(ratio=1)
        grid.add_row(
            _figure("epoch", f"{vitals.epoch:,}"),
            _figure("epoch time", f"{vitals.epoch_seconds:.2f} s"),
            _figure("rows/s", f"{rows:,.0f}"),
            _figure("answers/s", f"{answers:,.0f}"),
        )
        grid.add_row(
            _figure("queries", f"{vitals.queries:,}"),
            _figure("state", draw.size(vitals.state_bytes)),
            _figure("rows", f"{vitals.rows:,}"),
            _figure("event time", vitals.event_time().removesuffix("Z")[11:19]),
        )
        return grid

    def _table(self, lines: int, track: int) -> Table:
        table = Table(box=None, header_style="bold", expand=True, pad_edge=False)
        table.add_column("query", no_wrap=True)
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("bar", no_wrap=True)
        table.add_column("low, high", no_wrap=True)
        table.add_column("made", no_wrap=True, ratio=1)
        table.add_column("age", justify="right", no_wrap=True)
        now = max(self.vitals.reached.values(), default=0)
        for row in self.rows[:lines]:
            answer = self.newest.get(row)
            if answer is None:
                table.add_row(Text(row[0], style="dim"), "-", "", "", "", "")
                continue
            style = "yellow" if answer.basis != "exact" else ""
            table.add_row(
                draw.named(answer),
                Text(draw.number(answer.value), style="bold"),
                Text(self._bar(row, answer, track), style=style or "cyan"),
                Text(draw.interval(answer), style=style),
                Text(draw.standing_of(answer), style=style),
                draw.age(answer, now),
            )
        return table

    def _bar(self, row: Row, answer: Answer, track: int) -> str:
        values = self.values.get(row, deque([0.0]))
        return draw.bar(answer, min(values), max(values), track)

    def block(self, lines: int = 6) -> list[str]:
        """The picture as plain lines."""
        shown = [self.newest[row] for row in self.rows if row in self.newest][:lines]
        said = [*([self.notice] if self.notice else []), *map(str, self.ticker)]
        self.ticker.clear()
        self.notice = ""
        return [
            self.vitals.line(),
            *(f"  {answer}" for answer in shown),
            *(f"  > {text}" for text in said),
        ]


def _figure(title: str, value: str) -> Text:
    return Text.assemble((f"{title} ", "dim"), (value, "bold"))


def _changed(answer: Answer, before: float | None) -> Text:
    name, clock = draw.named(answer), instant_text(answer.as_of)[11:19]
    if answer.basis != "exact":
        return Text(f"{clock} {name} {answer.basis}: bar {draw.interval(answer)}", style="yellow")
    if before is None or answer.value is None:
        return Text(f"{clock} {name} = {draw.number(answer.value)}")
    sign, style = ("▲", "green") if answer.value > before else ("▼", "red")
    return Text.assemble(
        f"{clock} {name} {draw.number(before)} ", (sign, style), f" {draw.number(answer.value)}"
    )
