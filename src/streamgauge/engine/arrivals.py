"""Arrivals: whether all that was there at a moment is answered."""

from __future__ import annotations

from collections.abc import Iterable

from streamgauge.engine.catalog import newest_snapshot
from streamgauge.engine.landed_files import source_files
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.streams.stream import Stream


class Arrivals:
    """The files of streams as they are now, and which of them pages have not taken yet.

    Parameters
    ----------
    home
        The home.
    streams
        Its streams.
    """

    def __init__(self, home: Home, streams: Iterable[Stream]) -> None:
        self.home = home
        # Pages before it may be cleared away; what they took is noted in it.
        known = newest_snapshot(home, home.committed())
        self._seen = known["registry"]["epoch"]
        self._left = {stream.name: source_files(home, stream) for stream in streams}
        for name, origins in known["taken"].items():
            self._left.get(name, set()).difference_update(origins)

    def answered(self) -> int | None:
        """The committed epoch when nothing is left, neither files nor pages nor records."""
        journal, committed = Journal(self.home), self.home.committed()
        while self._seen < committed:
            self._seen += 1
            for stream, origins in journal.page(self._seen).taken.items():
                self._left.get(stream, set()).difference_update(origins)
        waits = any(self.home.control.glob("*.json"))
        done = committed == journal.last() and not any(self._left.values()) and not waits
        return committed if done else None
