"""Randomized wave: a sample of the distinct items of every window up to the longest.

Level l keeps the most recent distinct items among one in 2^l, with the time each was last seen. A
window is answered from the lowest level that has forgotten nothing of it, so short and long windows
are equally exact. The bar is that of one thinned sample.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.distinct.thinning import (
    check_instances,
    joined,
    levels,
    median_bar,
    reach_of,
)
from streamgauge.synopses.distinct.window import (
    LONG_AGO,
    check_times,
    check_within,
    in_window,
    window_of,
)
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import (
    Arrays,
    Expiring,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)

Hashes = npt.NDArray[np.uint64]


class _Level(NamedTuple):
    """Most recent items of a level, latest first, and the latest time of one that did not fit."""

    keys: Hashes
    times: Ints
    dropped: int


_EMPTY = _Level(np.empty(0, np.uint64), np.empty(0, np.int64), LONG_AGO)


class RandomizedWave(Synopsis, Expiring):
    """Distinct items of any window up to `window`, exact while they are `limit` or fewer.

    Parameters
    ----------
    limit
        Items a level keeps at most; about `4 / epsilon ** 2` for an error of epsilon.
    window
        Longest window asked about, in the unit of the times.
    instances
        Waves that hash independently, an odd number; the median is told.
    delta
        Chance that a bar fails.
    seed
        Chooses the hashes; parties whose waves are united need the same.

    Examples
    --------
    >>> wave = RandomizedWave(limit=100, window=10, seed=7)
    >>> wave.update(["a", "b", "a", "c"], times=[1, 2, 9, 9])
    >>> print(wave.query(Distinct()), "|", wave.distinct_in(5))
    3 in [3, 3], randomized_wave | 2 in [2, 2], randomized_wave

    References
    ----------
    GT02: docs/references.md
    """

    name = "randomized_wave"
    answers = (Distinct,)
    takes = "keys"
    small = (64, 1000, 3)

    def __init__(
        self, limit: int, window: int, instances: int = 1, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        check_size("randomized_wave", "limit", limit, 32, 1 << 24)
        check_within("randomized_wave", window)
        check_instances("randomized_wave", instances)
        check_share("randomized_wave", delta)
        super().__init__(seed=seed)
        self.limit = limit
        self.window = window
        self.instances = instances
        self.delta = delta
        self.now = LONG_AGO
        self.waves: list[list[_Level]] = [[_EMPTY] for _ in range(instances)]

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the bar of a sample just thinned, as a share of the count."""
        reach = reach_of(self.limit, self.instances, self.delta)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "GT02 thm 4")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The smallest levels of one instance whose bar is within the contract."""
        window = window_of(need, cls.name)
        sizes = [1 << lg for lg in range(5, 23)]
        return smallest(need, cls.name, sizes, lambda n, delta: cls(n, window, 1, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Twice as many items as the window holds, no item twice."""
        items = np.arange(2000, dtype=np.int64) + 4096 * seed
        return Trial(items, Distinct(), times=np.arange(2000), now=1999)

    def advance(self, now: int) -> None:
        """Move the clock and let go of what no window can hold."""
        if now <= self.now:
            return
        self.now = now
        start = now - self.window
        for wave in self.waves:
            for number, level in enumerate(wave):
                stay = int(np.searchsorted(-level.times, -start))
                if stay < len(level.times):
                    wave[number] = _Level(level.keys[:stay], level.times[:stay], level.dropped)

    def weights_at(self, times: Ints, now: int) -> Floats:
        """One for rows younger than the window."""
        return in_window(times, now, self.window)

    def distinct_in(self, window: int) -> Estimate:
        """Distinct items of the last `window`, no longer than the one kept."""
        check_within(self.name, window, self.window)
        start = self.now - window
        found = [self._usable(wave, start) for wave in self.waves]
        counts, used = [count for count, _ in found], [level for _, level in found]
        value, low, high, exact = median_bar(counts, used, self.delta)
        return self._bar(value, low, high, 0.0 if exact else self.delta)

    def _usable(self, wave: list[_Level], start: int) -> tuple[int, int]:
        """Items after `start` in the lowest level that has dropped none of them."""
        for number, level in enumerate(wave):
            if level.dropped <= start:
                return int((level.times > start).sum()), number
        return 0, len(wave)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = check_times(self.name, times)
        keys, latest = _latest(column, instants)
        for instance, wave in enumerate(self.waves):
            heights = levels(keys, instance)
            for number in range(int(heights.max()) + 1):
                above = heights >= number
                if number == len(wave):
                    wave.append(_EMPTY)
                part = _Level(keys[above], latest[above], LONG_AGO)
                wave[number] = self._united(wave[number], part)
        self.advance(int(instants.max()))

    def _united(self, one: _Level, two: _Level) -> _Level:
        """The most recent items of two levels."""
        keys = np.concatenate([one.keys, two.keys])
        keys, times = _latest(keys, np.concatenate([one.times, two.times]))
        order = np.lexsort((keys, -times))
        dropped = max(one.dropped, two.dropped)
        if len(order) > self.limit:
            dropped = max(dropped, int(times[order[self.limit]]))
            order = order[: self.limit]
        return _Level(keys[order], times[order], dropped)

    def _merge(self, other: Self) -> None:
        for mine, theirs in zip(self.waves, other.waves, strict=True):
            mine += [_EMPTY] * (len(theirs) - len(mine))
            for number, level in enumerate(theirs):
                mine[number] = self._united(mine[number], level)
        self.advance(other.now)

    def _answer(self, question: Any) -> Any:
        return self.distinct_in(self.window)

    def _save(self) -> tuple[Values, Arrays]:
        held = [level for wave in self.waves for level in wave]
        arrays = {
            "keys": joined([level.keys for level in held], np.uint64),
            "times": joined([level.times for level in held], np.int64),
            "sizes": np.array([len(level.keys) for level in held], np.int64),
            "dropped": np.array([level.dropped for level in held], np.int64),
        }
        return {"now": self.now, "heights": [len(wave) for wave in self.waves]}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.now = values["now"]
        cuts = np.cumsum(arrays["sizes"])[:-1]
        keys, times = np.split(arrays["keys"], cuts), np.split(arrays["times"], cuts)
        dropped = arrays["dropped"].tolist()
        held = iter(map(_Level, keys, times, dropped))
        self.waves = [[next(held) for _ in range(height)] for height in values["heights"]]

    def validate(self) -> None:
        """Levels within the limit, latest first, none older than what was dropped."""
        for wave in self.waves:
            for level in wave:
                assert len(level.keys) <= self.limit
                assert (np.diff(level.times) <= 0).all()
                assert not len(level.times) or level.times[-1] >= level.dropped


def _latest(keys: Hashes, times: Ints) -> tuple[Hashes, Ints]:
    """Different keys and the last time of each."""
    order = np.lexsort((times, keys))
    ordered = keys[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.empty(0, np.bool_)
    return ordered[last], times[order][last]
