"""A process that listens until it is killed. Usage: listener.py SUBSCRIPTION-AS-JSON"""

from __future__ import annotations

import json
import sys
import threading

from streamgauge.engine.subscriber import Subscriber
from streamgauge.engine.subscription import Subscription

if __name__ == "__main__":
    with Subscriber(Subscription.of(json.loads(sys.argv[1]))) as subscriber:
        while subscriber.failure is None:
            threading.Event().wait(0.01)
        sys.exit(str(subscriber.failure))
