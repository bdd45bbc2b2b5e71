"""Beside: what a list of queries shows beside answers: work and messages saved, rows held.

Reading it takes long where there is much of it, so one thread reads, at most a share of the time,
and whoever asks is given what was read last.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.audit import report
from streamgauge.audit.auditor import FOLDER
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import has_report
from streamgauge.plan.view import View
from streamgauge.results.change_log import epochs_after
from streamgauge.results.row_blocks import epoch_rows
from streamgauge.server.feed import names_of_rows

T = TypeVar("T")
LOG = logging.getLogger(__name__)
PATIENCE_SECONDS = 0.5
SHARE = 0.1
REST_SECONDS = 2.0
# Since when what was read is old, and how many times as long one waits for newer then.
OLD_SECONDS = 10.0
OLD_TIMES = 5.0
# Views whose rows are counted in one go, and epochs that are looked through for their changes.
MOST_VIEWS = 20
MOST_EPOCHS = 20


@dataclass(frozen=True, slots=True)
class Held:
    """Rows that a view holds, and whether those that came last keep its contract.

    `rows` is None for a stream of rows, which holds none.
    """

    rows: int | None
    met: bool = True
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Beside:
    """What was read last.

    Parameters
    ----------
    saved
        By deferred query: the share of its checks that needed no evaluation.
    suppressed
        By stream with agents: readings that were looked at, and those that were sent.
    silent
        By stream: agents that are not heard.
    held
        By view and version.
    audits
        By query and version that the auditor looked at: now, held, or alarm.
    """

    saved: dict[str, float] = field(default_factory=dict)
    suppressed: dict[str, tuple[int, int]] = field(default_factory=dict)
    silent: dict[str, list[str]] = field(default_factory=dict)
    held: dict[tuple[str, int], Held] = field(default_factory=dict)
    audits: dict[tuple[str, int], str] = field(default_factory=dict)

    def kept_back(self, streams: tuple[str, ...]) -> float | None:
        """Share of the readings of some streams that agents kept to themselves.

        >>> Beside(suppressed={"hosts": (100, 4)}).kept_back(("hosts", "other"))
        0.96
        """
        pairs = [self.suppressed[name] for name in streams if name in self.suppressed]
        read = sum(readings for readings, _ in pairs)
        return 1.0 - sum(sent for _, sent in pairs) / read if read else None


class Patient(Generic[T]):
    """Reads in a thread; whoever asks waits a little, then is given what was read last.

    Where that is old, because nobody asked for a while, one waits longer.

    Parameters
    ----------
    read
        Gives what is wanted; may take long.
    first
        What is given until it was read once.
    patience
        Seconds that one who asks waits.

    Examples
    --------
    >>> Patient(lambda: 12, 0, patience=60.0).now()
    12
    """

    def __init__(self, read: Callable[[], T], first: T, *, patience: float) -> None:
        self.read = read
        self.patience = patience
        self._pool = ThreadPoolExecutor(1, "streamgauge-patient")
        self._reading: Future[tuple[T, float]] | None = None
        self._found = first
        self._since: float | None = None

    def now(self, *, due: bool = True) -> T:
        """What is known; read anew if that is due. For one caller at a time."""
        # What came when nobody asked may be old by now.
        self._collect()
        if self._reading is None and due:
            self._reading = self._pool.submit(self._timed)
        if self._reading is not None:
            old = self._since is not None and time.monotonic() - self._since > OLD_SECONDS
            wait_for([self._reading], self.patience * (OLD_TIMES if old else 1.0))
            self._collect()
        return self._found

    def _collect(self) -> None:
        if self._reading is not None and self._reading.done():
            done, self._reading = self._reading, None
            self._found, self._since = done.result()

    def _timed(self) -> tuple[T, float]:
        return self.read(), time.monotonic()


class Sideline:
    """Reads what stands beside answers, in a thread, when somebody asks.

    Parameters
    ----------
    gauge
        What it is read from.
    registry
        Gives what holds now.
    patience
        Seconds that one who asks waits for what is being read.
    share
        Share of the time that goes into reading.
    rest
        Seconds between two readings at least.
    """

    def __init__(
        self,
        gauge: Gauge,
        registry: Callable[[], Registry],
        *,
        patience: float = PATIENCE_SECONDS,
        share: float = SHARE,
        rest: float = REST_SECONDS,
    ) -> None:
        self.gauge = gauge
        self.registry = registry
        self.share = share
        self.rest = rest
        self.patient = Patient(self._read, Beside(), patience=patience)
        self._again = 0.0
        self._found = Beside()
        self._views = Views(gauge)

    def read(self) -> Beside:
        """What is known; equal to the last when nothing changed. For one caller at a time."""
        return self.patient.now(due=time.monotonic() >= self._again)

    def _read(self) -> Beside:
        begun = time.monotonic()
        registry = self.registry()
        try:
            self._found = Beside(
                _saved(self.gauge, registry),
                *_agents(self.gauge),
                self._views.read(registry),
                _audits(self.gauge, registry),
            )
        except (OSError, StreamgaugeError) as error:
            # Most often two epochs passed while we read, and the state we read from is gone.
            LOG.info("what stands beside answers is as before: %s", error)
        now = time.monotonic()
        self._again = now + max(self.rest, (now - begun) * (1.0 / self.share - 1.0))
        return self._found


class Views:
    """Counts the rows of views, again where some came or went."""

    def __init__(self, gauge: Gauge) -> None:
        self.gauge = gauge
        self._place = 0
        self._known: dict[tuple[str, int], Held] = {}
        self._stale: set[str] = set()

    def read(self, registry: Registry) -> dict[tuple[str, int], Held]:
        """What each view holds; those that were not counted yet are left out."""
        views = {
            name: standing
            for name, standing in registry.queries.items()
            if isinstance(standing.asked, View)
        }
        if not views:
            return {}
        changed = self._changes(views)
        wanted = {(name, standing.version) for name, standing in views.items()}
        self._known = {key: held for key, held in self._known.items() if key in wanted}
        fresh = {name for name, version in wanted if (name, version) not in self._known}
        self._stale = (self._stale | fresh | changed.keys()) & views.keys()
        for name in sorted(self._stale, key=lambda name: (name not in fresh, name))[:MOST_VIEWS]:
            self._stale.discard(name)
            self._count(views[name], changed.get(name))
        return dict(self._known)

    def _changes(self, views: dict[str, Standing]) -> dict[str, pa.Table]:
        """The last rows that came or went, by view, since the last time."""
        home = self.gauge.home
        found: dict[str, int] = {}
        epochs = epochs_after(home, max(self._place, home.cleared()))
        for epoch in epochs[-MOST_EPOCHS:]:
            found |= dict.fromkeys(names_of_rows(home, epoch), epoch)
            self._place = epoch
        return {
            name: epoch_rows(home, epoch, name) for name, epoch in found.items() if name in views
        }

    def _count(self, standing: Standing, changes: pa.Table | None) -> None:
        key = standing.name, standing.version
        before = self._known.get(key, Held(None))
        try:
            rows = None if standing.view.stream_kind else self.gauge.rows(standing.name).num_rows
        except StreamgaugeError:
            # It is altered or gone since the registry was read.
            return
        met, share = before.met, before.share
        if changes is not None and changes.num_rows:
            met = bool(pc.all(changes["contract_met"]).as_py())
            share = float(pc.min(changes["regions_share"]).as_py())
        self._known[key] = Held(rows, met, share)


def _saved(gauge: Gauge, registry: Registry) -> dict[str, float]:
    """Share of checks that needed no evaluation, by deferred query."""
    standing = registry.queries.values()
    if not any(has_report(one, "deferrals") for one in standing):
        return {}
    summed = (
        gauge.deferrals()
        .group_by(["query"])
        .aggregate([("checks", "sum"), ("evaluations", "sum")])
        .to_pylist()
    )
    return {
        row["query"]: 1.0 - row["evaluations_sum"] / row["checks_sum"]
        for row in summed
        if row["checks_sum"]
    }


def _agents(gauge: Gauge) -> tuple[dict[str, tuple[int, int]], dict[str, list[str]]]:
    """By stream: readings and what was sent of them, and agents that are not heard."""
    suppressed: dict[str, tuple[int, int]] = {}
    silent: dict[str, list[str]] = {}
    for row in gauge.agents().to_pylist():
        read, sent = suppressed.get(row["stream"], (0, 0))
        suppressed[row["stream"]] = read + (row["readings"] or 0), sent + (row["updates"] or 0)
        if row["state"] == "interrupted":
            silent.setdefault(row["stream"], []).append(row["agent"])
    return suppressed, silent


def _audits(gauge: Gauge, registry: Registry) -> dict[tuple[str, int], str]:
    """What the auditor says of the queries it looked at, if there is one."""
    if not (gauge.home.root / FOLDER).exists():
        return {}
    found = {}
    for audited in report.read(gauge.home, registry).queries:
        word = "now" if audited.now else "held"
        found[audited.name, audited.version] = "alarm" if audited.alarm else word
    return found
