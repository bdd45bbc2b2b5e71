"""Allotment: the precision manager at work on what agents tell and queries ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.coordinator.advice import Adviser
from streamgauge.coordinator.cache import Bound
from streamgauge.coordinator.demands import Asked, Demands, moved
from streamgauge.coordinator.intake import Intake, News
from streamgauge.filters.bound import Grant, Update
from streamgauge.filters.constraints import Constraints, Demand
from streamgauge.filters.ledger import SLOTS, Ledger
from streamgauge.filters.manager import Grants, PrecisionManager
from streamgauge.kernel.time import SECOND, Instant


class Allotment:
    """Who may be how wide, by what is registered and heard.

    Objects that are new wait for the next refresh: many may come at once, and the constraints are
    built anew for all of them together. Until then their sources send every change.

    Parameters
    ----------
    intake
        What is known of the objects; grants go through it.
    demands
        What queries ask.
    """

    def __init__(self, intake: Intake, demands: Demands) -> None:
        self.intake = intake
        self.demands = demands
        demands.follow()
        self.asked = demands.build(intake.cache.bounds)
        self.manager = _resumed(intake, self.asked)
        self.adviser = Adviser()
        self._stale = False
        self._waiting: dict[int, Update] = {}
        self.builds = 1

    @property
    def size(self) -> int:
        """How many objects take part."""
        return self.manager.constraints.n_objects

    def heard(self, news: News, now: Instant) -> list[Grant]:
        """Take what a report brought; the grants that go into its reply."""
        size = self.size
        begun = [place for place in news.begun if place < size]
        if begun:
            self.manager.forget(begun)
        if news.begun or news.others:
            self._stale = True
        known = [(place, version) for place, version in news.applied if place < size]
        if known:
            columns = np.array(known, np.int64)
            self.manager.applied_many(columns[:, 0], columns[:, 1])
        for place, update in news.updates:
            if place >= size:
                self._waiting[place] = update
        return self._updated([(place, u) for place, u in news.updates if place < size], now)

    def _updated(self, updates: Sequence[tuple[int, Update]], now: Instant) -> list[Grant]:
        if not updates:
            return []
        grants = self.manager.update_many(
            np.array([place for place, _ in updates], np.int64),
            now,
            np.array([update.version for _, update in updates], np.int64),
            np.array([update.rate for _, update in updates]),
            np.array([update.power for _, update in updates]),
        )
        return self._listed(grants, now)

    def refresh(self, now: Instant) -> None:
        """Follow what was registered, what was announced and what shares have become."""
        changed = self.demands.follow() or self._stale
        if not changed and not moved(self.asked, self.intake.stream, self._bounds):
            return
        # Reports that come meanwhile may make it stale again; building it may take a while.
        self._stale = False
        asked = self.demands.build(list(self._bounds))
        with self.intake.lock:
            self.builds += 1
            self.asked, self.intake.sample = asked, asked.sample
            grants = self.manager.replace_constraints(asked.constraints, now, asked.every.tolist())
            size = self.size
            waiting = sorted(item for item in self._waiting.items() if item[0] < size)
            self._waiting = {k: v for k, v in self._waiting.items() if k >= size}
            made = self._updated(waiting, now)
            self.intake.grant([*self._since(grants, now), *made])

    def adjust(self, now: Instant) -> None:
        """Share widths out anew; judge what else would be sent."""
        with self.intake.lock:
            self.intake.grant(self._listed(self.manager.adjust_many(now), now))
            held = self.manager.held.copy()
        # Reports need not wait for this; it reads what they may change meanwhile, as estimates may.
        self.adviser.judge(self.manager.constraints, self._bounds, held, self.intake.closed)

    def forget(self, places: Iterable[int]) -> None:
        """Objects left."""
        gone = [place for place in places if place < self.size]
        if gone:
            self.manager.forget(gone)
        self._stale = True

    @property
    def _bounds(self) -> list[Bound]:
        return self.intake.cache.bounds

    def _listed(self, grants: Grants, now: Instant) -> list[Grant]:
        columns = (grants.objects.tolist(), grants.versions.tolist(), grants.widths.tolist())
        return self._since([Grant(*row, now) for row in zip(*columns, strict=True)], now)

    def _since(self, grants: Iterable[Grant], now: Instant) -> list[Grant]:
        """Let no width grow before the label at which another has made room for it."""
        since = max([now, *(agent.through for agent in self.intake.agents.values())])
        return [grant._replace(since=since) for grant in grants]

    def figures(self) -> dict[str, npt.NDArray[Any]]:
        """Held widths and burdens by place."""
        return {"held": self.manager.held, "burden": self.manager.burdens}


def warm() -> None:
    """Compile what reports need, so that none waits for it."""
    constraints = Constraints.of(2, [Demand([0, 1], None, 1.0), Demand([0], None, 1.0, "each")])
    manager = PrecisionManager(constraints)
    one, version = np.array([0], np.int64), np.array([0], np.int64)
    manager.update_many(one, 1, version, np.array([1.0]), np.array([2.0]))
    manager.applied_many(one, version)
    manager.adjust_many(SECOND)
    manager.replace_constraints(constraints, 2 * SECOND)


def _resumed(intake: Intake, asked: Asked) -> PrecisionManager:
    """A manager that counts as held all that was granted and not confirmed smaller."""
    bounds = intake.cache.bounds
    if not bounds:
        return PrecisionManager(asked.constraints, asked.every.tolist())
    ledger = Ledger.blank(len(bounds), 0)
    for place, bound in enumerate(bounds):
        first, *later = bound.grants
        kept = later[-SLOTS:]
        widest = max([first[2], *(width for _, _, width in later[:-SLOTS])])
        ledger.sure[place], ledger.sure_version[place] = widest, first[0]
        ledger.under_way[place] = len(kept)
        for slot, (version, _, width) in enumerate(kept):
            ledger.slots[place, slot] = width
            ledger.slot_versions[place, slot] = version
        ledger.newest[place] = bound.grants[-1][2]
        # A source that lost its memory applies version 0; numbers go on counting all the same.
        ledger.newest_version[place] = bound.newest
        ledger.held[place] = max(width for _, _, width in bound.grants)
        ledger.rate[place], ledger.power[place] = bound.rate, bound.power
        ledger.heard[place] = bound.at
    np.maximum(ledger.held, 0.0, out=ledger.held)
    kept_state = PrecisionManager(asked.constraints, asked.every.tolist()).snapshot()
    kept_state |= {
        name: np.ravel(column).tolist()
        for name, column in ledger._asdict().items()
        if name != "leftover"
    }
    resumed = PrecisionManager.restore(kept_state, asked.constraints, asked.every.tolist())
    for _, item in intake.cache.values.waiting():
        # What was heard but lies ahead of the last closed tick is confirmed already.
        if item[1] == "value":
            resumed.applied(item[0], item[4])
        elif item[1] == "applied":
            resumed.applied(item[0], item[2])
    return resumed
