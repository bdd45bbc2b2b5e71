"""Following: one part of the registry, brought forward page by page as the job takes changes in."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.files import number_name
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, parse_page
from streamgauge.plan.registry import Registry


class Following:
    """What the journal says of streams, or of tables, without the queries that read them.

    Parameters
    ----------
    home
        Whose journal is followed, from its newest page on.
    part
        Name of the registry's part: `streams` or `tables`.
    changes
        What the changes are called that touch it.
    """

    def __init__(self, home: Home, part: str, changes: Collection[str]) -> None:
        self.home = home
        self.page = Journal(home).last()
        self._part, self._changes = part, changes
        self._registry = Registry()
        # A page may hold a million queries; most touch no stream and no table.
        names = "|".join(map(re.escape, changes))
        self._touches = re.compile(rf'"do":"(?:{names})"'.encode())

    @property
    def kept(self) -> dict[str, Any]:
        """That part of the registry, as of the newest page that was looked at."""
        part: dict[str, Any] = getattr(self._registry, self._part)
        return part

    def begin(self, known: Mapping[str, Any]) -> None:
        """Go on from what held when this was made."""
        self.kept.update(known)

    def look(self) -> list[dict[str, Any]] | None:
        """The changes of the next page that touch it; None when there is no page yet."""
        try:
            path = self.home.journal / number_name(self.page + 1, ".json")
            text = path.read_bytes()
        except FileNotFoundError:
            if self.home.cleared() <= self.page:
                return None
            # Pages that were cleared away are in a snapshot.
            self._jump(Journal(self.home).last())
            return []
        self.page += 1
        return self._take(parse_page(text, path)) if self._touches.search(text) else []

    def _take(self, page: Page) -> list[dict[str, Any]]:
        changes = [change for change in page.changes if change["do"] in self._changes]
        if page.refused:
            # One of them may be refused for a query, and those are not kept here.
            self._jump(self.page)
        else:
            self._registry.apply(changes, epoch=self.page)
        return changes

    def _jump(self, page: int) -> None:
        self.page = page
        setattr(self._registry, self._part, getattr(registry_at(self.home, page), self._part))
