"""Local engine: the same pages and the same shards in one thread, with no JVM.

It is the test double of the Spark engine, the runner of the examples, and single-steps in a
debugger: `step` lands one page, runs every shard and commits.
"""

from __future__ import annotations

import threading
import time

from streamgauge.engine import shard
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.engine.scan import scan
from streamgauge.engine.settling import settled
from streamgauge.engine.slices import slices
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.time import Duration
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, home_for

PAUSE_SECONDS = 0.02


class LocalEngine:
    """Runs a home in this process.

    Parameters
    ----------
    home
        Where the gauge lives.
    max_rows
        Rows a stream may put into one epoch.
    keep_answers
        Microseconds that answers and pages are kept for; for good when None.
    exchange
        Whether rows are read once and sent to their shards, as on Spark; never when None, since
        one thread gains nothing by it.
    """

    def __init__(
        self,
        home: Home,
        *,
        max_rows: int,
        keep_answers: Duration | None = None,
        exchange: bool | None = None,
    ) -> None:
        self.home = home
        self.exchange = bool(exchange)
        self.max_rows = max_rows
        self.keep_answers = keep_answers
        self.lander: Lander | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: str | None = None

    def step(self) -> bool:
        """Turn what has arrived into one committed epoch; False when nothing has."""
        begun = time.perf_counter()
        start = self.home.committed()
        if start == Journal(self.home).last():
            self.lander = self.lander or Lander(
                self.home,
                max_rows=self.max_rows,
                keep_answers=self.keep_answers,
                exchange=self.exchange,
            )
            if self.lander.land() == start:
                return False
        page = Journal(self.home).page(start + 1)
        sent = self._sent(page) if self.exchange else []
        receipts = settled(self.home, start + 1, lambda: self._attempt(page, sent))
        commit(self.home, start, receipts, time.perf_counter() - begun)
        return True

    def _attempt(self, page: Page, sent: list[list[bytes]]) -> list[shard.Receipt]:
        start = page.number - 1
        return [
            shard.run(self.home, k, start, start + 1, [s[k] for s in sent] if sent else None)
            for k in range(home_for(self.home, page).shards)
        ]

    def _sent(self, page: Page) -> list[list[bytes]]:
        """The packets of each slice of a page, in the order of the shards."""
        return [list(scan(self.home, page, part)) for part in slices(page)]

    @property
    def running(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Step in a thread of its own until stopped."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._loop, name="streamgauge-local", daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        try:
            while not self._stop.is_set():
                if not self.step():
                    self._stop.wait(PAUSE_SECONDS)
        except (StreamgaugeError, OSError) as error:
            self._failure = str(error)

    def stop(self) -> None:
        """End the thread after the epoch in work."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        shard.forget(self.home)
        self.lander = None

    def failure(self) -> str | None:
        """What ended the thread, if something did."""
        return self._failure
