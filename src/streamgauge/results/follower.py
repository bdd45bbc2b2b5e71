"""Follower: goes through committed epochs in their order, each once, whatever dies in between.

What a follower has made of the epochs so far is one file, written whole with the number of the
last of them. After a crash it goes on from there, so whatever it does at an epoch must come out
the same a second time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import EngineFailure, StateTooOld, StreamgaugeError
from streamgauge.kernel.files import read_json, reading, write_json
from streamgauge.log import lock
from streamgauge.log.home import Home
from streamgauge.results.change_log import epochs_after

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2
STATE = "state.json"


@contextmanager
def readable(kept: Path) -> Iterator[None]:
    """Say what can be done where what a follower has saved cannot be read."""
    what = f"what {kept.parent.name} of this home has saved"
    try:
        with reading(kept, what):
            yield
    except StateTooOld as error:
        raise StateTooOld(
            f"{what} cannot be read",
            error.detail,
            "put the file back from a copy, or move it away: then it begins anew",
        ) from error


class Follower:
    """Reads a home epoch by epoch in a thread of its own; subclasses say what they do with one.

    Parameters
    ----------
    home
        The home.
    name
        Its directory in the home.
    """

    def __init__(self, home: Home, name: str) -> None:
        self.home = home
        self.folder: Path = home.root / name
        self.place = 0
        self._held = ExitStack()
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what was saved."""
        raise NotImplementedError

    def take(self, epoch: int) -> None:
        """Take in one committed epoch that has answers."""
        raise NotImplementedError

    def rest(self) -> None:
        """Do what is to be done when no epoch waits, such as trying a delivery again."""

    def stumbled(self, error: Exception) -> float:
        """Take note of what went wrong; return the seconds until it is tried again."""
        # An epoch that cannot be read now is tried again; it is not passed over.
        LOG.warning("%s waits at epoch %s: %s", self.folder.name, self.place, error)
        return 1.0

    def saved(self) -> dict[str, Any]:
        """What is to be saved now."""
        raise NotImplementedError

    def step(self) -> bool:
        """Take in one epoch if one waits; whether one did."""
        fresh = epochs_after(self.home, self.place)
        if fresh:
            self.take(fresh[0])
            self.place = fresh[0]
            self.save()
        return bool(fresh)

    def save(self) -> None:
        """Write down how far it has come and what it made of it."""
        write_json(self.folder / STATE, {"epoch": self.place, "state": self.saved()})

    def open(self) -> None:
        """Be the one follower of this name on the home, and go on where the last one was."""
        try:
            self._held.enter_context(lock.holding(self.folder))
        except EngineFailure as error:
            raise EngineFailure(
                f"another process has {self.folder.name} of this home in hand",
                error.detail,
                "stop that one first, or leave it to it",
            ) from None
        kept = self.folder / STATE
        if kept.exists():
            try:
                with readable(kept):
                    known = read_json(kept)
                    self.place = known["epoch"]
                    self.restore(known["state"])
            except StateTooOld:
                self._held.close()
                raise
        else:
            # What was answered before anyone followed is over.
            self.place = self.home.committed()

    def close(self) -> None:
        """Let another one follow."""
        self._held.close()

    def start(self) -> None:
        """Follow in a thread."""
        self.open()
        name = f"streamgauge-{self.folder.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop following; what was taken in is saved."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
        self.close()

    def _run(self) -> None:
        while not self._halt.is_set():
            try:
                if not self.step():
                    self.rest()
                    self._halt.wait(POLL_SECONDS)
            except (OSError, StreamgaugeError, ValueError, LookupError, ArithmeticError) as error:
                self._halt.wait(self.stumbled(error))

    def __enter__(self) -> Follower:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()
