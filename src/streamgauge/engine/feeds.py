"""Feeds: what writes the files of streams while the gauge runs, for as long as they are declared.

A stream that is declared here is fed at once. What other processes declare and drop is found in
the journal, which the job writes as it takes changes in.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from streamgauge.edge.clock import wall_clock
from streamgauge.engine.feed import Feed, WriterFeed
from streamgauge.engine.following import Following
from streamgauge.engine.spark.checkpoints import Checkpoints
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.loading import load
from streamgauge.log.feeding import Feeding, forget_feeding, note_feeding
from streamgauge.log.home import Home
from streamgauge.sources.source_kind import FeedSite
from streamgauge.sources.table import KINDS
from streamgauge.streams.stream import Stream

LOG = logging.getLogger(__name__)
PAUSE_SECONDS = 0.1
CHANGES = ("stream", "drop stream")


class Feeds:
    """Running feeds by stream name.

    Parameters
    ----------
    home
        Where files go.
    session
        Gives the Spark session, or None on the local engine.
    checkpoint
        Where Spark keeps its notes; in the home when None.
    """

    def __init__(
        self,
        home: Home,
        session: Callable[[], Any],
        checkpoint: str | None = None,
    ) -> None:
        self.home = home
        # Streaming DataFrames by the stream that each becomes.
        self.frames: dict[str, Any] = {}
        self._session = session
        self._checkpoints = Checkpoints(home, checkpoint)
        self._running: dict[str, Feed] = {}
        self._told: dict[str, Feeding] = {}
        self._following = Following(home, "streams", CHANGES)
        # Streams as of the newest page that was acted on.
        self._followed: dict[str, Stream] = {}
        self._lock = threading.RLock()
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, streams: Mapping[str, Stream]) -> None:
        """Feed streams, then what is declared and dropped from now on."""
        forget_feeding(self.home)
        self._told.clear()
        self._halt.clear()
        self._following.begin(streams)
        self._followed = dict(self._following.kept)
        self.start({**self._followed, **streams}.values())
        self._thread = threading.Thread(target=self._run, name="streamgauge-feeds", daemon=True)
        self._thread.start()

    def start(self, streams: Iterable[Stream]) -> None:
        """Feed streams that are not fed yet."""
        for stream in streams:
            self._start(stream)

    def refuse(self, stream: Stream) -> None:
        """Raise where a stream cannot be fed here."""
        refuse_without(stream, self._session(), self.frames.get(stream.name))

    def check(self) -> None:
        """Raise what ended a feed, if something did."""
        for feed in self._all():
            feed.look()
            if feed.failure is not None:
                raise feed.failure

    def goals(self) -> dict[str, dict[int, int]]:
        """What each source holds now, by stream: to be landed before a drain is done."""
        return {feed.stream.name: feed.goal() for feed in self._all()}

    def reached(self, goals: dict[str, dict[int, int]]) -> bool:
        """Whether all of that was landed, but for streams that are fed no longer."""
        return all(feed.reached(goals.get(feed.stream.name, {})) for feed in self._all())

    def stop(self) -> None:
        """Stop all feeds."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with suppress(OSError):
            self._tell()
        for feed in self._all():
            self._stop(feed.stream.name)
            if feed.failure is None:
                forget_feeding(self.home, feed.stream.name)

    def _all(self) -> list[Feed]:
        with self._lock:
            return list(self._running.values())

    def _start(self, stream: Stream) -> None:
        with self._lock:
            running = self._running.get(stream.name)
            if running is not None and running.stream == stream and running.failure is None:
                return
            self.refuse(stream)
            if running is not None:
                # Where the new one begins depends on what the old one has written.
                self._running.pop(stream.name).stop()
            feed = self._feed(stream)
            if feed is not None:
                feed.start()
                self._running[stream.name] = feed

    def _stop(self, name: str) -> None:
        with self._lock:
            feed = self._running.pop(name, None)
            self._told.pop(name, None)
            if feed is not None:
                feed.stop()

    def _feed(self, stream: Stream) -> Feed | None:
        """What feeds a stream of this kind, if something has to."""
        kind = KINDS[stream.source_dict()["kind"]]
        if kind.writer:
            return WriterFeed(stream, load(kind.writer)(stream, self.home))
        if not kind.feed:
            return None
        frame, notes = self.frames.get(stream.name), self._checkpoints.landing(stream.name)
        made: Feed = load(kind.feed)(stream, FeedSite(self.home, self._session(), frame, notes))
        return made

    # What others declare

    def _run(self) -> None:
        while not self._halt.wait(PAUSE_SECONDS):
            try:
                self._follow()
                self._tell()
            except (OSError, StreamgaugeError) as error:
                # What cannot be read or written now can be a moment later.
                LOG.warning("feeds wait: %s", error)
                self._halt.wait(1.0)

    def _follow(self) -> None:
        """Feed what was declared since the last look, and feed no longer what was dropped."""
        while self._following.look() is not None:
            pass
        before, self._followed = self._followed, dict(self._following.kept)
        for name in before.keys() - self._followed.keys():
            self._stop(name)
            forget_feeding(self.home, name)
        for name, stream in self._followed.items():
            if before.get(name) != stream:
                self._follow_one(stream)

    def _follow_one(self, stream: Stream) -> None:
        try:
            self._start(stream)
        except StreamgaugeError as error:
            # The other streams are not held up by one that this job cannot feed.
            LOG.warning("stream %s is not fed: %s", stream.name, error)
            told = Feeding("failed", f"{error.what}: {error.detail}", wall_clock())
            note_feeding(self.home, stream.name, told)

    def _tell(self) -> None:
        """Write down how feeds go, where that has changed."""
        for feed in self._all():
            feed.look()
            name, (state, reason) = feed.stream.name, feed.state()
            known = self._told.get(name)
            since = known.since if known is not None and known.state == state else wall_clock()
            told = Feeding(state, reason, since)
            if told != known:
                note_feeding(self.home, name, told)
                self._told[name] = told


def refuse_without(stream: Stream, session: Any, frame: Any) -> None:
    """Raise where a stream is fed by Spark and there is no session, or no DataFrame to feed it."""
    refuse = KINDS[stream.source_dict()["kind"]].refuse
    if refuse:
        load(refuse)(stream, session, frame)
