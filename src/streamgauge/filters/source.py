"""The filter beside a source: which readings the coordinator must hear of.

Standard library only. A reading that lies inside everything the row of its object watches costs
one comparison; all else is in `curve.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streamgauge.filters import curve
from streamgauge.filters.bound import NOTHING, Grant, Update
from streamgauge.filters.curve import (
    AT,
    CALM_HIGH,
    CALM_LOW,
    CENTRE,
    DUE,
    FRESH,
    HALF,
    HIGH,
    LOW,
    SINCE,
    SIZE,
    SLOPE,
    VALUE,
    VERSION,
)

Region = Sequence[tuple[float, float]]


class SourceFilter:
    """Filters of all objects of one agent.

    A new object has version 0 and width 0: each change of its value is an update until a grant
    comes. Times are labelled by the caller and never go back.

    Parameters
    ----------
    models
        Whether bounds may move with values that drift.

    Examples
    --------
    >>> source = SourceFilter()
    >>> source.add(0)
    >>> source.offer(0, 1_000_000, 20.0).value
    20.0
    >>> source.grant(Grant(0, 1, 4.0, 1_000_000), 1_000_000)
    >>> source.offer(0, 2_000_000, 21.5)
    >>> source.offer(0, 3_000_000, 22.5).version
    1
    """

    def __init__(self, *, models: bool = True) -> None:
        self.models = models
        self.refused = 0
        self._rows: dict[int, list[Any]] = {}
        self._pending: dict[int, Grant] = {}
        self._regions: dict[int, list[tuple[float, float]]] = {}
        self._applied: dict[int, int] = {}
        self._queued: list[Update] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def add(self, number: int, width: float = 0.0, version: int = 0) -> None:
        """Take an object; its first reading is always sent."""
        row: list[Any] = [0.0] * SIZE
        curve.blank(row)
        row[VERSION] = version
        row[HALF] = 0.5 * width
        self._rows[number] = row

    def remove(self, number: int) -> None:
        """Forget an object."""
        del self._rows[number]
        self._pending.pop(number, None)
        self._regions.pop(number, None)
        self._applied.pop(number, None)

    def offer(self, number: int, at: int, value: float) -> Update | None:
        """Take a reading; give the update that it makes, if any.

        A moving bound that left the reading before makes an update of its own, labelled with the
        instant up to which it was right; further updates of the same call come out of `check`.
        """
        row = self._rows[number]
        if row[LOW] <= value <= row[HIGH]:
            row[AT] = at
            row[VALUE] = value
            return None
        if row[CALM_LOW] <= value <= row[CALM_HIGH]:
            curve.ripple(row, max(at, row[AT]), value)
            return None
        return self._outside(number, row, at, value)

    def grant(self, grant: Grant, at: int) -> Update | None:
        """Take a grant at a labelled time; give the update that a narrower bound makes, if any."""
        row = self._rows.get(grant.number)
        if row is None or grant.version < row[VERSION]:
            return None
        waiting = self._pending.get(grant.number)
        if waiting is not None and waiting.version >= grant.version:
            return None
        if grant.version == row[VERSION]:
            if grant.version:
                self._applied[grant.number] = grant.version
            return None
        self._pending.pop(grant.number, None)
        if grant.width > 2.0 * row[HALF] and at < grant.since:
            self._pending[grant.number] = grant
            curve.shut(row)
            return None
        return self._first(self._applied_now(grant, row, at))

    def applied(self) -> list[tuple[int, int]]:
        """Grants that narrowed a bound without an update since the last call."""
        found = list(self._applied.items())
        self._applied.clear()
        return found

    def check(self, at: int) -> list[Update]:
        """Updates that are due though no reading came; call it before vouching for an instant.

        Bounds that moved away from a reading, grants whose time has come, and objects that have
        become so quiet that the coordinator should know.
        """
        found, self._queued = self._queued, []
        for grant in [g for g in self._pending.values() if g.since <= at]:
            del self._pending[grant.number]
            found += self._applied_now(grant, self._rows[grant.number], at)
        for number, row in self._rows.items():
            if row[SLOPE] != 0.0:
                found += self._lapsed(number, row, at)
            if row[DUE] <= at and curve.stale(row, at):
                found.append(self._send(number, row, max(at, row[AT]), row[VALUE], asked=False))
        found.sort(key=_when)
        return found

    def regions(self, number: int, region: Region | None) -> None:
        """Set the values of an object that anyone wants; None: all of them.

        Outside of them a value is silent; going in or out is always told.
        """
        row = self._rows.get(number)
        if row is None:
            return
        if region is None:
            self._regions.pop(number, None)
            curve.inner(row)
        else:
            self._regions[number] = [(low, high) for low, high in region]
        self._close(number, row)

    def bound(self, number: int, at: int) -> tuple[float, float, int]:
        """Centre and full width of the bound in force at an instant, and its version."""
        row = self._rows[number]
        centre = row[CENTRE]
        if row[SLOPE]:
            centre += row[SLOPE] * ((at - row[SINCE]) / curve.SECOND)
        return centre, 2.0 * row[HALF], row[VERSION]

    def snapshot(self) -> dict[str, Any]:
        """All of it as lists and numbers that JSON can carry."""
        return {
            "rows": [[number, *map(_plain, row)] for number, row in self._rows.items()],
            "pending": [[g.number, g.version, _plain(g.width), g.since] for g in self._waiting()],
            "regions": [
                [number, [[_plain(low), _plain(high)] for low, high in region]]
                for number, region in self._regions.items()
            ],
            "applied": [list(pair) for pair in self._applied.items()],
            "queued": [[_plain(part) for part in update] for update in self._queued],
            "refused": self.refused,
        }

    @classmethod
    def restore(cls, kept: dict[str, Any], *, models: bool = True) -> SourceFilter:
        """Begin again from a snapshot.

        >>> source = SourceFilter()
        >>> source.add(0, 4.0)
        >>> source.offer(0, 0, 1.0).value
        1.0
        >>> SourceFilter.restore(source.snapshot()).offer(0, 5, 2.0) is None
        True
        """
        made = cls(models=models)
        made.refused = kept["refused"]
        for number, *parts in kept["rows"]:
            made._rows[number] = list(map(_exact, parts))
        for number, region in kept["regions"]:
            made._regions[number] = [(_exact(low), _exact(high)) for low, high in region]
        for number, version, width, since in kept["pending"]:
            made._pending[number] = Grant(number, version, _exact(width), since)
        made._applied = dict(kept["applied"])
        made._queued = [Update(*map(_exact, parts)) for parts in kept["queued"]]
        for number, row in made._rows.items():
            curve.inner(row)
            made._close(number, row)
        return made

    def _waiting(self) -> list[Grant]:
        return list(self._pending.values())

    def _outside(self, number: int, row: list[Any], at: int, value: float) -> Update | None:
        """A reading that a bound or a shadow is left by, or that must be looked at closely."""
        if not math.isfinite(value):
            self.refused += 1
            return None
        at = max(at, row[AT])
        found = self._lapsed(number, row, at)
        grant = self._pending.get(number)
        if grant is not None and grant.since <= at:
            del self._pending[number]
            found += self._applied_now(grant, row, at)
        first = math.isnan(row[VALUE])
        if not first:
            curve.follow(row, at, value)
        row[AT], row[VALUE], row[FRESH] = at, value, 1.0
        if first:
            curve.widen(row, 2.0 * row[HALF])
        if self._must(number, row, at, value):
            found.append(self._send(number, row, at, value))
        else:
            curve.inner(row)
            self._close(number, row)
        return self._first(found)

    def _first(self, found: list[Update]) -> Update | None:
        """The first of the updates of a call; `check` gives the others."""
        if not found:
            return None
        self._queued += found[1:]
        return found[0]

    def _lapsed(self, number: int, row: list[Any], at: int) -> list[Update]:
        """Updates for a moving bound that left the last reading before an instant.

        The second of them, if any, stays where it is, since no reading came in between.
        """
        found: list[Update] = []
        while row[SLOPE] != 0.0:
            left = curve.passing(row, at)
            if left >= at or self._unwanted(number, row[VALUE], row[CENTRE]):
                break
            found.append(self._send(number, row, int(left), row[VALUE]))
        return found

    def _must(self, number: int, row: list[Any], at: int, value: float) -> bool:
        """Whether a value has to be sent: it left its bound, or a region that someone wants."""
        if row[HALF] == math.inf:
            return False
        region = self._regions.get(number)
        if region is not None and not math.isnan(row[CENTRE]):
            wanted = _within(region, value)
            if wanted != _within(region, row[CENTRE]):
                return True
            if not wanted:
                return False
        return curve.leaves(row, at, value)

    def _unwanted(self, number: int, value: float, centre: float) -> bool:
        region = self._regions.get(number)
        return region is not None and not (_within(region, value) or _within(region, centre))

    def _send(
        self, number: int, row: list[Any], at: int, value: float, *, asked: bool = True
    ) -> Update:
        rate, power = curve.curve(row, at)
        curve.recentre(row, at, value, self.models)
        curve.tell(row, at, asked)
        self._close(number, row)
        # The version goes with the update, so nothing is left to be said of it.
        self._applied.pop(number, None)
        return Update(number, at, value, row[VERSION], row[SLOPE], rate, power)

    def _applied_now(self, grant: Grant, row: list[Any], at: int) -> list[Update]:
        """Put a grant in force; a narrower one is applied to the current value at once."""
        at = max(at, row[AT])
        found = self._lapsed(grant.number, row, at)
        narrower = grant.width < 2.0 * row[HALF]
        unheard = row[HALF] == NOTHING
        row[VERSION] = grant.version
        curve.widen(row, grant.width)
        self._close(grant.number, row)
        if not narrower:
            return found
        value = row[VALUE]
        outside = unheard or (self._must(grant.number, row, at, value) and value != row[CENTRE])
        if outside and not math.isnan(value):
            found.append(self._send(grant.number, row, at, value))
        else:
            self._applied[grant.number] = grant.version
        return found

    def _close(self, number: int, row: list[Any]) -> None:
        """Send every reading of an object with a region or a pending grant the long way."""
        if number in self._regions or number in self._pending:
            curve.shut(row)


def _within(region: Region, value: float) -> bool:
    return any(low <= value <= high for low, high in region)


def _when(update: Update) -> int:
    return update.at


def _plain(number: float) -> float | str:
    return number if math.isfinite(number) else repr(number)


def _exact(said: Any) -> Any:
    return float(said) if isinstance(said, str) else said
