"""The ledger of grants: what each source may be holding, and what that leaves of every budget.

A source applies a grant when it hears of it, which the coordinator learns later or never. So an
object *holds* the widest of the grant it last confirmed and of all grants since. Every change of
what is held is taken from, or given back to, the budgets of its queries at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.filters.constraints import Constraints
from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

# Grants of one object that may be under way; with more, none is made until one is confirmed.
SLOTS = 4
# Sums are kept by adding and subtracting; so much of a budget is never given away.
_SLACK = 1e-12


class Ledger(NamedTuple):
    """Columns by object, and by query what is left.

    Parameters
    ----------
    held
        Width that counts against budgets.
    sure, sure_version
        Width and version that the source was last heard to apply.
    newest, newest_version
        Width and version of the last grant made.
    under_way, slots, slot_versions
        How many grants are not confirmed, and which, oldest first.
    rate, power
        Cost curve as told last; NaN before.
    heard
        Labelled time of the last update.
    granted
        When the newest grant was made.
    leftover
        By query.
    """

    held: Floats
    sure: Floats
    sure_version: Whole
    newest: Floats
    newest_version: Whole
    under_way: Whole
    slots: Floats
    slot_versions: Whole
    rate: Floats
    power: Floats
    heard: Floats
    granted: Floats
    leftover: Floats

    @classmethod
    def blank(cls, n_objects: int, n_queries: int) -> Ledger:
        """A ledger of objects that hold nothing: version 0, width 0."""
        return cls(
            np.zeros(n_objects),
            np.zeros(n_objects),
            np.zeros(n_objects, np.int64),
            np.zeros(n_objects),
            np.zeros(n_objects, np.int64),
            np.zeros(n_objects, np.int64),
            np.zeros((n_objects, SLOTS)),
            np.zeros((n_objects, SLOTS), np.int64),
            np.full(n_objects, np.nan),
            np.full(n_objects, np.nan),
            np.full(n_objects, -np.inf),
            np.full(n_objects, -np.inf),
            np.zeros(n_queries),
        )


class Claims(NamedTuple):
    """The constraints as the kernels take them: by object its queries and weights."""

    starts: npt.NDArray[np.int32]
    queries: npt.NDArray[np.int32]
    weights: Floats
    caps: Floats
    budgets: Floats

    @classmethod
    def of(cls, constraints: Constraints) -> Claims:
        """The claims of constraints."""
        return cls(
            constraints.object_starts,
            constraints.object_queries,
            constraints.object_weights,
            constraints.caps,
            constraints.spendable,
        )


@compiled
def hold(ledger: Ledger, claims: Claims, one: int, width: float) -> None:
    """Let an object hold another width."""
    before = ledger.held[one]
    if width == before:
        return
    ledger.held[one] = width
    for place in range(claims.starts[one], claims.starts[one + 1]):
        query = claims.queries[place]
        # What was unbounded leaves a budget that must be counted anew; the caller does.
        change = width - before if before < np.inf else 0.0
        ledger.leftover[query] -= claims.weights[place] * change


@compiled
def widest(ledger: Ledger, one: int) -> float:
    """The widest that an object's source may be applying; a width that is none counts as 0."""
    found: float = max(ledger.sure[one], 0.0)
    for slot in range(ledger.under_way[one]):
        found = max(found, ledger.slots[one, slot])
    return found


@compiled
def confirm(ledger: Ledger, claims: Claims, one: int, version: int) -> bool:
    """A source applies a version; older grants are over. False when there was no such grant."""
    if version <= ledger.sure_version[one]:
        # Old news, or a source that begins anew.
        return True
    count = ledger.under_way[one]
    found = -1
    for slot in range(count):
        if ledger.slot_versions[one, slot] == version:
            found = slot
    if found < 0:
        return False
    ledger.sure[one] = ledger.slots[one, found]
    ledger.sure_version[one] = version
    left = count - found - 1
    for slot in range(left):
        ledger.slots[one, slot] = ledger.slots[one, slot + found + 1]
        ledger.slot_versions[one, slot] = ledger.slot_versions[one, slot + found + 1]
    ledger.under_way[one] = left
    hold(ledger, claims, one, widest(ledger, one))
    return True


@compiled
def room(ledger: Ledger, claims: Claims, one: int) -> float:
    """By how much an object may hold more than it does."""
    most: float = claims.caps[one] - ledger.held[one]
    for place in range(claims.starts[one], claims.starts[one + 1]):
        query = claims.queries[place]
        left = ledger.leftover[query] - _SLACK * claims.budgets[query]
        most = min(most, left / claims.weights[place])
    return most


@compiled
def grant(ledger: Ledger, claims: Claims, one: int, width: float, at: float) -> bool:
    """Make a grant, counted as held from now on; False when too many are under way."""
    count = ledger.under_way[one]
    if count >= SLOTS:
        return False
    ledger.newest_version[one] += 1
    ledger.newest[one] = width
    ledger.granted[one] = at
    ledger.slots[one, count] = width
    ledger.slot_versions[one, count] = ledger.newest_version[one]
    ledger.under_way[one] = count + 1
    if width > ledger.held[one]:
        hold(ledger, claims, one, width)
    return True
