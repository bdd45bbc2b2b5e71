"""A landing that kills itself: before or after a batch is put into its place, at the second one."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

from streamgauge.engine.spark import kafka
from streamgauge.engine.spark.session import open_session
from streamgauge.log.batches import Batch, put_batch
from streamgauge.log.home import Home
from streamgauge.streams.stream import Stream
from tests.java import driver_options


def main(home: str, declared: str, moment: str) -> None:
    """Land until the moment comes."""
    put: list[int] = []

    def deadly(directory: Any, batch: Batch, parts: Any) -> None:
        put.append(batch.number)
        if len(put) == 2 and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        put_batch(directory, batch, parts)
        if len(put) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    kafka.put_batch = deadly
    session = open_session("local[2]", {"spark.driver.memory": "1g", **driver_options()})
    stream = Stream.from_dict(json.loads(declared))
    kafka.KafkaFeed(session, Home.open(home, shards=1), stream).start()
    threading.Event().wait(500)


if __name__ == "__main__":
    main(*sys.argv[1:])
