"""What lands the messages of a stream while the gauge runs, in a thread of this process."""

from __future__ import annotations

import pyarrow as pa

from streamgauge.engine.message_landing import MessageFeed
from streamgauge.engine.subscriber import Subscriber
from streamgauge.engine.subscription import Subscription
from streamgauge.kernel.errors import EngineFailure, StreamgaugeError
from streamgauge.log.messages import Messages

MAX_ROWS = 200_000
PAUSE_SECONDS = 0.1


class MqttFeed(MessageFeed):
    """Lands one stream without Spark.

    Parameters
    ----------
    home
        Where batches go.
    stream
        Its source names broker and topic.
    """

    def run(self) -> None:
        """Land what the listener hears, until told to halt."""
        try:
            asked = Subscription.of(self.landing.begin(MAX_ROWS))
            with Subscriber(asked) as subscriber:
                while not self.halt.is_set():
                    subscriber.check()
                    if not self._land(subscriber.messages):
                        self.halt.wait(PAUSE_SECONDS)
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
