"""Uptake: which of the files that were written for a stream the job has taken."""

from __future__ import annotations

from pathlib import Path

from streamgauge.engine.catalog import newest_snapshot
from streamgauge.kernel.files import number_name
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal


class Uptake:
    """Follows the journal of a home for one stream.

    Parameters
    ----------
    home
        Whose journal says what is taken.
    stream
        Name of the stream.
    """

    def __init__(self, home: Home, stream: str) -> None:
        self._home = home
        self._stream = stream
        self._journal = Journal(home)
        self._seen = 0
        self._taken: set[str] = set()
        self._waiting: dict[str, int] = {}
        # Size of the files that wait; a plain number, so that any thread may look at it.
        self.bytes = 0

    def begin(self) -> None:
        """Find out what is taken, and what lies there."""
        snapshot = newest_snapshot(self._home, self._journal.last())
        self._seen = snapshot["registry"]["epoch"]
        self._note(snapshot["taken"].get(self._stream, []))
        self.look()
        for path in sorted(self._home.incoming(self._stream).glob("*.parquet")):
            if path.name[0] != "." and not self.has(path):
                self.expect(path)

    def look(self) -> None:
        """Read what the journal has new."""
        while (self._home.journal / number_name(self._seen + 1, ".json")).exists():
            self._seen += 1
            self._note(self._journal.page(self._seen).taken.get(self._stream, []))

    def _note(self, taken: list[str]) -> None:
        for path in taken:
            self.bytes -= self._waiting.pop(path, 0)
        self._taken.update(taken)

    def has(self, path: Path) -> bool:
        """Whether the job has taken a file, so that it may be gone by now."""
        return str(path) in self._taken

    def settle(self) -> None:
        """Forget what is taken: files from now on have names that no file had before."""
        self._taken.clear()

    def expect(self, path: Path) -> None:
        """Wait for a file that lies there."""
        size = path.stat().st_size
        self.bytes += size - self._waiting.get(str(path), 0)
        self._waiting[str(path)] = size

    @property
    def idle(self) -> bool:
        """Whether all files are taken."""
        return not self._waiting
