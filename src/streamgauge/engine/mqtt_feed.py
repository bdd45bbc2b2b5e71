"""What lands the messages of a stream while the gauge runs, in a thread of this process."""

from __future__ import annotations

import logging
import threading

import pyarrow as pa

from streamgauge.engine.message_landing import MessageLanding
from streamgauge.engine.subscriber import Subscriber
from streamgauge.engine.subscription import Subscription
from streamgauge.kernel.errors import EngineFailure, StreamgaugeError
from streamgauge.log.home import Home
from streamgauge.log.messages import Messages
from streamgauge.streams.stream import Stream

LOG = logging.getLogger(__name__)
MAX_ROWS = 200_000
PAUSE_SECONDS = 0.1


class MqttFeed:
    """Lands one stream without Spark.

    Parameters
    ----------
    home
        Where batches go.
    stream
        Its source names broker and topic.
    """

    def __init__(self, home: Home, stream: Stream) -> None:
        self.stream = stream
        self.landing = MessageLanding(home, stream)
        self.goal, self.reached = self.landing.goal, self.landing.reached
        self.failure: StreamgaugeError | None = None
        self._halt = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"streamgauge-mqtt-{stream.name}", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the batch in work; what was not put into place is landed next time."""
        self._halt.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            asked = Subscription.of(self.landing.begin(MAX_ROWS))
            with Subscriber(asked) as subscriber:
                while not self._halt.is_set():
                    subscriber.check()
                    if not self._land(subscriber.messages):
                        self._halt.wait(PAUSE_SECONDS)
        except StreamgaugeError as error:
            self.failure = error
        except (OSError, pa.ArrowException) as error:
            self.failure = EngineFailure(
                f"messages of stream {self.stream.name!r} cannot be landed",
                str(error),
                "mend the cause and start again: nothing that was acknowledged is lost",
            )

    def _land(self, messages: Messages) -> bool:
        """Put what has come since the last batch into its place; False when nothing has."""
        start = max(self.landing.next, messages.first)
        stop = min(messages.next, start + MAX_ROWS)
        if start >= stop:
            return False
        tables = [piece.numbered() for piece in messages.pieces(start, stop)]
        batches = [batch for table in tables for batch in table]
        receipts = [row for made in self.landing.task(batches) for row in made.to_pylist()]
        self.landing.put(self.landing.number, receipts)
        messages.let_go(stop)
        return True
