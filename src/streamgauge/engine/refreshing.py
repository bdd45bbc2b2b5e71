"""Refreshing: tables that change slowly are read again while the job runs.

What is read becomes a control record, and only when rows differ. So new rows take effect at one
epoch boundary, the same for all shards, and a replay finds them at the same place.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.engine.following import Following
from streamgauge.engine.origins import read_origin
from streamgauge.kernel.errors import SourceFailure, StreamgaugeError
from streamgauge.kernel.time import SECOND
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.segments import write_parquet
from streamgauge.log.tables import AGAIN, next_copy, note_reading, read_rows, reading_of, same_rows
from streamgauge.plan.tables import CHANGES, read_again
from streamgauge.streams.schema import Schema
from streamgauge.streams.table import Table

LOG = logging.getLogger("streamgauge")
PAUSE_SECONDS = 0.1
PATIENCE_SECONDS = 10.0


@dataclass(slots=True)
class _Round:
    """How the readings of one table go."""

    due: float
    failures: int = 0
    told: str = ""
    pending: str = ""
    thread: threading.Thread | None = field(default=None, repr=False)

    @property
    def idle(self) -> bool:
        return self.thread is None or not self.thread.is_alive()


class Refreshing:
    """Reads tables again at their pace, each in a thread of its own.

    Parameters
    ----------
    home
        Where the gauge lives.
    session
        Gives the Spark session that databases are read with.
    """

    def __init__(self, home: Home, session: Callable[[], Any]) -> None:
        self.home = home
        self._session = session
        self._following = Following(home, "tables", CHANGES)
        self._rounds: dict[str, _Round] = {}
        self._begun = False
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, tables: Mapping[str, Table]) -> None:
        """Keep reading; `tables` are those that were there when this was made."""
        if not self._begun:
            self._following.begin(tables)
            self._begun = True
        self._halt.clear()
        self._rounds = {name: _Round(due=0.0) for name in self._following.kept}
        self._thread = threading.Thread(target=self._run, name="streamgauge-tables", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read no more; what is in the inbox stays there. A reading that hangs is left behind."""
        self._halt.set()
        if self._thread is None:
            return
        self._thread.join()
        self._thread = None
        for round in self._rounds.values():
            if round.thread is not None:
                round.thread.join(PATIENCE_SECONDS)

    def _run(self) -> None:
        while not self._halt.wait(PAUSE_SECONDS):
            self._follow()
            for table in self._following.kept.values():
                if table.every is not None:
                    self._attend(table, table.every)

    def _follow(self) -> None:
        """Take in what the journal says of tables."""
        landed = {change.get("path") for change in self._following.look() or ()}
        # Pages that were cleared away are passed over, but not what they did.
        landed.update(table.path for table in self._following.kept.values())
        for round in self._rounds.values():
            round.pending = "" if round.pending in landed else round.pending

    def _attend(self, table: Table, every: int) -> None:
        """Begin to read a table that is due."""
        now = time.monotonic()
        round = self._rounds.setdefault(table.name, _Round(due=now + every / SECOND))
        # An altered pace holds at once.
        round.due = min(round.due, now + every / SECOND)
        if now < round.due or round.pending or not round.idle:
            return
        round.due = float("inf")
        round.thread = threading.Thread(
            target=self._read, args=(table, every, round), daemon=True,
            name=f"streamgauge-table-{table.name}",
        )  # fmt: skip
        round.thread.start()

    def _read(self, table: Table, every: int, round: _Round) -> None:
        wait = every / SECOND
        try:
            changed = self._refresh(table, round)
            if changed or round.failures:
                round.failures, round.told = 0, ""
                self._note(table, None)
        except (StreamgaugeError, OSError, pa.ArrowException) as error:
            round.failures += 1
            wait = min(wait, 2.0 ** min(round.failures - 1, 20))
            self._tell(table, round, error)
        finally:
            # Whatever happens, it is tried again.
            round.due = time.monotonic() + wait

    def _refresh(self, table: Table, round: _Round) -> bool:
        """Read a table; leave a record when its rows differ from those that hold."""
        rows = read_origin(table.read_from, self._session)
        found = Schema.from_arrow(rows.schema)
        if found != table.schema:
            raise SourceFailure(
                f"table {table.name!r} has other columns now",
                f"{_said(found)} instead of {_said(table.schema)}",
                "give it those columns again, or drop the table and create it anew",
            )
        kept = Path(table.path)
        if kept.exists() and same_rows(rows, read_rows(kept)):
            return False
        path = next_copy(self.home, table.name, AGAIN)
        write_parquet(path, rows)
        if self._halt.is_set():
            return False
        round.pending = str(path)
        inbox.submit(self.home, read_again(table, str(path), rows.num_rows))
        return True

    def _tell(self, table: Table, round: _Round, error: Exception) -> None:
        """Say once what is wrong, and count each time."""
        text = str(error)
        if text != round.told:
            LOG.warning(
                "table not read again: its rows stay as they are",
                extra={"fields": {"table": table.name, "code": type(error).__name__}},
            )
        round.told = text
        try:
            self._note(table, error)
        except (StreamgaugeError, OSError):
            LOG.warning("the failure of a table could not be written down")

    def _note(self, table: Table, error: Exception | None) -> None:
        known = reading_of(self.home, table.name)
        parts = ("", "") if error is None else _parts(error)
        counted = known.get("failures", 0) + (error is not None)
        told = {"failures": counted, "failure": parts[0], "detail": parts[1]}
        note_reading(self.home, table.name, told)


def _parts(error: Exception) -> tuple[str, str]:
    if isinstance(error, StreamgaugeError):
        return error.what, error.detail
    return type(error).__name__, str(error)


def _said(schema: Schema) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in schema.columns)
