"""EhNorm: the sum of powers of item weights in a sliding window, such as the size of a self-join.

Buckets of neighbouring rows hold sketches that add up: sums of weights times draws of a stable law.
A sum over all newer buckets tells the norm of what is alive for sure, a sum that includes the
bucket across the edge of the window the norm of at most all that is alive; the truth lies between.
Neighbours are put together while the newer rows alone keep nearly all of the norm.

Which rows are put together is decided by a few further sums, the guide. The sums that are read know
nothing of it, so the two sketches of an answer are sketches of rows fixed beforehand, and the law
of a single sketch holds for them.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.moments.stable import law
from streamgauge.synopses.moments.stable_law import log_draw
from streamgauge.synopses.questions import Moment
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial
from streamgauge.synopses.windowed.buckets import BucketLane
from streamgauge.synopses.windowed.clock import Laned, not_about, relative_error, window_of

GUIDE = 32
_CHUNK = 2048


class NormLane(BucketLane):
    """Sketches of neighbouring rows; `whole` where all rows of a bucket have one time.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    p
        Power.
    copies
        Sums that are read; the guide comes after them.
    share
        Largest share of the norm that two buckets put together may take from the newer ones.
    """

    def __init__(self, window: int, p: float, copies: int, share: float) -> None:
        sums = np.zeros((0, copies + GUIDE))
        super().__init__({"whole": np.zeros(0, np.uint8), "sums": sums})
        self.window = window
        self.p = p
        self.share = share

    def add(self, times: Ints, draws: Floats, places: Ints, weights: Floats) -> None:
        """Fold rows of ascending times; `places` say which draws belong to a row."""
        self.fold(
            len(times),
            lambda start: _append(
                *(*self.columns.values(), self.n, self.first, start, times, draws, places),
                *(weights, self.window, self.p, self.share),
            ),
        )

    def cut(self, edge: int) -> tuple[Floats, Floats]:
        """Sums of the buckets that are alive for sure, and of all that may be."""
        place, sums = self.across(edge), self.held("sums")[:, :-GUIDE]
        outer = sums[place:].sum(axis=0)
        if place == self.n or self.first[0] > edge or self.held("whole")[place]:
            return outer, outer
        return sums[place + 1 :].sum(axis=0), outer


class EhNorm(Laned[NormLane]):
    """Sum over items of the power `p` of their weight in the last `window`, or any part of it.

    Weights are above 0: with deletions no small state can do it.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    p
        Power, 1 to 2; 2 is the size of the self-join.
    copies
        Sums in a sketch; four times as many halve the error of the sketch.
    share
        Share of the norm that may go when buckets are put together; smaller ones make more buckets.
    delta
        Chance that a bar does not hold.
    seed
        Chooses the draws.

    Examples
    --------
    >>> norms = EhNorm(window=100, p=2.0, copies=400, share=0.05, seed=7)
    >>> norms.update(np.arange(1000) % 5, times=np.arange(1000))
    >>> print(norms.query(Moment(2)))
    1995.85 in [1720.67, 2271.03] at 95% confidence, eh_norm

    References
    ----------
    DGIM02, BO07, I06: docs/reference/synopses/windowed.md
    """

    name = "eh_norm"
    answers = (Moment,)
    takes = "keys"
    weights = "positive"
    small = (500, 2.0, 32, 0.1)

    def __init__(
        self,
        window: int,
        p: float = 2.0,
        copies: int = 200,
        share: float = 0.05,
        delta: float = 0.05,
        *,
        seed: int = 0,
    ) -> None:
        if not (1.0 <= p <= 2.0 and copies >= 3 and 0.0 < share < 1.0 and 0.0 < delta < 1.0):
            raise BindError(
                "eh_norm needs a power of 1 to 2, three copies, a share and a chance in (0, 1)",
                f"got p={p}, copies={copies}, share={share}, delta={delta}",
                "write EhNorm(window=3600, p=2.0, copies=200, share=0.05, delta=0.05)",
            )
        super().__init__(window, seed=seed)
        self.p = p
        self.copies = copies
        self.share = share
        self.delta = delta

    @property
    def guarantee(self) -> Guarantee:
        """A width that bars seldom reach; they are as wide as the sketches say."""
        return Guarantee(
            "relative",
            _width(self.p, self.copies, self.share, self.delta),
            self.delta,
            assumes=("draws made by hashing behave as independent ones", "the guide is right"),
            cite="BO07",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """A third of the tolerance for the buckets, the rest for the sketches."""
        window, p = window_of(cls.name, need), getattr(need.question, "p", math.nan)
        within, delta = relative_error(cls.name, need.contract), 1.0 - need.contract.confidence
        share = (within / 3.0 / p) ** p
        if 1.0 <= p <= 2.0 and delta > 0.0:
            for copies in (2**power for power in range(4, 21)):
                if _width(p, copies, share, delta) <= within:
                    return cls(window, p, copies, share, delta, seed=seed)
        raise ContractUnsatisfiable(
            "eh_norm owes a share of the sum of powers 1 to 2 at a confidence below 100%",
            f"asked for {need.question} {need.contract}",
            "write Contract.relative(0.3, confidence=0.95)",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Items that come back, and a window that cuts a bucket."""
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 40, 700)
        now = 700 + seed % 300
        return Trial(rows, Moment(2.0), times=np.arange(700, dtype=np.int64), now=now)

    def _lane(self) -> NormLane:
        return NormLane(self.window, self.p, self.copies, self.share)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        weight = np.ones(len(column)) if weights is None else weights
        for start in range(0, len(column), _CHUNK):
            part = slice(start, start + _CHUNK)
            found, places = np.unique(column[part], return_inverse=True)
            draws = np.empty((len(found), self.copies + GUIDE))
            _draw(found, np.uint64(self.seed), self.p, draws)
            self._first_lane().add(
                instants[part], draws, places.astype(np.int64), np.ascontiguousarray(weight[part])
            )
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        if question.p != self.p:
            raise not_about(self.name, f"powers of {question.p:g}", f"powers of {self.p:g}")
        cuts = [] if self.now is None else [lane.cut(self.now - window) for lane in self.lanes]
        nothing = np.zeros(self.copies)
        inner = self._log_norm(sum((cut[0] for cut in cuts), nothing))
        outer = self._log_norm(sum((cut[1] for cut in cuts), nothing))
        if math.isinf(outer):
            return self._bar(0.0, 0.0, 0.0)
        off = law(self.p, self.copies, self.delta, _estimator(self.p))
        low, high = math.exp(inner + off.low), math.exp(outer + off.high)
        return self._bar((low + high) / 2.0, low, high)

    def _log_norm(self, sums: Floats) -> float:
        """The statistic of the sums that the law speaks of, in logarithms."""
        if not sums.any():
            return -math.inf
        if self.p == 2.0:
            return math.log(float((sums**2).mean()))
        return self.p * float(np.log(np.maximum(np.abs(sums), 1e-300)).mean())

    def validate(self) -> None:
        """Times rise."""
        assert all((np.diff(lane.times) >= 0).all() for lane in self.lanes)


