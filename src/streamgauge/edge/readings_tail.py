"""Readings from a file that grows: lines as they are appended, over rotation and truncation."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import BinaryIO

from streamgauge.edge.link import Credentials
from streamgauge.edge.readings import Reading
from streamgauge.edge.readings_lines import PIECE, Lines
from streamgauge.kernel.errors import BindError

# Seconds between two looks at a file that did not grow.
LOOK = 0.1
# Bytes at the end of what was read that tell whether they are still there.
LAST = 256


class Tail:
    """Lines that are appended to a file.

    A file that was replaced is read to its end before the new one is begun; one that became
    shorter is begun anew. A file that is not there yet is waited for.

    Parameters
    ----------
    path
        The file.
    form
        Format of the lines.
    from_start
        Whether lines that are there already count.
    """

    period: float | None = None
    ends = False
    blind = False
    outages = 0

    def __init__(self, path: Path, form: str = "text", *, from_start: bool = False) -> None:
        self._path = path
        self._form = form
        self._lines = Lines(form)
        self._bad = 0
        self._file: BinaryIO | None = None
        self._place = 0
        self._last = b""
        file = self._open()
        if file is not None and not from_start:
            self._place = file.seek(0, 2)
            file.seek(max(0, self._place - LAST))
            self._last = file.read()

    @property
    def bad(self) -> int:
        """Lines that were no readings."""
        return self._bad + self._lines.bad

    def read(self, wait: float) -> list[Reading] | None:
        """Readings of the next piece."""
        found = self._piece()
        if found is not None or self._moved():
            return found or []
        threading.Event().wait(min(wait, LOOK))
        return []

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO | None:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            return None
        self._place = 0
        self._last = b""
        self._bad += self._lines.bad
        self._lines = Lines(self._form)
        return self._file

    def _piece(self) -> list[Reading] | None:
        """Readings of what was appended; None when there is nothing."""
        if self._file is None:
            return None
        piece = self._file.read(PIECE)
        self._place += len(piece)
        self._last = (self._last + piece)[-LAST:]
        return self._lines.take(piece) if piece else None

    def _moved(self) -> bool:
        """Look whether another file has this name now, or this one was cut; then begin it."""
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False
        if self._file is not None:
            own = os.fstat(self._file.fileno())
            same = (own.st_ino, own.st_dev) == (now.st_ino, now.st_dev)
            idle = own.st_size == self._place and self._as_it_was()
            # One that was replaced may have grown since it was last read.
            if own.st_size > self._place or (same and idle):
                return False
            self._file.close()
            self._file = None
        return self._open() is not None

    def _as_it_was(self) -> bool:
        """Whether it ends as it did; not, when it was cut and written to the same length."""
        assert self._file is not None
        return os.pread(self._file.fileno(), LAST, self._place - len(self._last)) == self._last


def opened(rest: str, options: dict[str, str], credentials: Credentials) -> Tail:
    """A file: `tail:FILE`, `tail:FILE?format=csv&from=start`."""
    if not rest:
        raise BindError("no file to read", "tail:", "write tail:FILE")
    return Tail(
        Path(rest),
        options.pop("format", "text"),
        from_start=options.pop("from", "end") == "start",
    )
