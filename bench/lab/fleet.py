"""The filters of many objects at once, for simulation: `curve.py` compiled, a row per object.

It does what `SourceFilter` does for readings that all objects have at the same ticks, update by
update, without regions.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.filters import curve
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
from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

# In the order in which they call each other.
_SHARED = (
    "shut", "blank", "reach", "leaves", "passing", "inner", "restless", "ripple", "climb",
    "lean", "follow", "best_mode", "recentre", "shape", "diffusion", "at_width", "curve",
    "fresh", "begin", "rebase", "widen", "pause", "tell", "stale",
)  # fmt: skip


def _compiled_curve() -> dict[str, Any]:
    """The functions of `curve.py`, each compiled with compiled ones where it calls others."""
    names = dict(vars(curve))
    for name in _SHARED:
        function = getattr(curve, name)
        names[name] = compiled(FunctionType(function.__code__, names, name))
    return names


_NAMES = _compiled_curve()
_ripple = _NAMES["ripple"]
_blank, _leaves, _passing = _NAMES["blank"], _NAMES["leaves"], _NAMES["passing"]
_inner, _follow, _recentre = _NAMES["inner"], _NAMES["follow"], _NAMES["recentre"]
_curve, _widen, _tell, _stale = (_NAMES[name] for name in ("curve", "widen", "tell", "stale"))
# Columns of what was sent: object, at, value, version, slope, rate, power.
_PARTS = 7


class Sent(NamedTuple):
    """Updates of one tick as columns.

    Parameters
    ----------
    objects, at, values, versions, slopes, rates, powers
        As in `Update`.
    """

    objects: Whole
    at: Floats
    values: Floats
    versions: Whole
    slopes: Floats
    rates: Floats
    powers: Floats


class Fleet:
    """Filters of n objects that are read at the same ticks.

    Parameters
    ----------
    n_objects
        How many.
    models
        Whether bounds may move with values that drift.
    learning
        Whether objects tell by themselves that they became quiet.

    Examples
    --------
    >>> fleet = Fleet(2)
    >>> tick, sent = fleet.run(np.array([[1.0, 5.0], [1.0, 6.0]]), 0)
    >>> tick, sent.objects
    (0, array([0, 1]))
    >>> fleet.grant(np.array([1]), np.array([1]), np.array([4.0]), 0.0).objects.size
    0
    >>> tick, sent = fleet.run(np.array([[1.0, 6.0], [1.0, 8.0]]), 1)
    >>> tick, sent.objects, sent.versions
    (2, array([1]), array([1]))
    """

    def __init__(self, n_objects: int, *, models: bool = True, learning: bool = True) -> None:
        self.models = models
        self.learning = learning
        self.rows: Floats = np.zeros((n_objects, SIZE))
        for number in range(n_objects):
            _blank(self.rows[number])
        # A moving bound can be left twice between ticks, at the tick, and then become quiet.
        self._out: Floats = np.zeros((4 * n_objects + 1, _PARTS))

    def run(self, values: Floats, first: int, tick: float = curve.SECOND) -> tuple[int, Sent]:
        """Offer readings, a row a tick, until one sends; give its number and what was sent.

        Parameters
        ----------
        values
            Readings, ticks by objects.
        first
            Number of the first row's tick.
        tick
            Microseconds between ticks.

        Returns
        -------
        tuple
            The tick that was the last one read, and its updates; none when all were silent.
        """
        last, count = _run(self.rows, values, first, tick, self._out, self.models, self.learning)
        return int(last), _sent(self._out[:count])

    def grant(self, objects: Whole, versions: Whole, widths: Floats, at: float) -> Sent:
        """Put grants in force; give the updates that narrower bounds make."""
        count = _grant(self.rows, objects, versions, widths, float(at), self._out, self.models)
        return _sent(self._out[:count])

    @property
    def centres(self) -> Floats:
        """Centres when they were sent."""
        return self.rows[:, CENTRE]

    @property
    def widths(self) -> Floats:
        """Full widths in force."""
        return 2.0 * self.rows[:, HALF]

    @property
    def versions(self) -> Whole:
        """Versions in force."""
        return self.rows[:, VERSION].astype(np.int64)


def _sent(parts: Floats) -> Sent:
    kept = parts.copy()
    return Sent(
        kept[:, 0].astype(np.int64),
        kept[:, 1],
        kept[:, 2],
        kept[:, 3].astype(np.int64),
        kept[:, 4],
        kept[:, 5],
        kept[:, 6],
    )


@compiled
def _send(
    row: Floats, number: int, at: float, value: float, out: Floats, models: bool, asked: bool
) -> None:
    rate, power = _curve(row, at)
    _recentre(row, at, value, models)
    _tell(row, at, asked)
    out[0], out[1], out[2], out[3] = number, at, value, row[VERSION]
    out[4], out[5], out[6] = row[SLOPE], rate, power


@compiled
def _lapsed(row: Floats, number: int, at: float, out: Floats, count: int, models: bool) -> int:
    """Updates for a moving bound that left the last reading before an instant."""
    while row[SLOPE] != 0.0:
        left = _passing(row, at)
        if left >= at:
            break
        _send(row, number, left, row[VALUE], out[count], models, True)
        count += 1
    return count


@compiled
def _outside(
    row: Floats, number: int, at: float, value: float, out: Floats, count: int, models: bool
) -> int:
    """A reading that a bound or a shadow is left by; the updates there are with it."""
    if not np.isfinite(value):
        return count
    count = _lapsed(row, number, at, out, count, models)
    first = np.isnan(row[VALUE])
    if not first:
        _follow(row, at, value)
    row[AT] = at
    row[VALUE] = value
    row[FRESH] = 1.0
    if first:
        _widen(row, 2.0 * row[HALF])
    if _leaves(row, at, value):
        _send(row, number, at, value, out[count], models, True)
        return count + 1
    _inner(row)
    return count


@compiled
def _run(
    rows: Floats,
    values: Floats,
    first: int,
    tick: float,
    out: Floats,
    models: bool,
    learning: bool,
) -> tuple[int, int]:
    count = 0
    for place in range(values.shape[0]):
        at = (first + place) * tick
        for number in range(rows.shape[0]):
            row = rows[number]
            value = values[place, number]
            if row[LOW] <= value <= row[HIGH]:
                row[AT] = at
                row[VALUE] = value
            elif row[CALM_LOW] <= value <= row[CALM_HIGH]:
                _ripple(row, at, value)
            else:
                count = _outside(row, number, at, value, out, count, models)
            if learning and row[DUE] <= at and _stale(row, at):
                _send(row, number, at, row[VALUE], out[count], models, False)
                count += 1
        if count:
            return first + place, count
    return first + values.shape[0] - 1, count


@compiled
def _grant(
    rows: Floats,
    objects: Whole,
    versions: Whole,
    widths: Floats,
    at: float,
    out: Floats,
    models: bool,
) -> int:
    count = 0
    for rank in range(objects.size):
        number = objects[rank]
        row = rows[number]
        if versions[rank] <= row[VERSION]:
            continue
        count = _lapsed(row, number, at, out, count, models)
        unheard = row[HALF] == np.inf
        narrower = widths[rank] < 2.0 * row[HALF]
        row[VERSION] = versions[rank]
        _widen(row, widths[rank])
        if not narrower or np.isnan(row[VALUE]):
            continue
        value = row[VALUE]
        if unheard or (_leaves(row, at, value) and value != row[CENTRE]):
            _send(row, number, at, value, out[count], models, True)
            count += 1
    return count


def bounds_at(fleet: Fleet, at: float) -> Floats:
    """Centres at an instant, moved along their slopes."""
    rows = fleet.rows
    centres: Floats = rows[:, CENTRE].copy()
    moving = rows[:, SLOPE] != 0.0
    centres[moving] += rows[moving, SLOPE] * ((at - rows[moving, SINCE]) / curve.SECOND)
    return centres
