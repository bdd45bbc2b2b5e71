"""A streaming query that is begun again where Python workers did not start."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.engine.spark.tries import Tries
from streamgauge.engine.spark.wording import transient
from streamgauge.kernel.errors import StreamgaugeError

# A worker is given ten seconds to start, which no setting changes.
PAUSES = (0.0, 2.0, 5.0, 10.0, 20.0, 40.0)
FAILURES = (PySparkException, Py4JError)

_log = logging.getLogger("streamgauge")


class Trying:
    """Begins a query, and again with growing pauses when workers did not start.

    Parameters
    ----------
    what
        What is begun, for the log.
    begin
        Begins it, from where it has come to.
    place
        How far it has come; with progress, failures are counted from 1 again.
    tries
        Counts failures and says how long to wait.
    """

    def __init__(
        self,
        what: str,
        begin: Callable[[], StreamingQuery],
        place: Callable[[], object],
        tries: Tries | None = None,
    ) -> None:
        self.query: StreamingQuery | None = None
        self._what, self._begin, self._place = what, begin, place
        self._tries = tries or Tries(pauses=PAUSES)
        self._halt = threading.Event()
        self._ended = threading.Event()
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; raise what is no failure of workers to start, or is one too often."""
        self._halt.clear()
        self._ended.clear()
        self._error = None
        self._tries.begin(self._place())
        self._begun()
        name = f"streamgauge-watch-{self._what}"
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether the query runs or is about to be begun again."""
        return self._thread is not None and not self._ended.is_set()

    def stop(self) -> None:
        """End it, and begin it no more."""
        self._halt.set()
        if self.query is not None:
            self.query.stop()
        if self._thread is not None:
            self._thread.join()

    def failure(self) -> Exception | None:
        """What ended the query for good."""
        return None if self.active else self._error

    def wait(self) -> None:
        """Until it has ended for good."""
        self._ended.wait()

    def _begun(self) -> None:
        while True:
            try:
                self.query = self._begin()
                if self._halt.is_set():
                    self.query.stop()
                return
            except FAILURES as error:
                if not self._again(error):
                    raise

    def _again(self, error: Exception) -> bool:
        """Whether to begin again after a failure, once the pause before that is over."""
        said = transient(str(error))
        count = self._tries.failed(self._place())
        if said is None or self._tries.enough or self._halt.is_set():
            return False
        _log.warning(
            "%s begins again in %g s, after failure %d of at most %d: %s",
            self._what, self._tries.pause, count, self._tries.most - 1, said,
        )  # fmt: skip
        return not self._halt.wait(self._tries.pause)

    def _watch(self) -> None:
        try:
            while not self._halt.is_set():
                assert self.query is not None
                try:
                    self.query.awaitTermination()
                    return
                except FAILURES as error:
                    if not self._again(error):
                        raise
                self._tries.begin(self._place())
                self._begun()
        except (*FAILURES, StreamgaugeError) as error:
            self._error = None if self._halt.is_set() else error
        finally:
            self._ended.set()
