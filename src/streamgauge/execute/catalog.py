"""Catalog: what a running home holds and will hold, while others change it."""

from __future__ import annotations

import threading
from typing import Any

from streamgauge.engine.catalog import registry_at
from streamgauge.execute.trial import copied
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page
from streamgauge.plan.registry import Registry

TRIES = 20
# Records stay in the inbox for a moment after the page that took them is written.
PAGES_REMEMBERED = 8


class Catalog:
    """Registries of a home, brought forward page by page instead of read anew.

    Parameters
    ----------
    home
        The home; other processes may change it meanwhile.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._committed: Registry | None = None
        self._landed: Registry | None = None
        self._taken: list[tuple[str, ...]] = []

    def committed(self) -> Registry:
        """What holds as of the last committed epoch. A copy of one's own."""
        with self._lock:
            if self._committed is None:
                self._bring()
            epoch = self.home.committed()
            self._committed = registry_at(self.home, epoch, self._committed)
            return copied(self._committed)

    def expected(self) -> Registry:
        """What will hold once the journal is worked off and the inbox is empty."""
        with self._lock:
            waiting: list[tuple[str, dict[str, Any]]] = []
            for _ in range(TRIES):
                last = self._bring()
                try:
                    waiting = inbox.waiting(self.home, {n for page in self._taken for n in page})
                except FileNotFoundError:
                    # The job took a record between the listing and the reading.
                    continue
                if Journal(self.home).last() == last:
                    break
            assert self._landed is not None
            found = copied(self._landed)
            for _, record in waiting:
                found.apply([record], epoch=found.epoch + 1)
            return found

    def _bring(self) -> int:
        journal = Journal(self.home)
        last = journal.last()
        known = self._landed
        if known is None or known.epoch > last:
            known = registry_at(self.home, max(last - PAGES_REMEMBERED, 0))
            # Reading thousands of queries takes a second, so both are brought forward from here.
            self._committed = copied(known)
            self._taken.clear()
        for number in range(known.epoch + 1, last + 1):
            page: Page = journal.page(number)
            known = registry_at(self.home, number, known, read=page)
            self._taken = [*self._taken, page.inbox][-PAGES_REMEMBERED:]
        self._landed = known
        return last
