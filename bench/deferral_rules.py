"""Rules for when an answer is brought up to date, on a whole path: printed, first exit, best.

Positions are places in a path whose times are whole ticks, with gaps. Each rule gives the positions
at which it evaluates; the answer given in between is the value there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from streamgauge.kernel.jit import compiled

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Items of a series that the printed estimates rest on.
ITEMS = 100
BLOCK = 256
HALVINGS = 50


@dataclass(frozen=True, slots=True)
class Score:
    """How often a rule evaluated, and how often what it had given was within the bound.

    Examples
    --------
    >>> path = np.array([0.0, 1.0, 2.0, 3.0])
    >>> scored(path, np.array([0, 2]), path[[0, 2]], 0.5)
    Score(evaluations=2, fidelity=0.5)
    """

    evaluations: int
    fidelity: float


def scored(path: Floats, places: Ints, values: Floats, epsilon: float) -> Score:
    """Score answers given at places of a path, from the first of them on."""
    if len(places) == 0:
        return Score(0, float("nan"))
    now = np.arange(places[0], len(path))
    given = values[np.searchsorted(places, now, side="right") - 1]
    # A bound met exactly must not fail by the rounding of the last digit.
    room = epsilon + 1e-9 * max(1.0, float(np.abs(path).max()))
    return Score(len(places), float(np.mean(np.abs(path[places[0] :] - given) <= room)))


def first_exit(path: Floats, epsilon: float) -> Ints:
    """Evaluate at the first tick outside of the bound.

    >>> first_exit(np.array([0.0, 1.0, 2.0, 0.0]), 1.0).tolist()
    [0, 2, 3]
    """
    found: Ints = _first_exit(np.ascontiguousarray(path), epsilon)
    return found


@compiled
def _first_exit(path: Floats, epsilon: float) -> Ints:
    out = np.empty(len(path), np.int64)
    n = 0
    given = np.nan
    for i in range(len(path)):
        if not abs(path[i] - given) <= epsilon:
            given = path[i]
            out[n] = i
            n += 1
    return out[:n]


def optimum(path: Floats, epsilon: float) -> int:
    """Fewest evaluations that keep a path within the bound everywhere, known beforehand.

    What lies before the first exit from some evaluated value is covered by it; the next evaluation
    may be anywhere up to that exit, so the farthest reach of all of them counts.

    >>> optimum(np.array([0.0, 1.0, 2.0, 0.0]), 1.0)
    2
    """
    return int(_optimum(np.ascontiguousarray(path), epsilon))


@compiled
def _optimum(path: Floats, epsilon: float) -> int:
    n = len(path)
    blocks = (n + BLOCK - 1) // BLOCK
    low, high = np.empty(blocks), np.empty(blocks)
    for b in range(blocks):
        part = path[b * BLOCK : (b + 1) * BLOCK]
        low[b], high[b] = part.min(), part.max()
    evaluations, start, reach = 0, 0, 0
    while reach < n:
        farthest = reach
        for i in range(start, reach + 1):
            farthest = max(farthest, _exit(path, low, high, i, epsilon))
        start, reach = reach + 1, farthest
        evaluations += 1
    return evaluations


@compiled
def _exit(path: Floats, low: Floats, high: Floats, i: int, epsilon: float) -> int:
    """The first place after one where the path is outside; whole blocks inside are passed over."""
    n, bottom, top = len(path), path[i] - epsilon, path[i] + epsilon
    j = i + 1
    while j < n:
        if j % BLOCK == 0 and low[j // BLOCK] >= bottom and high[j // BLOCK] <= top:
            j += BLOCK
            continue
        if path[j] < bottom or path[j] > top:
            return j
        j += 1
    return n


@dataclass(frozen=True, slots=True)
class Items:
    """The items of each series of a panel, one series after the other.

    Parameters
    ----------
    tick, value
        Time and value of each item.
    start
        Where the items of each series begin; one more at the end.
    seen
        Items of each series up to and at each place of the panel.
    """

    tick: Ints
    value: Floats
    start: Ints
    seen: npt.NDArray[np.int32]

    @classmethod
    def of(cls, ticks: Ints, values: Floats, present: Flags) -> Items:
        """Items of a panel: its values where a series has a row."""
        own = [np.flatnonzero(present[:, m]) for m in range(values.shape[1])]
        return cls(
            np.concatenate([ticks[places] for places in own]),
            np.concatenate([values[places, m] for m, places in enumerate(own)]),
            np.cumsum([0, *map(len, own)]),
            np.cumsum(present, axis=0, dtype=np.int32),
        )


@compiled
def _drift(
    tick: Ints, value: Floats, start: Ints, seen: npt.NDArray[np.int32], at: int
) -> tuple[float, float]:
    """Printed estimates of an average, its series taken as independent; NaN before three items."""
    n_series = len(start) - 1
    mu, var = 0.0, 0.0
    for m in range(n_series):
        stop = start[m] + seen[at, m]
        first = max(start[m], stop - ITEMS)
        k = stop - first
        if k < 3:
            return np.nan, np.nan
        own = (value[stop - 1] - value[first]) / (tick[stop - 1] - tick[first])
        spread = 0.0
        for j in range(first + 1, stop):
            gap = tick[j] - tick[j - 1]
            spread += (value[j] - value[j - 1] - gap * own) ** 2 / gap
        mu += own / n_series
        var += spread / (k - 2) / n_series**2
    return mu, var


@compiled
def end_wait(mu: float, var: float, epsilon: float, p: float) -> float:
    """Printed wait: the smallest time after which the chance to be inside has fallen to p."""
    if not epsilon > 0.0 or np.isnan(mu + var):
        return 0.0
    if var <= 0.0:
        return np.inf if mu == 0.0 else epsilon / abs(mu)
    h, d = epsilon * epsilon / var, abs(mu) * epsilon / var
    # A chance of p > 1/2 needs the mean inside: d x < 1; and x is at most its driftless value.
    low, high = 0.0, 16.0 if d == 0.0 else min(16.0, 1.0 / d)
    for _ in range(HALVINGS):
        x = (low + high) / 2
        scale = sqrt(2.0 * x)
        if 0.5 * (erf((1.0 - d * x) / scale) + erf((1.0 + d * x) / scale)) > p:
            low = x
        else:
            high = x
    return h * low


@compiled
def above_wait(mu: float, var: float, gap: float, z: float) -> float:
    """Printed wait of a maximum: the chance to stay below a gap has fallen to that of z."""
    if np.isnan(mu + var):
        return 0.0
    spread = z * sqrt(var)
    under = spread * spread + 4.0 * mu * gap
    if under < 0.0 or spread + sqrt(under) <= 0.0:
        return np.inf
    return (2.0 * gap / (spread + sqrt(under))) ** 2


def printed(ticks: Ints, path: Floats, items: Items, epsilon: float, p: float) -> Ints:
    """The printed rule for an average: it waits until the chance to be inside is p at the end."""
    found: Ints = _printed(
        ticks, np.ascontiguousarray(path), items.tick, items.value, items.start, items.seen,
        epsilon, p,
    )  # fmt: skip
    return found


@compiled
def _printed(
    ticks: Ints, path: Floats, tick: Ints, value: Floats, start: Ints,
    seen: npt.NDArray[np.int32], epsilon: float, p: float,
) -> Ints:  # fmt: skip
    out = np.empty(len(path), np.int64)
    n, i = 0, 0
    while i < len(path):
        out[n] = i
        n += 1
        mu, var = _drift(tick, value, start, seen, i)
        i = _next(ticks, i, end_wait(mu, var, epsilon, p))
    return out[:n]


@compiled
def _next(ticks: Ints, i: int, wait: float) -> int:
    """The first place at or after a deadline, and after the present one."""
    if not wait < 2.0**60:
        return len(ticks)
    return int(i + 1 + np.searchsorted(ticks[i + 1 :], ticks[i] + wait))


def printed_peak(
    ticks: Ints, path: Floats, items: Items, epsilon: float, p: float, window: int
) -> Ints:
    """The printed rule for the sliding maximum of an average: the smaller of phi1 and phi2."""
    found: Ints = _printed_peak(
        ticks, np.ascontiguousarray(path), items.tick, items.value, items.start, items.seen,
        epsilon, float(ndtri(p)), window,
    )  # fmt: skip
    return found


@compiled
def _printed_peak(
    ticks: Ints, path: Floats, tick: Ints, value: Floats, start: Ints,
    seen: npt.NDArray[np.int32], epsilon: float, z: float, window: int,
) -> Ints:  # fmt: skip
    out = np.empty(len(path), np.int64)
    n, i = 0, 0
    while i < len(path):
        out[n] = i
        n += 1
        first = np.searchsorted(ticks[: i + 1], ticks[i] - window, side="right")
        top = path[first : i + 1].max()
        last = i
        while path[last] <= top - epsilon:
            last -= 1
        mu, var = _drift(tick, value, start, seen, i)
        phi1 = float(ticks[last] + window - ticks[i])
        phi2 = above_wait(mu, var, top + epsilon - path[i], z)
        i = _next(ticks, i, min(phi1, phi2))
    return out[:n]


def sliding_peak(ticks: Ints, path: Floats, window: int) -> Floats:
    """Maximum of a path over the last `window` ticks, at each of its places.

    >>> sliding_peak(np.array([1, 2, 3, 9]), np.array([5.0, 1.0, 2.0, 0.0]), 2).tolist()
    [5.0, 5.0, 2.0, 0.0]
    """
    found: Floats = _sliding_peak(ticks, np.ascontiguousarray(path), window)
    return found


@compiled
def _sliding_peak(ticks: Ints, path: Floats, window: int) -> Floats:
    out, kept = np.empty(len(path)), np.empty(len(path), np.int64)
    head, tail = 0, 0
    for i in range(len(path)):
        while tail > head and path[kept[tail - 1]] <= path[i]:
            tail -= 1
        kept[tail] = i
        tail += 1
        while ticks[kept[head]] <= ticks[i] - window:
            head += 1
        out[i] = path[kept[head]]
    return out
