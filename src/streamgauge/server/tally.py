"""Tally: how much came by each stream since the home was made."""

from __future__ import annotations

import threading
from collections import Counter

from streamgauge.log.dead_letters import count_letters
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import commits


class Tally:
    """Rows, late rows and dead letters by stream, since the home was made.

    What was counted stays counted: pages and files of dead letters never change.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.rows: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self.late_in_all = 0
        self.reached: dict[str, int] = {}
        # Streams that others do not wait for, and when each last sent something.
        self.idle: dict[str, int] = {}
        # How far the rows that came last lay behind those before them, by stream.
        self.behind: dict[str, int] = {}
        self._epoch = 0
        self._buried: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def read(self) -> None:
        """Count what came since the last time."""
        with self._lock:
            journal = Journal(self.home)
            for record in commits(self.home, after=self._epoch):
                newest: dict[str, int] = {}
                for number in range(record["start"] + 1, record["epoch"] + 1):
                    page = journal.page(number)
                    for segment in page.segments:
                        self.rows[segment.stream] += segment.rows
                        behind = max(segment.peak - segment.low, newest.get(segment.stream, 0))
                        newest[segment.stream] = behind
                    self.reached, self.idle = page.peaks, page.idle
                self.behind |= newest
                self.late.update(record.get("late_by", {}))
                self.late_in_all += record["late"]
                self._epoch = record["epoch"]

    def dead(self, stream: str) -> int:
        """Dead letters of a stream."""
        with self._lock:
            known = self._buried.setdefault(stream, {})
            for path in self.home.dead(stream).glob("*.parquet"):
                if path.name not in known and path.name[0] != ".":
                    known[path.name] = count_letters(path)
            return sum(known.values())
