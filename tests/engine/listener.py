"""A process that listens until it is killed."""

from __future__ import annotations

import json
import sys
import threading

from streamgauge.engine.subscriber import Subscriber
from streamgauge.engine.subscription import Subscription


def main(told: str) -> None:
    """Listen as a subscription says, given as JSON."""
    with Subscriber(Subscription.of(json.loads(told))) as subscriber:
        while subscriber.failure is None:
            threading.Event().wait(0.01)
        sys.exit(str(subscriber.failure))
