"""Feeds: what writes a stream's files while the gauge runs: plant, replay, logs, Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from streamgauge.edge.mqtt_client import check_installed
from streamgauge.engine.mqtt_feed import MqttFeed
from streamgauge.engine.spark import landing
from streamgauge.engine.spark.checkpoints import Checkpoints
from streamgauge.engine.spark.jars import check_session
from streamgauge.engine.spark.kafka import KafkaFeed
from streamgauge.engine.spark.mqtt_feed import SparkMqttFeed
from streamgauge.kernel.errors import SourceFailure
from streamgauge.log import batches
from streamgauge.log.home import Home
from streamgauge.log.replay import ReplayWriter
from streamgauge.sources.plant import Plant, PlantWriter
from streamgauge.streams.stream import Stream


class Feeds:
    """Running feeds by stream name."""

    def __init__(self, home: Home, checkpoint: str | None = None) -> None:
        self.home = home
        self.checkpoints = Checkpoints(home, checkpoint)
        self._halt = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._queries: dict[str, Any] = {}
        self._logs: dict[str, KafkaFeed | MqttFeed | SparkMqttFeed] = {}

    def start(self, stream: Stream, session: Any, frame: Any) -> None:
        """Start the feed of a stream, if it needs one and it does not run."""
        kind = stream.source_dict()["kind"]
        if kind == "plant":
            self._start_plant(stream)
        elif kind == "replay":
            self._start_replay(stream)
        elif kind in batches.KINDS:
            self._start_log(stream, session)
        elif kind in ("rate", "dataframe"):
            self._start_landing(stream, session, frame)

    def _start_plant(self, stream: Stream) -> None:
        if stream.name in self._threads:
            return
        self._halt.clear()
        source = stream.source_dict()
        writer = PlantWriter(
            Plant(n_sensors=source["n_sensors"], seed=source["seed"]),
            str(self.home.incoming(stream.name)),
        )
        self._run(stream, "plant", writer.run, source["speed"], self._halt)

    def _start_replay(self, stream: Stream) -> None:
        if stream.name in self._threads:
            return
        self._halt.clear()
        writer = ReplayWriter(stream, self.home, time.time_ns() // 1000)
        self._run(stream, "replay", writer.run, self._halt)

    def _run(self, stream: Stream, kind: str, target: Callable[..., None], *args: Any) -> None:
        name = f"streamgauge-{kind}-{stream.name}"
        thread = threading.Thread(target=target, args=args, name=name, daemon=True)
        self._threads[stream.name] = thread
        thread.start()

    def _start_landing(self, stream: Stream, session: Any, frame: Any) -> None:
        query = self._queries.get(stream.name)
        if query is not None and query.isActive:
            return
        source = stream.source_dict()
        refuse_without(stream, session, frame)
        if source["kind"] == "rate":
            frame = landing.rate(session, source["rows_per_second"])
        self._queries[stream.name] = landing.land(
            frame, self.home, stream.name, self.checkpoints.landing(stream.name)
        )

    def _start_log(self, stream: Stream, session: Any) -> None:
        running = self._logs.get(stream.name)
        if running is not None and running.stream == stream:
            return
        refuse_without(stream, session, None)
        if running is not None:
            running.stop()
        feed = self._logs[stream.name] = _log_feed(self.home, stream, session)
        feed.start()

    def check(self) -> None:
        """Raise what ended a feed, if something did."""
        for feed in self._logs.values():
            if feed.failure is not None:
                raise feed.failure

    def goals(self) -> dict[str, dict[int, int]]:
        """What each topic holds now, by stream: to be landed before a drain is done."""
        return {name: feed.goal() for name, feed in self._logs.items()}

    def reached(self, goals: dict[str, dict[int, int]]) -> bool:
        """Whether all of that was landed."""
        return all(self._logs[name].reached(goal) for name, goal in goals.items())

    def stop(self) -> None:
        """Stop all feeds."""
        for feed in self._logs.values():
            feed.stop()
        self._logs.clear()
        self._halt.set()
        for thread in self._threads.values():
            thread.join()
        self._threads.clear()
        for query in self._queries.values():
            query.stop()
        self._queries.clear()


def _log_feed(home: Home, stream: Stream, session: Any) -> KafkaFeed | MqttFeed | SparkMqttFeed:
    if stream.source_dict()["kind"] == "kafka":
        return KafkaFeed(session, home, stream)
    return MqttFeed(home, stream) if session is None else SparkMqttFeed(session, home, stream)


def refuse_without(stream: Stream, session: Any, frame: Any) -> None:
    """Raise where a stream is fed by Spark and there is no session, or no DataFrame to feed it."""
    kind = stream.source_dict()["kind"]
    if kind == "mqtt":
        check_installed()
    if kind == "kafka":
        if session is None:
            raise SourceFailure(
                f"stream {stream.name!r} is read from Kafka by Spark",
                "this gauge runs on the local engine",
                "run it on the Spark engine: sg.connect(..., engine='spark')",
            )
        check_session(session, "kafka")
    needs_frame = kind == "dataframe" and frame is None
    if kind in ("rate", "dataframe") and (session is None or needs_frame):
        raise SourceFailure(
            f"stream {stream.name!r} needs Spark and its DataFrame",
            f"its source is {kind}",
            "declare it again with source=sg.dataframe(df) before start(), on the Spark engine",
        )
