"""Couriers: a thread for each target that has something waiting, so that none holds another up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from streamgauge.alerts.outbox import Delivery, Outbox
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.loading import load
from streamgauge.plan.alert import Target
from streamgauge.targets.table import KINDS
from streamgauge.targets.target_kind import AlertSite

LOG = logging.getLogger(__name__)
FIRST_WAIT = 0.5
LONGEST_WAIT = 300.0
PATIENCE = 15.0


class Sender(Protocol):
    """Brings deliveries to one target."""

    def send(self, delivery: Delivery) -> None:
        """Return when the target has taken it, or raise Undelivered."""

    def close(self) -> None:
        """Let go of connections."""


def sender_of(target: Target, site: AlertSite) -> Sender:
    """Who brings deliveries to a target."""
    made: Sender = load(KINDS[target.kind].sender)(target, site)
    return made


class Couriers:
    """Sends what waits in an outbox.

    Parameters
    ----------
    outbox
        What waits.
    sender
        Who brings deliveries to a target.
    first_wait
        Seconds until the second attempt; each further one waits twice as long.
    """

    def __init__(
        self,
        outbox: Outbox,
        sender: Callable[[Target], Sender],
        *,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self.outbox = outbox
        self.sender = sender
        self.first_wait = first_wait
        self._halt = threading.Event()
        self._calls: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def wake(self) -> None:
        """See that each lane with something to send has a thread that knows it."""
        for key in self.outbox.busy():
            if key not in self._calls:
                self._calls[key] = threading.Event()
                thread = threading.Thread(
                    target=self._run, args=(key,), name="streamgauge-courier", daemon=True
                )
                self._threads.append(thread)
                thread.start()
            self._calls[key].set()

    def finish(self, timeout: float) -> bool:
        """Wait until nothing waits to be sent; whether that came in time."""
        self.wake()
        deadline = time.monotonic() + timeout
        while self.outbox.busy() and time.monotonic() < deadline:
            self._halt.wait(0.01)
        return not self.outbox.busy()

    def stop(self) -> None:
        """Stop sending; a delivery in flight is given a moment to end."""
        self._halt.set()
        for call in self._calls.values():
            call.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _run(self, key: str) -> None:
        call = self._calls[key]
        sender: Sender | None = None
        while not self._halt.is_set():
            call.clear()
            delivery = self.outbox.head(key)
            if delivery is None:
                call.wait()
                continue
            if sender is None:
                sender = self.sender(self.outbox.lanes[key].target)
            self._attempt(key, sender, delivery)
        if sender is not None:
            sender.close()

    def _attempt(self, key: str, sender: Sender, delivery: Delivery) -> None:
        try:
            sender.send(delivery)
        except (Undelivered, OSError, ValueError, LookupError, StreamgaugeError) as error:
            tries = self.outbox.missed(key, _reason(error)[:300])
            LOG.warning("alert %s not delivered: %s", delivery.crossing.id, error)
            self._halt.wait(min(LONGEST_WAIT, self.first_wait * 2.0 ** min(tries - 1, 20)))
        else:
            self.outbox.done(key, delivery)


def _reason(error: Exception) -> str:
    """Why, for all who may look at alerts: directories of the server are none of it."""
    if isinstance(error, StreamgaugeError):
        return error.what
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
