"""Feed: what writes the files of one stream while the gauge runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pyarrow as pa

from streamgauge.kernel.errors import EngineFailure, StreamgaugeError
from streamgauge.streams.stream import Stream


class Feed:
    """Feeds one stream from `start` to `stop`.

    Parameters
    ----------
    stream
        Its source says what is read.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        # What ended it; what keeps it from its source now; whether there is no more to come.
        self.failure: StreamgaugeError | None = None
        self.trouble: str | None = None
        self.ended = False

    def start(self) -> None:
        """Begin."""
        raise NotImplementedError

    def stop(self) -> None:
        """End after what is in work; what was not put into place is read again next time."""
        raise NotImplementedError

    def goal(self) -> dict[int, int]:
        """What its source holds now, to be landed before a drain is done; empty if unknown."""
        return {}

    def reached(self, goal: dict[int, int]) -> bool:
        """Whether all of that was landed."""
        return not goal

    def look(self) -> None:
        """Bring `failure` and `trouble` up to date, where others know of them."""

    def state(self) -> tuple[str, str]:
        """How it goes, in a word, and why."""
        if self.failure is not None:
            return "failed", f"{self.failure.what}: {self.failure.detail}"
        if self.trouble is not None:
            return "waiting", self.trouble
        return ("ended" if self.ended else "reading"), ""


class ThreadFeed(Feed):
    """A feed that runs in a thread of its own."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.halt = threading.Event()
        name = f"streamgauge-feed-{stream.name}"
        self._thread = threading.Thread(target=self.run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after what is in work; what was not put into place is read again next time."""
        self.halt.set()
        self.interrupt()
        self._thread.join()

    def run(self) -> None:
        """Feed until told to halt."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Hurry what does not look whether it should halt."""


class WriterFeed(ThreadFeed):
    """A feed that some writer of files writes.

    Parameters
    ----------
    stream
        The stream that is fed.
    write
        Writes until the event that it is given is set, or until nothing is left.
    """

    def __init__(self, stream: Stream, write: Callable[[threading.Event], None]) -> None:
        super().__init__(stream)
        self._write = write

    def run(self) -> None:
        """Write until told to halt, or until nothing is left."""
        try:
            self._write(self.halt)
            self.ended = not self.halt.is_set()
        except StreamgaugeError as error:
            self.failure = error
        except (OSError, pa.ArrowException) as error:
            self.failure = EngineFailure(
                f"the rows of stream {self.stream.name!r} cannot be written",
                str(error),
                "mend the cause and start again: it goes on where it stopped",
            )
