"""Watching one query: its newest answers or rows, renewed with every epoch."""

from __future__ import annotations

import threading

import pyarrow as pa
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from streamgauge.cli.reading import TRIES, expected_registry
from streamgauge.cli.said import count_of, drawn
from streamgauge.execute.names import members
from streamgauge.execute.show import answers
from streamgauge.gauge import Gauge
from streamgauge.log import lock

SECONDS = 0.25
# Lines around the table: titles, the count, the footing and the prompt.
FRAME_LINES = 6


def watch_query(gauge: Gauge, name: str, terminal: Console) -> None:
    """Show a query until Ctrl-C; on something that is no terminal, show it once."""
    members(expected_registry(gauge.home), name)
    if not terminal.is_terminal:
        terminal.print(picture(gauge, name, terminal.height))
        return
    seen = -1
    with Live(console=terminal, auto_refresh=False) as live:
        try:
            while True:
                epoch = gauge.home.committed()
                if epoch != seen:
                    seen = epoch
                    live.update(picture(gauge, name, terminal.height), refresh=True)
                threading.Event().wait(SECONDS)
        except KeyboardInterrupt:
            return


def picture(gauge: Gauge, name: str, height: int) -> RenderableType:
    """The newest answers of a query, cut to the height of a terminal."""
    room = max(height - FRAME_LINES, 3)
    found = newest(gauge, name)
    state = "running" if lock.held(gauge.home.root) else "no job is running on this home"
    foot = f"{name}: {count_of(found, room)}, epoch {gauge.home.committed()}, {state}; Ctrl-C ends"
    return Group(drawn(found, room), Text(foot, style="dim"))


def newest(gauge: Gauge, name: str) -> pa.Table:
    """Newest answers or current rows, as of the last commit."""
    registry = expected_registry(gauge.home)
    for _ in range(TRIES):
        try:
            return answers(gauge, registry, name)
        except FileNotFoundError:
            # The job went two epochs on while the state was being read; its files are gone.
            continue
    return answers(gauge, registry, name)
