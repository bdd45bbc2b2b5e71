"""The deliveries of a home that run beside the job, one for each sink in force."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.plan.registry import Registry
from streamgauge.results.follower import STATE
from streamgauge.sinks.report import FOLDER

if TYPE_CHECKING:
    from streamgauge.sinks.delivery import Delivery

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.05
# How long the end of a job waits for deliveries that nothing hinders.
FAREWELL_SECONDS = 10.0
AGAIN_SECONDS = 5.0


class Sinks:
    """Running deliveries by the name of their sink.

    Parameters
    ----------
    home
        The home whose job runs here.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._running: dict[str, Delivery] = {}
        self._again: dict[str, float] = {}
        # A registry is large, so there is none until a sink is declared.
        self._registry: Registry | None = None
        self._declared = False
        self._scanned = Journal(home).last()
        self._epoch = 0
        self._read_at = self._cleared_at = -1
        self._queries: Mapping[str, int] = {}
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, *, declared: bool) -> None:
        """Deliver in threads of its own; `declared` says that a sink was there when this was."""
        self._halt.clear()
        self._epoch = self.home.committed()
        # Of a sink that is gone there may be something to clear away.
        self._declared |= declared or (self.home.root / FOLDER).exists()
        self._thread = threading.Thread(target=self._run, name="streamgauge-sinks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop them all, after what is committed is delivered where nothing hinders it."""
        if self._thread is None:
            return
        self._halt.set()
        self._thread.join()
        self._thread = None
        self._look_on()
        deadline = time.monotonic() + FAREWELL_SECONDS
        while any(d.busy for d in self._running.values()) and time.monotonic() < deadline:
            threading.Event().wait(POLL_SECONDS)
        for name in list(self._running):
            self._running.pop(name).stop()
        self._registry, self._read_at, self._cleared_at = None, -1, -1

    def _run(self) -> None:
        while True:
            self._look_on()
            if self._halt.wait(POLL_SECONDS):
                return

    def _look_on(self) -> None:
        try:
            self.look()
        except (OSError, StreamgaugeError, ValueError, LookupError) as error:
            # What cannot be read now is read again; no epoch is passed over.
            LOG.warning("sinks wait at epoch %s: %s", self._epoch, error)
            self._halt.wait(1.0)

    def look(self) -> None:
        """Bring deliveries to what is in force at the newest committed epoch."""
        # Looking for one file costs nothing where listing a directory of all epochs does.
        while self.home.commit(self._epoch + 1).exists():
            self._epoch += 1
        registry = self._bring(self._epoch)
        if registry is None:
            return
        if registry.changed > self._read_at:
            self._queries = {name: asked.version for name, asked in registry.queries.items()}
            self._read_at = registry.epoch
        for name, delivery in list(self._running.items()):
            standing = registry.sinks.get(name)
            if standing is None or standing.born != delivery.known.standing.born:
                self._running.pop(name).stop()
        self._forget(registry)
        for name, standing in registry.sinks.items():
            # The clients of targets are imported where there is a sink.
            module = import_module("streamgauge.sinks.delivery")
            known = module.Known(standing, self._queries, registry.epoch)
            if name in self._running:
                self._running[name].known = known
            elif time.monotonic() >= self._again.get(name, 0.0):
                self._begin(name, module.Delivery(self.home, known))

    def _forget(self, registry: Registry) -> None:
        """Clear away what is saved of sinks that are gone: answers are kept for the others only."""
        if registry.changed > self._cleared_at:
            for kept in (self.home.root / FOLDER).glob(f"*/{STATE}"):
                if kept.parent.name not in registry.sinks:
                    shutil.rmtree(kept.parent, ignore_errors=True)
            self._cleared_at = registry.epoch

    def _begin(self, name: str, delivery: Delivery) -> None:
        try:
            delivery.start()
        except StreamgaugeError as error:
            # The other sinks are not held up by it.
            LOG.warning("sink %s is not delivered: %s", name, error)
            self._again[name] = time.monotonic() + AGAIN_SECONDS
        else:
            self._running[name] = delivery

    def _bring(self, epoch: int) -> Registry | None:
        """The registry at an epoch, once a sink was ever declared."""
        self._scan(epoch)
        if not self._declared:
            return None
        if self._registry is None or self._registry.epoch != epoch:
            self._registry = registry_at(self.home, epoch, self._registry)
        return self._registry

    def _scan(self, epoch: int) -> None:
        """Look for the first sink in pages that were not there when this was made."""
        while not self._declared and self._scanned < epoch:
            page = Journal(self.home).page(self._scanned + 1)
            self._declared = any(change["do"] == "sink" for change in page.changes)
            self._scanned += 1
