"""The precision manager: shares the width that queries allow out among objects.

Objects tell how often they would send at other widths. Every period that makes a price for each
query's budget (`allocation.py`); the reply to an update carries the width that is worth its price,
as far as there is room. So growth costs no message, and a shrink only where an object that holds
much more than its worth is not expected to send soon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.filters.allocation import optimal_widths
from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant
from streamgauge.filters.constraints import Constraints
from streamgauge.filters.ledger import Claims, Ledger
from streamgauge.filters.ledger import grant as book_grant
from streamgauge.filters.pricing import Bounds, answer, confirm_all, over_budget, shrinks, tolls_of

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

_SECOND = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How the manager trades widths against messages; the defaults were found by simulation.

    Parameters
    ----------
    reserve
        Share of every budget that is kept for objects that wake up.
    excess
        An object is told to shrink when it holds this many times its worth, or more.
    gain
        And when that saves this many messages for each one that it costs.
    pace
        A reply goes this share of the way from the present width to the one that is worth its
        price, on a scale of factors: a burst is not a change for good.
    step
        Changes smaller than this share are not worth a grant.
    least
        Share of its uniform width below which no object goes.
    again
        Seconds after which a shrink that was not confirmed is sent again.
    silence
        An object silent for L seconds is believed to send at most this many times in L.
    """

    reserve: float = 0.01
    excess: float = 1.5
    gain: float = 1.0
    pace: float = 0.8
    step: float = 0.02
    least: float = 0.01
    again: float = 30.0
    silence: float = 3.0


class Grants(NamedTuple):
    """Grants as columns: objects, versions, widths."""

    objects: Whole
    versions: Whole
    widths: Floats


