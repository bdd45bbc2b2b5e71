"""Deadlines: how long a published value may stand before a drift model wants a new one.

The move of a value after t ticks is taken as normal with mean mu t and variance
var t + (var / seen) t^2; the second term is the error of a drift estimated from `seen` ticks. A
value is inside while its move is at most eps. Four readings of a confidence p:

mean
    The share of the wait that is inside is p: the longest wait that keeps the fidelity.
end
    The probability to be inside has fallen to p when the wait ends.
throughout
    The probability never to have been outside has fallen to p (first passage).
above
    The probability to be no higher than eps above has fallen to p; the drift has a sign.

All but the last are one table per confidence. Its axes come from the tick t0 at which drift plus
one standard deviation make eps: the share of eps that is drift then, and the share of the variance
that is error of the drift. Both lie in [0, 1] whatever the arguments, and the wait in units of
t0 is a smooth function of them. The last has a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import Floats

MEAN, END, THROUGHOUT, ABOVE = 0, 1, 2, 3
FORMS = {"mean": MEAN, "end": END, "throughout": THROUGHOUT, "above": ABOVE}

# Below, the wait of a value without drift is so many t0 that the table would be too coarse; above,
# what is left to lose is lost in rounding.
LOWEST, HIGHEST = 0.5, 0.999999

_DRIFTS, _ERRORS = 65, 33
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_IMAGES = np.arange(-4.0, 5.0)
# Beyond so many standard deviations nothing happens that a table could show.
_FAR = 8.0
# The same for the sum over ticks, which is there for tens of them.
_SURE = 6.0
# The sum over ticks is an integral and an end correction when so many ticks see the probability
# fall, and when there are so many that one more or less is nothing.
_STEEP, _MANY = 16.0, 1e6


def _reach(quantile: float, drift: Floats, even: Floats, lasting: Floats) -> Floats:
    """When a bound of 1 is `quantile` standard deviations ahead of the drift; see `reach`."""
    root = np.sqrt(quantile**2 * even**2 + 4.0 * (drift * even + lasting))
    below = 2.0 * drift + quantile**2 * even + quantile * root
    with np.errstate(divide="ignore"):
        times: Floats = np.where(below > 0.0, 2.0 / below, np.inf)
    return times


def _within(t: Floats, drift: Floats, even: Floats, lasting: Floats) -> Floats:
    """Probability that a move of variance even t + lasting t^2 is at most 1 at t."""
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(t) * np.sqrt(even + lasting * t)
        chance = ndtr((1.0 - drift * t) / deviation) - ndtr((-1.0 - drift * t) / deviation)
    found: Floats = np.where(deviation > 0.0, chance, np.where(drift * t <= 1.0, 1.0, 0.0))
    return found


def _share(t: Floats, drift: Floats, even: Floats, lasting: Floats) -> Floats:
    """Mean of `_within` over [0, t]."""
    # Where it is 1 and where it is 0 is known, so that all nodes see it fall, however steeply.
    first = np.minimum(_reach(_FAR, drift, even, lasting), t)
    last = np.minimum(_reach(-_FAR, drift, even, lasting), t)
    half, middle = 0.5 * np.log(last / first), np.sqrt(first * last)
    nodes = middle[..., None] * np.exp(half[..., None] * _NODES)
    inner = _within(nodes, drift[..., None], even[..., None], lasting[..., None])
    found: Floats = (first + half * ((inner * nodes) @ _WEIGHTS)) / t
    return found


def _survival(t: Floats, drift: Floats, even: Floats, lasting: Floats) -> Floats:
    """Probability that a move was at most 1 all the time until t; for t up to about 4 / even.

    The method of images; each image is exponential in the drift, so its mean over a normal law of
    the drift is an image again.
    """
    t, drift, even, lasting = (part[..., None] for part in (t, drift, even, lasting))
    place = 2.0 * _IMAGES
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weight = place * drift / even + 0.5 * (place / even) ** 2 * lasting
        centre = np.abs(place + (drift + place * lasting / even) * t)
        deviation = np.sqrt(t) * np.sqrt(even + lasting * t)
        near = np.exp(weight + log_ndtr((1.0 - centre) / deviation))
        far = np.exp(weight + log_ndtr((-1.0 - centre) / deviation))
        images = (near - far) @ np.where(_IMAGES % 2.0 == 0.0, 1.0, -1.0)
    # Weights so large leave no digits, and no path that goes out and comes back.
    smooth = np.abs(weight).max(axis=-1) > 1e9
    plain = _within(*(part[..., 0] for part in (t, drift, even, lasting)))
    found: Floats = np.where(smooth | (even[..., 0] == 0.0) | (t[..., 0] == 0.0), plain, images)
    return found


def _solved(
    chance: Callable[[Floats], Floats], confidence: float, shape: tuple[int, ...]
) -> Floats:
    """Where a falling probability is the confidence, for a whole grid at once."""

    def surplus(logarithm: Floats) -> Floats:
        return chance(np.exp(logarithm)) - confidence

    one = np.zeros(shape)
    at_one = surplus(one)
    step = np.where(at_one > 0.0, 0.5, -0.5)
    other = one + step
    at_other = surplus(other)
    while np.any(open_ := at_one * at_other > 0.0):
        step = np.where(open_, 2.0 * step, step)
        one, at_one = np.where(open_, other, one), np.where(open_, at_other, at_one)
        other = np.where(open_, other + step, other)
        at_other = surplus(other)
    # Regula falsi that halves the weight of an end that stays (Illinois). The images of first
    # passage are rounded at about 1e-8, so there is an end to what can be had.
    for _ in range(40):
        if np.max(np.abs(at_other)) <= 1e-6 * (1.0 - confidence):
            break
        rise = at_other - at_one
        new = other - at_other * (other - one) / np.where(rise == 0.0, 1.0, rise)
        at_new = surplus(new)
        crossed = at_new * at_other < 0.0
        one = np.where(crossed, other, one)
        at_one = np.where(crossed, at_other, 0.5 * at_one)
        other, at_other = new, at_new
    found: Floats = np.exp(other)
    return found


_CHANCES = {"mean": _share, "end": _within, "throughout": _survival}


def _checked(confidence: float, form: str) -> None:
    if form not in FORMS:
        raise BindError(
            f"unknown form of a deadline {form!r}",
            f"the forms are {', '.join(FORMS)}",
            "take mean, which keeps the share of time inside",
        )
    if not LOWEST <= confidence <= HIGHEST:
        raise BindError(
            f"no deadline holds a confidence of {confidence:g}",
            f"a drift model serves {LOWEST:g} to {HIGHEST:g}",
            "ask for 0.95, or for an exact answer in place of a confidence of 1",
        )


@lru_cache(maxsize=256)
def tables(confidence: float, form: str = "mean") -> Floats:
    """What `look_up` and `wait` need to know of a confidence.

    Plane 0 has the wait in units of t0 by share of drift and share of error. Plane 1 has how much
    of the spacing of the ticks is added to it: the tick of an evaluation is inside for sure. For
    the form above plane 0 is the normal quantile and plane 1 is -1, so that all have one shape.

    >>> made = tables(0.95)
    >>> made.shape, float(made[0, 0, 0])
    ((2, 65, 33), 0.466)
    """
    _checked(confidence, form)
    drift, error = np.meshgrid(
        np.linspace(0.0, 1.0, _DRIFTS)[:-1], np.linspace(0.0, 1.0, _ERRORS), indexing="ij"
    )
    variance = (1.0 - drift) ** 2
    law = {"drift": drift, "even": variance * (1.0 - error), "lasting": variance * error}
    found = np.zeros((2, _DRIFTS, _ERRORS))
    if form == "above":
        found[0], found[1] = ndtri(confidence), -1.0
        return found
    waits = _solved(partial(_CHANCES[form], **law), confidence, drift.shape)
    found[0, :-1] = waits
    # All drift and no noise: inside until 1, outside from there.
    found[0, -1] = 1.0 / confidence if form == "mean" else 1.0
    if form == "mean":
        last = _within(waits, **law)
        found[1, :-1] = 0.5 * (1.0 - last) / (confidence - last)
        found[1, -1] = 0.5 / confidence
    return found


@compiled
def reach(quantile: float, mu: float, var: float, eps: float, seen: float) -> Any:
    """When eps is `quantile` standard deviations ahead of the drift; infinite when never.

    The root of eps - mu t = quantile * sqrt(var t + (var / seen) t^2), written without cancelling.

    >>> reach(1.0, 0.0, 4.0, 6.0, np.inf)
    9.0
    >>> reach(1.0, -3.0, 4.0, 6.0, np.inf)
    inf
    """
    if quantile < 0.0 and mu <= 0.0:
        return math.inf
    if mu == -math.inf:
        return math.inf
    if mu == math.inf or var == math.inf or not seen > 0.0:
        return 0.0
    even = var / eps
    lasting = 0.0 if seen == math.inf else var / seen
    root = quantile * quantile * even * even + 4.0 * (mu * even + lasting)
    if root < 0.0:
        return math.inf
    below = 2.0 * mu + quantile * quantile * even + quantile * math.sqrt(root)
    return 2.0 * eps / below if below > 0.0 else math.inf


@compiled
def _between(tables: Floats, plane: int, drift: float, error: float) -> Any:
    """Bilinear interpolation on the unit square."""
    # Indexed in full: a slice of an array is counted, which costs as much as the look-up.
    across = min(max(drift, 0.0), 1.0) * (tables.shape[1] - 1)
    along = min(max(error, 0.0), 1.0) * (tables.shape[2] - 1)
    i = min(int(across), tables.shape[1] - 2)
    j = min(int(along), tables.shape[2] - 2)
    across -= i
    along -= j
    low = tables[plane, i, j] * (1.0 - along) + tables[plane, i, j + 1] * along
    high = tables[plane, i + 1, j] * (1.0 - along) + tables[plane, i + 1, j + 1] * along
    return low * (1.0 - across) + high * across


@compiled
def look_up(tables: Floats, d: float, kappa: float) -> Any:
    """The wait in units of eps^2 / var, ticks being dense.

    `d` is mu eps / var and `kappa` is eps^2 / var / seen. Infinite when the drift leads away from
    a one-sided bound for good.

    >>> look_up(tables(0.95), 0.0, 0.0), look_up(tables(0.95), 2.0, 1.0)
    (0.466, 0.248)
    """
    if math.isnan(d) or math.isnan(kappa):
        return math.nan
    seen = 1.0 / kappa if kappa > 0.0 else math.inf
    if tables[1, 0, 0] < 0.0:
        return reach(tables[0, 0, 0], d, 1.0, 1.0, seen)
    start = reach(1.0, abs(d), 1.0, 1.0, seen)
    if start == 0.0:
        return 0.0
    return start * _between(tables, 0, abs(d) * start, start / (seen + start))


@compiled
def _inside_at(t: float, mu: float, var: float, eps: float, seen: float) -> Any:
    deviation = math.sqrt(var * t * (1.0 + t / seen))
    if deviation == 0.0:
        return 1.0 if mu * t <= eps else 0.0
    half = 0.7071067811865476 / deviation
    return 1.0 - 0.5 * (math.erfc((eps - mu * t) * half) + math.erfc((eps + mu * t) * half))


@compiled
def _summed(
    mu: float, var: float, eps: float, seen: float, spacing: float, confidence: float
) -> Any:
    """The wait, in ticks that are `spacing` apart, whose expected share inside is the confidence.

    Between whole numbers of spacings it is linear, as for a wait that is dithered between them.
    """
    n = math.floor(reach(_SURE, mu, var, eps, seen) / spacing) + 1.0
    surplus = n * (1.0 - confidence)
    while True:
        chance = _inside_at(n * spacing, mu, var, eps, seen)
        lacking = confidence - chance
        # Written so that a NaN ends it as well.
        if not lacking <= surplus:
            return (n + surplus / lacking) * spacing
        surplus -= lacking
        n += 1.0
        if chance < 1e-9:
            return (n + surplus / confidence) * spacing


@compiled
def wait(
    tables: Floats,
    mu: float,
    var: float,
    eps: float,
    seen: float,
    spacing: float,
    confidence: float,
    form: int,
) -> Any:
    """Ticks from an evaluation to the next.

    `tables` are those of the confidence and the form, whose code is in `FORMS`. For the mean the
    wait is meant to be dithered: 2.25 spacings are 2 three times of four and 3 once. A value that
    cannot move waits for ever, a bound of 0 not at all, and NaN gives NaN.

    Parameters
    ----------
    tables
        From `tables(confidence, form)`.
    mu
        Drift per tick.
    var
        Variance per tick.
    eps
        Largest tolerated move; for the form above, how far the bound is above the value.
    seen
        Ticks of data behind `mu`; infinite if it is known.
    spacing
        Ticks from one with rows to the next; 0 for dense ones.
    confidence
        The share or probability to keep.
    form
        One of MEAN, END, THROUGHOUT, ABOVE.

    Examples
    --------
    >>> wait(tables(0.95), 0.0, 1.0, 10.0, np.inf, 0.0, 0.95, MEAN)
    46.6
    >>> wait(tables(0.95), 0.0, 1.0, 10.0, np.inf, 1.0, 0.95, MEAN)
    47.4
    """
    if math.isnan(mu) or math.isnan(eps) or math.isnan(seen) or not (var >= 0.0 and spacing >= 0.0):
        return math.nan
    if eps <= 0.0:
        return 0.0
    if form == ABOVE:
        return reach(tables[0, 0, 0], mu, var, eps, seen)
    drift = abs(mu)
    start = reach(1.0, drift, var, eps, seen)
    if start == math.inf:
        return math.inf
    if start == 0.0:
        return spacing / confidence if form == MEAN else 0.0
    share, error = drift * start / eps, start / (seen + start)
    dense = start * _between(tables, 0, share, error)
    if form != MEAN or spacing == 0.0:
        return dense
    # Ticks from where the value is inside for sure to where it is as likely not as it is.
    turn = dense if drift * dense <= eps else eps / drift
    falling = turn - reach(_SURE, drift, var, eps, seen)
    if falling < _STEEP * spacing and dense < _MANY * spacing:
        return _summed(drift, var, eps, seen, spacing, confidence)
    return dense + spacing * _between(tables, 1, share, error)


@compiled
def _waits(
    tables: Floats,
    mu: Floats,
    var: Floats,
    eps: Floats,
    seen: Floats,
    spacing: Floats,
    confidence: float,
    form: int,
) -> Any:
    found = np.empty(len(mu))
    for i in range(len(mu)):
        found[i] = wait(tables, mu[i], var[i], eps[i], seen[i], spacing[i], confidence, form)
    return found


def deadlines(
    mu: npt.ArrayLike,
    sigma: npt.ArrayLike,
    eps: npt.ArrayLike,
    *,
    confidence: float,
    form: str = "mean",
    seen: npt.ArrayLike = np.inf,
    spacing: npt.ArrayLike = 1.0,
) -> Floats:
    """Ticks to wait for many cells at once; see `wait`.

    Parameters
    ----------
    mu, sigma
        Drift and standard deviation per tick.
    eps
        Largest tolerated move; for the form above, how far the bound is above the value.
    confidence
        The share or probability to keep, from 0.5 to 0.999999.
    form
        mean, end, throughout or above.
    seen
        Ticks of data behind `mu`. Few make waits for wide bounds much shorter.
    spacing
        Ticks from one with rows to the next; 0 for dense ones.

    Examples
    --------
    >>> deadlines(0.0, [0.0, 0.5, 1.0], 10.0, confidence=0.95).round(1)
    array([  inf, 187.2,  47.4])
    >>> deadlines(0.0, 1.0, 10.0, confidence=0.95, form="end", seen=[100, np.inf]).round(1)
    array([21.4, 26. ])
    """
    made = tables(confidence, form)
    columns = (mu, np.square(np.asarray(sigma, np.float64)), eps, seen, spacing)
    parts = np.broadcast_arrays(*(np.asarray(column, np.float64) for column in columns))
    flat = [np.ascontiguousarray(part).ravel() for part in parts]
    found: Floats = _waits(made, *flat, confidence, FORMS[form]).reshape(parts[0].shape)
    return found


def inside(x: npt.ArrayLike, d: npt.ArrayLike, kappa: npt.ArrayLike = 0.0) -> Floats:
    """Probability to be inside x after an evaluation, x in units of eps^2 / var.

    >>> inside([0.0, 1.0], 0.0), inside(1.0, 0.5, 0.25)
    (array([1.        , 0.68268949]), array(0.58278333))
    """
    columns = (np.asarray(part, np.float64) for part in (x, np.abs(d), 1.0, kappa))
    return _within(*np.broadcast_arrays(*columns))


def passage(x: npt.ArrayLike, d: npt.ArrayLike) -> Floats:
    """Probability to have been inside all the time until x, in units of eps^2 / var.

    >>> passage([0.5, 1.0, 2.0], 0.0)
    array([0.6855, 0.3708, 0.1080])
    """
    columns = (np.asarray(part, np.float64) for part in (x, np.abs(d), 1.0, 0.0))
    t, drift, even, none = np.broadcast_arrays(*columns)
    # The images converge where little time has gone by, the waves where much has.
    odd = np.arange(1.0, 12.0, 2.0)
    late = np.maximum(t, 1.0)[..., None]
    size = drift[..., None]
    phase = 0.5 * np.pi * odd
    signs = np.where(odd % 4.0 == 1.0, 1.0, -1.0)
    fading = np.exp(size - 0.5 * size**2 * late - 0.5 * phase**2 * late)
    waves = (1.0 + np.exp(-2.0 * drift)) * ((fading * phase / (size**2 + phase**2)) @ signs)
    found: Floats = np.where(t <= 1.0, _survival(t, drift, even, none), waves)
    return found
