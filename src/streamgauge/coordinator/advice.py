"""Advice: whether an agent would send less with one value per query than with one per key.

What an agent measures is sent under a filter for each key. Where queries add several of its
objects up, it could add them up itself and send one value per query (`filters/aggregation.py`).
Nothing is changed here: who feeds the agent decides what it is fed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.coordinator.cache import ALWAYS, Bound
from streamgauge.filters.aggregation import Choice, choices
from streamgauge.filters.constraints import Constraints, Floats, Truths
from streamgauge.filters.manager import Policy
from streamgauge.kernel.time import SECOND, Instant

Whole = npt.NDArray[np.int64]

# Pairs of a query and an object that are weighed in one period, about a fifth of a second; agents
# that are left have their turn in the next one. An agent with more than that is not judged.
PAIRS_MOST = 50_000
# What an agent takes in any case, in pairs.
_PAIRS_LEAST = 2_000
# As the precision manager believes it; seconds that count as silence of an object that told how
# often it sends, and of one that did not.
_SILENCE = Policy().silence
_INSTANT, _WHILE = 0.1, 10.0
_POWERS = (0.1, 4.0)


class Advice(NamedTuple):
    """What an agent is expected to send.

    Parameters
    ----------
    separate
        Messages a second with one object per key; None when there is nothing to aggregate.
    aggregated
        The same with one object per query, for the sets of overlapping queries for which that is
        clearly less; for all sets when there is no such set.
    advice
        `aggregate` when there is such a set, else nothing.
    """

    separate: float | None = None
    aggregated: float | None = None
    advice: str = ""


class Adviser:
    """Judges the agents of a stream in turn, so that no period takes long.

    Examples
    --------
    Two objects of one agent that only their sum is asked of.

    >>> bounds = [Bound(("a",), "pump", rate=4.0, power=2.0) for _ in range(2)]
    >>> adviser = Adviser()
    >>> adviser.judge(Constraints.of(2, [([0, 1], None, 4.0)]), bounds, np.array([2.0, 2.0]), 0)
    >>> adviser.of("pump")
    Advice(separate=2.0, aggregated=0.5, advice='aggregate')
    """

    def __init__(self) -> None:
        self._found: dict[str, Advice] = {}
        self._last = ""

    def of(self, agent: str) -> Advice:
        """What was found of an agent last."""
        return self._found.get(agent, Advice())

    def judge(
        self, constraints: Constraints, bounds: Sequence[Bound], widths: Floats, closed: Instant
    ) -> None:
        """Judge the agents whose turn it is.

        Parameters
        ----------
        constraints
            What the queries allow.
        bounds
            The objects that they are about, or more.
        widths
            That the objects hold.
        closed
            Up to when the bounds are told.
        """
        objects = bounds[: constraints.n_objects]
        names = sorted({bound.agent for bound in objects} - {""})
        numbers = {name: number for number, name in enumerate(names)}
        homes = np.array([numbers.get(bound.agent, -1) for bound in objects], np.int64)
        held = widths[: homes.size]
        # Objects of which every value is sent take no width, and are sent as well either way.
        concerned = (homes >= 0) & (held > 0.0) & np.isfinite(held)
        pairs = _pairs(_restricted(constraints, concerned), homes, len(names))
        turn = self._turn(names, pairs)
        concerned &= np.isin(homes, [numbers[name] for name in turn])
        # Sources may tell any numbers; what comes of absurd ones is no number and left out.
        with np.errstate(all="ignore"):
            rate, power = _curves(objects, held, concerned, closed)
            chosen = _restricted(constraints, concerned & np.isfinite(rate))
            found = choices(chosen, homes, held, rate, power)
        sets = [one for one in found if one.objects.size > 1]
        for name in turn:
            self._found[name] = _summed([one for one in sets if one.source == numbers[name]])
        judged = {name for name in names if pairs[numbers[name]] <= PAIRS_MOST}
        self._found = {name: last for name, last in self._found.items() if name in judged}

    def _turn(self, names: list[str], pairs: Whole) -> list[str]:
        """Agents after the last one that was judged, as many as a period has time for."""
        later = [number for number, name in enumerate(names) if name > self._last]
        turn: list[str] = []
        left = PAIRS_MOST
        for number in [*later, *range(len(names) - len(later))]:
            work = max(int(pairs[number]), _PAIRS_LEAST)
            if work > PAIRS_MOST:
                continue
            if work > left:
                break
            left -= work
            turn.append(names[number])
        self._last = turn[-1] if turn else ""
        return turn


def _restricted(constraints: Constraints, kept: Truths) -> Constraints:
    """The same constraints on fewer objects, by query; the columns by object stay as they are."""
    there = kept[constraints.members]
    before = np.concatenate([[0], np.cumsum(there)]).astype(np.int32)
    return replace(
        constraints,
        starts=before[constraints.starts],
        members=constraints.members[there],
        weights=constraints.weights[there],
    )


def _pairs(constraints: Constraints, homes: Whole, n_agents: int) -> Whole:
    """Per agent its queries times its objects."""
    if not n_agents:
        return np.zeros(0, np.int64)
    queries = np.repeat(np.arange(constraints.n_queries), np.diff(constraints.starts))
    asked = np.unique(queries * n_agents + homes[constraints.members]) % n_agents
    told = homes[np.unique(constraints.members)]
    found: Whole = np.bincount(asked, minlength=n_agents) * np.bincount(told, minlength=n_agents)
    return found


def _curves(
    bounds: Sequence[Bound], widths: Floats, chosen: Truths, closed: Instant
) -> tuple[Floats, Floats]:
    """Rates and powers of chosen objects as told; what was long silent is believed quieter."""
    rate, power = np.full(len(bounds), np.nan), np.full(len(bounds), 2.0)
    places = np.flatnonzero(chosen)
    ours = [bounds[place] for place in places.tolist()]
    told = np.array([(bound.rate, bound.power) for bound in ours]).reshape(-1, 2)
    power[places] = np.where(np.isfinite(told[:, 1]), np.clip(told[:, 1], *_POWERS), 2.0)
    since = np.array([max(bound.at, bound.grants[-1][1]) for bound in ours], np.int64)
    silent = np.where(since > ALWAYS, closed - since, 0) / SECOND
    spread = widths[places] ** power[places]
    most = _SILENCE * spread / np.maximum(silent, _INSTANT)
    # One that never left its first bound never told a rate: it counts as sending once in that time.
    once = spread / np.maximum(silent, _WHILE)
    rate[places] = np.where(told[:, 0] >= 0.0, np.minimum(told[:, 0], most), once)
    return rate, power


def _summed(sets: Iterable[Choice]) -> Advice:
    """One advice from all sets of overlapping queries of an agent."""
    known = [one for one in sets if np.isfinite(one.separate) and np.isfinite(one.aggregated)]
    if not known:
        return Advice()
    better = [one for one in known if one.aggregate]
    separate = sum(one.separate for one in known)
    spared = sum(one.separate - one.aggregated for one in better or known)
    return Advice(separate, separate - spared, "aggregate" if better else "")
