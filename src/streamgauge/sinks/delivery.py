"""Delivery: one sink, followed epoch by epoch, each brought to its target once.

The target keeps the place together with what was written there, so it says what is left to do
after a crash. What is saved here is for those who look, and for a target that has forgotten.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.files import damaged, read_json, reading, write_json
from streamgauge.kernel.loading import load
from streamgauge.log.home import Home
from streamgauge.plan.sink import Destination, StandingSink
from streamgauge.results.change_log import epochs_after
from streamgauge.results.follower import STATE, Follower
from streamgauge.sinks.batch import Batch, read_batch
from streamgauge.sinks.report import FOLDER
from streamgauge.targets.table import KINDS
from streamgauge.targets.target_kind import SinkSite

LOG = logging.getLogger(__name__)
ORIGIN = "origin.json"
FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
# Somebody else delivers for this sink: only a new start of the job takes it over.
FOR_GOOD = 1e9
PATIENCE = 15.0


class Writer(Protocol):
    """Brings epochs to one target."""

    shut_out: bool

    def connect(self, place: int) -> int:
        """Find the last epoch that is there; `place` is the last one that was noted here."""

    def write(self, batch: Batch) -> None:
        """Write an epoch and its place together, or raise TargetFailure."""

    def prune(self, versions: Mapping[str, int]) -> None:
        """Remove what is there of other queries, or versions, than these; once all is delivered."""

    def close(self) -> None:
        """Let go of connections."""


class Known(NamedTuple):
    """What is in force at a committed epoch: the sink, and all queries with their versions."""

    standing: StandingSink
    queries: Mapping[str, int]
    epoch: int


def origin_of(home: Home) -> str:
    """What tells the sinks of a home from those of others: made by the first of them."""
    kept, what = home.root / FOLDER / ORIGIN, "what tells the sinks of this data directory apart"
    if not kept.exists():
        if any((home.root / FOLDER).glob(f"*/{STATE}")):
            # Under another name a target would take all answers a second time.
            raise damaged(kept, what, "it is absent, and sinks have delivered")
        write_json(kept, {"origin": uuid.uuid4().hex[:16]})
    with reading(kept, what):
        return str(read_json(kept, what)["origin"])


class Delivery(Follower):
    """Delivers the answers of one sink.

    Parameters
    ----------
    home
        The home; one delivery of a sink works on it at a time.
    known
        The sink, as of a committed epoch: no later one is delivered until `know` says so.
    first_wait
        Seconds until a delivery that failed is tried again; twice as long each further time.
    """

    def __init__(self, home: Home, known: Known, *, first_wait: float = FIRST_WAIT) -> None:
        super().__init__(home, f"{FOLDER}/{known.standing.sink.name}")
        self.known = known
        self.first_wait = first_wait
        self.origin = ""
        self.delivered = 0
        self.tries = 0
        self.failure: dict[str, str] | None = None
        self._born: int | None = None
        self._waiting: deque[int] = deque()
        self._looked = -1
        self._pruned: Known | None = None
        self._writer: Writer | None = None
        self._to: Destination | None = None

    @property
    def busy(self) -> bool:
        """Whether there is something to deliver, and nothing that hinders it."""
        return not self.tries and (bool(self._waiting) or self._looked < self.known.epoch)

    def open(self) -> None:
        """Go on where the last delivery of this sink was, or begin with its birth."""
        super().open()
        self.origin = origin_of(self.home)
        standing = self.known.standing
        if self._born != standing.born:
            self.place, self.delivered = standing.first, 0
        self.save()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what was saved."""
        self._born, self.delivered = state["born"], state["delivered"]

    def saved(self) -> dict[str, Any]:
        """How far it is, and what hinders it."""
        return {
            "born": self.known.standing.born,
            "delivered": self.delivered,
            "tries": self.tries,
            "failure": self.failure,
        }

    def step(self) -> bool:
        """Connect, or deliver one epoch if one waits; whether something was done."""
        known = self.known
        if not self._waiting and self._looked < known.epoch:
            after = epochs_after(self.home, self.place)
            self._waiting.extend(epoch for epoch in after if epoch <= known.epoch)
            self._looked = known.epoch
        # Where nothing waits it connects too: what is wrong with a target is told at once.
        sink = known.standing.at(self._waiting[0]) if self._waiting else known.standing.sink
        if self._writer is None or self._to != sink.to:
            self._connect(sink.to)
            return True
        if not self._waiting:
            return False
        self._deliver(self._writer, read_batch(self.home, self._waiting[0], sink))
        return True

    def _connect(self, to: Destination) -> None:
        self._leave()
        writer = self._writer_of(to)
        place = writer.connect(self.place)
        self._writer, self._to = writer, to
        if place != self.place:
            self._waiting.clear()
            self.place, self._looked = place, -1
        self._done()

    def _writer_of(self, to: Destination) -> Writer:
        standing = self.known.standing
        site = SinkSite(self.origin, standing.sink.name, standing.born)
        made: Writer = load(KINDS[to.kind].writer)(to, site)
        return made

    def _deliver(self, writer: Writer, batch: Batch) -> None:
        writer.write(batch)
        self.delivered += batch.size
        self.place = batch.epoch
        self._waiting.popleft()
        self._done()

    def _done(self) -> None:
        self.tries, self.failure = 0, None
        self.save()

    def rest(self) -> None:
        """Take what is not asked any more out of a table, once all before is delivered."""
        known = self.known
        if self._writer is None or self._looked < known.epoch:
            return
        before = self._pruned
        if before is None or (before.standing, before.queries) != (known.standing, known.queries):
            named = known.standing.sink.queries or known.queries
            self._writer.prune({n: known.queries[n] for n in named if n in known.queries})
        self._pruned = known

    def stumbled(self, error: Exception) -> float:
        """Note what hinders it, for all to see; wait longer each time."""
        self.tries += 1
        told = error.as_dict() if isinstance(error, StreamgaugeError) else {"message": str(error)}
        self.failure = told
        shut_out = self._writer is not None and self._writer.shut_out
        self._leave()
        LOG.warning("sink %s waits after epoch %s: %s", self.folder.name, self.place, error)
        with suppress(OSError, StreamgaugeError):
            self.save()
        if shut_out:
            return FOR_GOOD
        return float(min(LONGEST_WAIT, self.first_wait * 2.0 ** min(self.tries - 1, 20)))

    def stop(self) -> None:
        """Stop delivering; what waits is delivered when the job runs again."""
        self._halt.set()
        if self._thread is not None:
            # One that hangs at its target is left behind: the next one shuts it out.
            self._thread.join(PATIENCE)
        if self._thread is None or not self._thread.is_alive():
            self._leave()
        self.close()

    def _leave(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