class PrecisionManager:
    """Who may be how wide, at every instant within every budget.

    Parameters
    ----------
    constraints
        What the queries allow.
    every
        Objects of which every reading is asked for, by number.
    policy
        How it trades widths against messages.

    Examples
    --------
    >>> manager = PrecisionManager(Constraints.of(2, [([0, 1], None, 10.0, "linear")]))
    >>> first = manager.update(0, 1_000_000, 0)
    >>> first.version, round(first.width, 6)
    (1, 4.9)
    >>> bool(manager.held.sum() <= 10.0)
    True
    """

    def __init__(
        self,
        constraints: Constraints,
        every: Iterable[int] = (),
        policy: Policy | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self._ledger = Ledger.blank(constraints.n_objects, constraints.n_queries)
        self.refused = 0
        self._set(constraints, every, None)

    @property
    def held(self) -> Floats:
        """Width that each object may have at its source; the coordinator's bounds have it."""
        return self._ledger.held

    @property
    def granted(self) -> Floats:
        """Width of each object's newest grant."""
        return self._ledger.newest

    @property
    def newest_versions(self) -> Whole:
        """Version of each object's newest grant."""
        return self._ledger.newest_version

    @property
    def burdens(self) -> Floats:
        """Messages a second that each object is expected to send, per unit of width."""
        with np.errstate(all="ignore"):
            found: Floats = self._often(self._ledger.newest) / self._ledger.newest
        return found

    def width(self, number: int, version: int) -> float | None:
        """Width of a version that an object's source may be applying; None when it may not."""
        ledger = self._ledger
        if version == ledger.sure_version[number]:
            return float(ledger.sure[number])
        for slot in range(ledger.under_way[number]):
            if ledger.slot_versions[number, slot] == version:
                return float(ledger.slots[number, slot])
        return None

    def update(
        self,
        number: int,
        at: int,
        version: int,
        rate: float = math.nan,
        power: float = math.nan,
        *,
        now: int | None = None,
    ) -> Grant | None:
        """Take an update; give the grant that goes into its reply, if any.

        Parameters
        ----------
        number, at, version, rate, power
            As in `Update`.
        now
            The coordinator's clock, from which the grant may be applied; `at` if None.
        """
        found = self.update_many(
            np.array([number]), at, np.array([version]), np.array([rate]), np.array([power])
        )
        since = at if now is None else now
        return next(_listed(found, since), None)

    def update_many(
        self, objects: Whole, at: float, versions: Whole, rates: Floats, powers: Floats
    ) -> Grants:
        """Take updates in their order; give the grants that go into the replies."""
        count, wrong = answer(
            self._ledger,
            self._claims,
            np.asarray(objects, np.int64),
            np.asarray(versions, np.int64),
            np.asarray(rates, np.float64),
            np.asarray(powers, np.float64),
            float(at),
            self._tolls,
            self._best,
            self._bounds,
            self.policy.step,
            self.policy.pace,
            out := np.empty(len(objects), np.int64),
        )
        self.refused += wrong
        self._settle()
        return self._made(out[:count])

    def applied(self, number: int, version: int) -> None:
        """A source narrowed a bound without an update; with it all reports before it are here."""
        self.applied_many(np.array([number]), np.array([version]))

    def applied_many(self, objects: Whole, versions: Whole) -> None:
        """Like `applied`, for columns."""
        self.refused += confirm_all(
            self._ledger,
            self._claims,
            np.asarray(objects, np.int64),
            np.asarray(versions, np.int64),
        )
        self._settle()

    def adjust(self, at: int) -> list[Grant]:
        """New prices from what objects told; give the shrinks that are worth a message."""
        return list(_listed(self.adjust_many(at), at))

    def adjust_many(self, at: float) -> Grants:
        """Like `adjust`, as columns."""
        self._recount()
        self._price(at)
        again = self._lost(at)
        few = shrinks(
            self._ledger,
            self._claims,
            self._best,
            self._tolls,
            self._believed(at),
            self.policy.excess,
            self.policy.gain,
        )
        made = self._grant_all(few, np.maximum(self._best[few], self._bounds.least[few]), at)
        return self._made(np.concatenate([again, made]))

    def replace_constraints(
        self,
        constraints: Constraints,
        at: int,
        every: Iterable[int] = (),
        *,
        immediate: bool = True,
        prices: npt.ArrayLike | None = None,
    ) -> list[Grant]:
        """Put other constraints in force; give the shrinks that must go out.

        Objects keep their numbers; there may be more of them at the end. What is allowed more
        grows as replies go out. Where less is allowed nothing grows, and with `immediate` those
        that hold too much are told at once. One that nobody asked for so far always is.

        Parameters
        ----------
        constraints, every
            As at the beginning.
        at
            The coordinator's clock.
        immediate
            Whether to send shrinks now rather than with replies and adjustments.
        prices
            Per query a price to start from, NaN where there is none.
        """
        unheard = self._ledger.newest == NOTHING
        self._ledger = _resized(self._ledger, constraints)
        self._set(constraints, every, prices)
        self._price(at)
        ledger = self._ledger
        asked = ~constraints.unqueried
        must = np.zeros(constraints.n_objects, np.bool_)
        must[: unheard.size] = unheard
        must &= asked | self._bounds.every
        must |= self._bounds.every & (ledger.newest != EVERY_READING)
        if immediate:
            over = over_budget(ledger, self._claims)
            must |= over & asked & (ledger.newest > self._best)
        must &= ledger.newest_version > 0
        widths = np.where(self._bounds.every, EVERY_READING, self._best)
        few = np.flatnonzero(must)
        return list(_listed(self._made(self._grant_all(few, widths[few], at)), at))

    def forget(self, numbers: npt.ArrayLike) -> None:
        """Objects left: they hold nothing. Their versions go on counting should they return."""
        ledger = self._ledger
        gone = np.atleast_1d(np.asarray(numbers, np.int64))
        ledger.sure[gone] = ledger.newest[gone] = 0.0
        ledger.sure_version[gone] = ledger.newest_version[gone]
        ledger.under_way[gone] = 0
        ledger.held[gone] = 0.0
        ledger.rate[gone] = ledger.power[gone] = np.nan
        self._recount()

    def note(self, grant: Grant) -> None:
        """Take a grant that was made before a restart, after the snapshot."""
        ledger, one = self._ledger, grant.number
        if grant.version > ledger.newest_version[one]:
            ledger.newest_version[one] = grant.version - 1
            book_grant(ledger, self._claims, one, grant.width, float(grant.since))
            self._recount()

    def snapshot(self) -> dict[str, Any]:
        """What a restart needs, as lists and numbers that JSON can carry."""
        columns = {
            name: [_plain(part) for part in np.ravel(column).tolist()]
            for name, column in self._ledger._asdict().items()
            if name != "leftover"
        }
        return {
            **columns,
            "prices": self._prices.tolist(),
            "best": list(map(_plain, self._best.tolist())),
            "refused": self.refused,
        }

    @classmethod
    def restore(
        cls,
        kept: dict[str, Any],
        constraints: Constraints,
        every: Iterable[int] = (),
        policy: Policy | None = None,
    ) -> PrecisionManager:
        """Begin again from a snapshot, with constraints over the same objects or more."""
        made = cls(constraints, every, policy)
        n_objects = len(kept["held"])
        old = Ledger.blank(n_objects, 0)
        for name, column in old._asdict().items():
            if name != "leftover":
                values = np.array([float(part) for part in kept[name]])
                column[...] = values.reshape(column.shape).astype(column.dtype)
        made._ledger = _resized(old, constraints)
        prices = kept["prices"] if len(kept["prices"]) == constraints.n_queries else None
        made._set(constraints, every, prices)
        made._best[:n_objects] = [float(part) for part in kept["best"]]
        made.refused = kept["refused"]
        return made

    def _set(
        self, constraints: Constraints, every: Iterable[int], prices: npt.ArrayLike | None
    ) -> None:
        self.constraints = constraints
        self._claims = Claims.of(constraints)
        all_readings = np.zeros(constraints.n_objects, np.bool_)
        all_readings[np.fromiter(every, np.int64)] = True
        uniform = constraints.uniform()
        # What an object has for itself alone needs no reserve.
        shares = np.diff(constraints.object_starts) > 0
        self._kept: Floats = np.where(shares, 1.0 - self.policy.reserve, 1.0)
        self._bounds = Bounds(
            all_readings,
            constraints.unqueried,
            uniform * self._kept,
            uniform * self.policy.least,
        )
        self._prices: Floats = np.zeros(constraints.n_queries)
        if prices is not None:
            self._prices = np.nan_to_num(np.asarray(prices, np.float64))
        self._best: Floats = self._bounds.uniform.copy()
        self._recount()
        self._charge()

    def _recount(self) -> None:
        """Sums of held widths anew, so that rounding does not add up."""
        asked = np.where(self.constraints.unqueried, 0.0, self._ledger.held)
        self._unbounded = bool(np.isinf(asked).any())
        self._ledger.leftover[:] = self.constraints.leftover(asked)

    def _price(self, at: float) -> None:
        """Prices and best widths from the curves as they were told."""
        ledger = self._ledger
        believed = self._believed(at)
        found = optimal_widths(self.constraints, believed, ledger.power, start_prices=self._prices)
        self._prices = found.prices
        self._best = found.widths * self._kept
        self._charge()

    def _charge(self) -> None:
        # Smaller budgets have higher prices; a random walk's fall with the cube of the width.
        kept = 1.0 - self.policy.reserve
        self._tolls: Floats = tolls_of(self._claims, self._prices * kept**-3.0)

    def _often(self, widths: Floats) -> Floats:
        """Messages a second that objects are expected to send."""
        ledger = self._ledger
        with np.errstate(all="ignore"):
            often = ledger.rate * widths**-ledger.power
        found: Floats = np.where(np.isfinite(often), np.minimum(often, 1.0), 0.0)
        return found

    def _believed(self, at: float) -> Floats:
        """Rates of the curves; an object that was silent for long is believed to be quieter."""
        ledger = self._ledger
        silent = np.maximum(at - np.maximum(ledger.heard, ledger.granted), _SECOND) / _SECOND
        power = np.where(np.isfinite(ledger.power), ledger.power, 2.0)
        with np.errstate(all="ignore"):
            most = self.policy.silence / silent * ledger.newest**power
        known = np.isfinite(most) & (ledger.newest > 0.0)
        told = np.where(np.isfinite(ledger.rate), ledger.rate, np.inf)
        found: Floats = np.where(known, np.minimum(told, most), ledger.rate)
        return found

    def _settle(self) -> None:
        """Count anew while something that was unbounded is being narrowed."""
        if self._unbounded:
            self._recount()

    def _lost(self, at: float) -> Whole:
        """Shrinks that were not confirmed for so long that they are sent again."""
        ledger = self._ledger
        waited = at - ledger.granted > self.policy.again * _SECOND
        shrunk = (ledger.under_way > 0) & (ledger.newest < ledger.held)
        found = np.flatnonzero(waited & shrunk)
        ledger.granted[found] = at
        return found

    def _grant_all(self, objects: Whole, widths: Floats, at: float) -> Whole:
        done = [
            one
            for one, width in zip(objects.tolist(), widths.tolist(), strict=True)
            if book_grant(self._ledger, self._claims, one, width, float(at))
        ]
        return np.array(done, np.int64)

    def _made(self, objects: Whole) -> Grants:
        ledger = self._ledger
        return Grants(objects, ledger.newest_version[objects], ledger.newest[objects])


def _listed(grants: Grants, since: int) -> Iterator[Grant]:
    rows = zip(
        grants.objects.tolist(), grants.versions.tolist(), grants.widths.tolist(), strict=True
    )
    return (Grant(number, version, width, since) for number, version, width in rows)


def _resized(ledger: Ledger, constraints: Constraints) -> Ledger:
    """The same ledger with more objects and other queries."""
    made = Ledger.blank(max(constraints.n_objects, ledger.held.size), constraints.n_queries)
    for name, column in ledger._asdict().items():
        if name != "leftover":
            getattr(made, name)[: len(column)] = column
    return made


def _plain(number: float) -> float | str:
    return number if math.isfinite(number) else repr(number)