def _estimator(p: float) -> str:
    return "euclidean" if p == 2.0 else "geometric"


def _width(p: float, copies: int, share: float, delta: float) -> float:
    """Half-width that bars exceed with chance `delta` at most, as a share of their middle.

    The sketch of the inner rows may be as low, and that of the outer rows as high, as their law
    allows; so the width of the law counts twice.
    """
    off = law(p, copies, delta, _estimator(p))
    # A function of p-th powers that lost `share` when buckets were put together has lost no more
    # than this ever after.
    kept = max(0.0, 1.0 - p * share ** (1.0 / p))
    ratio: float = kept * math.exp(2.0 * (off.low - off.high))
    return (1.0 - ratio) / (1.0 + ratio)


@compiled
def _draw(keys, seed, p, out):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        base = mix64(keys[i] ^ mix64(seed))
        for j in range(out.shape[1]):
            first = mix64(base + np.uint64(2 * j))
            second = mix64(base + np.uint64(2 * j + 1))
            if p == 2.0:
                # The same law as below, with fewer logarithms.
                angle = (np.float64(first >> np.uint64(11)) + 0.5) * (0.5 * math.pi / 2.0**53)
                other = (np.float64(second >> np.uint64(11)) + 0.5) / 2.0**53
                size = 2.0 * math.sin(angle) * math.sqrt(-math.log(other))
            else:
                size = math.exp(log_draw(first, second, p))
            out[i, j] = size if second & np.uint64(1) else -size


@compiled
def _norm(newer, total, sums, i, p):  # type: ignore[no-untyped-def]
    """Norm told by the guide, of all newer buckets, one more, and one of the table (or none)."""
    shift = sums.shape[1] - GUIDE
    found = 0.0
    for j in range(GUIDE):
        value = newer[j] + total[shift + j]
        if i >= 0:
            value += sums[i, shift + j]
        found += value * value if p == 2.0 else math.log(max(abs(value), 1e-300))
    return found if p == 2.0 else math.exp(p * found / GUIDE)


@compiled
def _append(  # type: ignore[no-untyped-def]
    times, whole, sums, n, first, start, new_times, draws, places, weights, window, p, share
):
    for i in range(start, len(new_times)):
        instant = new_times[i]
        if n > 0 and instant - times[n - 1] >= window:
            n = 0
        # The newest bucket is never swept together, so all of it has one time.
        if n == 0 or times[n - 1] != instant:
            if n == len(times):
                n = _sweep(times, whole, sums, n, instant - window, p, share)
                if 2 * n > len(times):
                    return n, i
            if n == 0:
                first[0] = instant
            times[n] = instant
            whole[n] = 1
            for j in range(sums.shape[1]):
                sums[n, j] = 0.0
            n += 1
        for j in range(sums.shape[1]):
            sums[n - 1, j] += weights[i] * draws[places[i], j]
    return n, len(new_times)


@compiled
def _sweep(times, whole, sums, n, edge, p, share):  # type: ignore[no-untyped-def]
    """Put neighbours together, newest first, where the newer rows keep nearly all of the norm."""
    write = n
    copies = sums.shape[1]
    newer = np.zeros(GUIDE)
    total = np.zeros(copies)
    i = n - 1
    while i >= 0 and times[i] > edge:
        for j in range(copies):
            total[j] = 0.0
        least = _norm(newer, total, sums, -1, p) if write < n else -1.0
        for j in range(copies):
            total[j] = sums[i, j]
        instant = times[i]
        one = whole[i]
        i -= 1
        while i >= 0 and times[i] > edge:
            if least < (1.0 - share) * _norm(newer, total, sums, i, p):
                break
            for j in range(copies):
                total[j] += sums[i, j]
            one = 0
            i -= 1
        write -= 1
        times[write] = instant
        whole[write] = one
        for j in range(copies):
            sums[write, j] = total[j]
        for j in range(GUIDE):
            newer[j] += total[copies - GUIDE + j]
    kept = n - write
    for row in range(kept):
        times[row] = times[write + row]
        whole[row] = whole[write + row]
        for j in range(copies):
            sums[row, j] = sums[write + row, j]
    return kept
