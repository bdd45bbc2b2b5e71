"""What a source learns of one object by itself: how often it would send, and whether a slope pays.

One object is one row of numbers. A *ladder* of shadow filters, a factor of two apart from well
below the width in force to just above it, notes how far the value moved at each of its exits. At
the lowest step the sum of squared moves over the time they took is a diffusion; a filter of half
width `h` sends about `diffusion / h^2` times a second. The other steps do not count time but the
squared moves of the lowest one: for a random walk they agree with it however restless it gets or
quiet, so a change is seen at the lowest step, soon, and holds for all. Where values return or drift
they do not agree, and that is the power of the curve. Three more shadows at the width in force tell
whether a bound that moves with the value would be left less often than one that stays.

The functions work on lists and on rows of arrays alike, so that `fleet.py` can compile them.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from typing import Any, TypeAlias

Row: TypeAlias = "MutableSequence[float] | Any"

# Places in a row. While a value lies from LOW to HIGH no filter of the row is left.
LOW, HIGH, AT, VALUE = 0, 1, 2, 3
# The bound in force: centre at SINCE, half width, change per second; version of its grant.
CENTRE, SINCE, HALF, SLOPE, VERSION = 4, 5, 6, 7, 8
# Diffusion as told last, and when it is looked at again.
TOLD, DUE = 9, 10
# Exponent of two of the narrowest step of the ladder, then the steps.
BASE, LADDER = 11, 12
STEPS, STEP = 5, 4
# Within a step: centre, when it was put there (at the lowest; above: squared moves of the lowest
# since), sum of its squared moves, and what they took (seconds; squared moves of the lowest).
BEGAN, MOVED, TOOK = 1, 2, 3
LOW_BEGAN, LOW_MOVED, LOW_TOOK = LADDER + BEGAN, LADDER + MOVED, LADDER + TOOK
# Shadows that stay, follow the last move, follow the moves of a while.
MODES, KINDS, MODE = LADDER + STEPS * STEP, 3, 4
# Within a mode: centre, since, slope, exits.
LEANT, COUNT = 2, 3
# Sums of the third mode, and whether a reading came after the last send.
RISE, RUN, FRESH = MODES + KINDS * MODE, MODES + KINDS * MODE + 1, MODES + KINDS * MODE + 2
# While a value lies from CALM_LOW to CALM_HIGH only the lowest step can be left; its squared moves
# since another one was.
CALM_LOW, CALM_HIGH, RIPPLES = FRESH + 1, FRESH + 2, FRESH + 3
# The last move of the lowest step, squared, and how long it took.
LAST_MOVE, LAST_TOOK = RIPPLES + 1, RIPPLES + 2
# Half width of the lowest step.
LOWEST = LAST_TOOK + 1
SIZE = LOWEST + 1

SECOND = 1_000_000.0
LARGEST = 1.7976931348623157e308
# Exits that the lowest step remembers, and the others.
MEMORY, SHAPE = 32.0, 16.0
KEPT = 1.0 - 1.0 / MEMORY
# What the step below counts for, in exits.
PRIOR = 6.0
# A move counts for at most this many half widths, so that one jump is no diffusion.
LONGEST = 2.0
# Two moves that are so many times as quick as what is remembered are an awakening.
AWAKE = 8.0
# The slow slope remembers this many moves; counts of exits are halved at this many.
MOVES = 24.0
EXITS = 40.0
# A slope is taken when it saves this share of the exits.
WORTH = 0.9
# A source speaks up when its diffusion fell below this share of what it told.
STALE = 0.3
# And not before so many seconds of silence: the end of a burst is no news.
PATIENCE = 100.0
# Least power of a curve: where values jump, a wider bound hardly helps.
FLATTEST = 0.3
# Widths beyond these powers of two are served, but their squares are not worked with.
FINEST, COARSEST = -400, 400


def blank(row: Row) -> None:
    """Make a row that has read nothing.

    >>> row = [0.0] * SIZE
    >>> blank(row)
    >>> row[LOW] > row[HIGH], row[HALF]
    (True, 0.0)
    """
    for place in range(SIZE):
        row[place] = 0.0
    shut(row)
    row[AT] = row[SINCE] = -math.inf
    row[VALUE] = row[CENTRE] = row[BASE] = row[TOLD] = math.nan
    row[DUE] = math.inf


def shut(row: Row) -> None:
    """Have every reading looked at closely."""
    row[LOW] = row[CALM_LOW] = math.inf
    row[HIGH] = row[CALM_HIGH] = -math.inf


def reach(half: float, centre: float) -> float:
    """How far a value may be from the centre so that rounding never takes it out of the bound.

    >>> reach(0.5, 1.0) <= 0.5, reach(-0.5, 1.0), reach(0.0, 1e9)
    (True, -0.5, 0.0)
    """
    if half <= 0.0:
        return half
    return max(0.0, half - (abs(centre) + half) * 4.5e-16)


def leaves(row: Row, at: float, value: float) -> bool:
    """Whether a value is outside of the bound in force."""
    half = row[HALF]
    if half == math.inf:
        return False
    centre = row[CENTRE]
    if row[SLOPE] != 0.0:
        centre = centre + row[SLOPE] * ((at - row[SINCE]) / SECOND)
    return not abs(value - centre) <= reach(half, centre)


def passing(row: Row, at: float) -> float:
    """Instant before `at` up to which a moving bound still held the last reading, else infinity.

    A reading stands until the next one, so a bound that moves can leave it in between.
    """
    slope = row[SLOPE]
    if slope == 0.0 or not leaves(row, at, row[VALUE]):
        return math.inf
    ahead = row[VALUE] - row[CENTRE]
    if slope < 0.0:
        ahead = -ahead
    width = reach(row[HALF], abs(row[CENTRE]) + abs(row[VALUE]) + row[HALF])
    stays = math.floor((ahead + width) / abs(slope) * SECOND)
    last: float = max(row[AT], min(row[SINCE] + stays, at))
    return last


def inner(row: Row) -> None:
    """Set LOW to CALM_HIGH: where neither the bound in force nor a shadow is left."""
    half = row[HALF]
    if row[SLOPE] != 0.0 or half < 0.0 or not math.isfinite(row[CENTRE]):
        shut(row)
        return
    if half == math.inf:
        row[LOW], row[HIGH] = -LARGEST, LARGEST
        return
    own = reach(half, row[CENTRE])
    low, high = row[CENTRE] - own, row[CENTRE] + own
    if math.isnan(row[BASE]):
        row[LOW], row[HIGH] = low, high
        row[CALM_LOW], row[CALM_HIGH] = math.inf, -math.inf
        return
    lowest = row[LOWEST]
    step = lowest + lowest
    for place in range(LADDER + STEP, MODES, STEP):
        around = row[place]
        if around - step > low:
            low = around - step
        if around + step < high:
            high = around + step
        step = step + step
    row[CALM_LOW], row[CALM_HIGH] = low, high
    row[LOW] = max(low, row[LADDER] - lowest)
    row[HIGH] = min(high, row[LADDER] + lowest)


def ripple(row: Row, at: float, value: float) -> None:
    """Bring the ladder forward by a reading that only its lowest step is left by."""
    step = row[LOWEST]
    far = value - row[LADDER]
    restless(row, at, far * far)
    row[LADDER] = row[VALUE] = value
    row[AT] = at
    low, high = value - step, value + step
    row[LOW] = low if low > row[CALM_LOW] else row[CALM_LOW]
    row[HIGH] = high if high < row[CALM_HIGH] else row[CALM_HIGH]


def restless(row: Row, at: float, squared: float) -> None:
    """Note a move of the lowest step; what was before an awakening is forgotten."""
    took = (at - row[LOW_BEGAN]) / SECOND
    two, took_two = squared + row[LAST_MOVE], took + row[LAST_TOOK]
    moved, lasted = row[LOW_MOVED], row[LOW_TOOK]
    if two * lasted > AWAKE * took_two * moved:
        row[LOW_MOVED] = two
        row[LOW_TOOK] = took_two
    else:
        row[LOW_MOVED] = moved * KEPT + squared
        row[LOW_TOOK] = lasted * KEPT + took
    row[LAST_MOVE] = squared
    row[LAST_TOOK] = took
    row[LOW_BEGAN] = at
    row[RIPPLES] += squared


def follow(row: Row, at: float, value: float) -> None:
    """Bring the shadows forward by a reading that is outside of one of them; not yet VALUE."""
    half = row[HALF]
    if math.isnan(row[BASE]) or not 0.0 < half < math.inf:
        return
    climb(row, at, value)
    total = 0.0
    for place in range(MODES, RISE, MODE):
        lasted = (at - row[place + BEGAN]) / SECOND
        middle = row[place] + row[place + LEANT] * lasted
        # The reading before stood until now; a bound that moves may have left it.
        if not (abs(value - middle) <= half and abs(row[VALUE] - middle) <= half):
            lean(row, place, value - row[place], lasted)
            row[place] = value
            row[place + BEGAN] = at
            row[place + COUNT] += 1.0
        total += row[place + COUNT]
    if total > EXITS:
        for place in range(MODES, RISE, MODE):
            row[place + COUNT] *= 0.5


def climb(row: Row, at: float, value: float) -> None:
    """Bring the ladder forward."""
    step = row[LOWEST]
    far = min(abs(value - row[LADDER]), LONGEST * step)
    if far > step:
        restless(row, at, far * far)
        row[LADDER] = value
    spent = row[RIPPLES]
    row[RIPPLES] = 0.0
    for place in range(LADDER + STEP, MODES, STEP):
        step = step + step
        row[place + BEGAN] += spent
        far = abs(value - row[place])
        if far > step:
            far = min(far, LONGEST * step)
            row[place + MOVED] += far * far - row[place + MOVED] / SHAPE
            row[place + TOOK] += row[place + BEGAN] - row[place + TOOK] / SHAPE
            row[place] = value
            row[place + BEGAN] = 0.0


def lean(row: Row, place: int, move: float, lasted: float) -> None:
    """Give a mode the slope for its next bound."""
    if lasted <= 0.0:
        return
    if place == MODES + MODE:
        row[place + LEANT] = move / lasted
    elif place == MODES + 2 * MODE:
        keep = 1.0 - 1.0 / MOVES
        row[RISE] = row[RISE] * keep + move
        row[RUN] = row[RUN] * keep + lasted
        row[place + LEANT] = row[RISE] / row[RUN]


def best_mode(row: Row) -> int:
    """Place of the mode whose bounds are left least often; the one that stays unless it pays."""
    best, fewest = MODES, row[MODES + COUNT] * WORTH - 1.0
    for place in range(MODES + MODE, RISE, MODE):
        if row[place + COUNT] < fewest:
            best, fewest = place, row[place + COUNT]
    return best


def recentre(row: Row, at: float, value: float, models: bool) -> None:
    """Put the bound in force around a value that is being sent."""
    row[CENTRE], row[SINCE] = value, at
    row[SLOPE] = 0.0
    # A bound that moved away from a reading that stands still has nothing to follow.
    if models and row[FRESH] != 0.0 and 0.0 < row[HALF] < math.inf:
        slope = row[best_mode(row) + LEANT]
        if math.isfinite(slope):
            row[SLOPE] = slope
    row[FRESH] = 0.0
    inner(row)


def diffusion(row: Row, at: float, level: int) -> float:
    """Squared move per second at a step of the ladder; NaN while nothing is known."""
    lasted = row[LOW_TOOK] + (at - row[LOW_BEGAN]) / SECOND
    if not lasted > 0.0:
        return math.nan
    return row[LOW_MOVED] / lasted * shape(row, level)


def shape(row: Row, level: int) -> float:
    """Squared moves at a step for each of the lowest one, each step resting on the ones below."""
    found = 1.0
    step = row[LOWEST]
    for place in range(LADDER + STEP, LADDER + STEP * level + 1, STEP):
        step = step + step
        prior = PRIOR * step * step
        found = (row[place + MOVED] + prior) / (
            row[place + TOOK] + row[place + BEGAN] + row[RIPPLES] + prior / found
        )
    return found


def at_width(row: Row, at: float) -> float:
    """Diffusion at the width in force; NaN while nothing is known."""
    half = row[HALF]
    if math.isnan(row[BASE]) or not 0.0 < half < math.inf:
        return math.nan
    narrower = diffusion(row, at, STEPS - 2)
    wider = diffusion(row, at, STEPS - 1)
    step = math.ldexp(row[LOWEST], STEPS - 2)
    return narrower + (wider - narrower) * min(1.0, half / step - 1.0)


def curve(row: Row, at: float) -> tuple[float, float]:
    """Rate and power of the curve `rate * width ** -power` around the width in force.

    Examples
    --------
    A value that moves by one each second leaves a bound of width 8 every fifth second.

    >>> row = [0.0] * SIZE
    >>> blank(row)
    >>> row[AT], row[VALUE] = 0.0, 0.0
    >>> widen(row, 8.0)
    >>> for second in range(1, 400):
    ...     follow(row, second * SECOND, float(second))
    ...     row[AT], row[VALUE] = second * SECOND, float(second)
    >>> rate, power = curve(row, row[AT])
    >>> 0.15 < rate * 8.0**-power < 0.35, 0.8 < power < 1.4
    (True, True)
    """
    found = at_width(row, at)
    if not found > 0.0:
        return (math.nan if math.isnan(found) else 0.0), 2.0
    half = row[HALF]
    power = 2.0 - 0.5 * math.log2(shape(row, STEPS - 1) / shape(row, STEPS - 3))
    power = min(3.0, max(FLATTEST, power))
    often = found / (half * half)
    if row[SLOPE] != 0.0:
        still = row[MODES + COUNT]
        often *= min(1.0, (row[best_mode(row) + COUNT] + 1.0) / (still + 1.0))
        power = 2.0
    return often * (half + half) ** power, power


def widen(row: Row, width: float) -> None:
    """Put another width in force; the centre stays."""
    row[HALF] = 0.5 * width
    if 0.0 < width < math.inf and math.isfinite(row[VALUE]):
        exponent = math.frexp(width)[1]
        if FINEST < exponent < COARSEST:
            rebase(row, exponent - (STEPS - 1.0))
        else:
            row[BASE] = math.nan
    inner(row)


def rebase(row: Row, base: float) -> None:
    """Move the ladder so that the width in force lies between its two upper steps."""
    if math.isnan(row[BASE]) or abs(base - row[BASE]) >= STEPS:
        begin(row, base)
    for place in range(LADDER + STEP, MODES, STEP):
        row[place + BEGAN] += row[RIPPLES]
    row[RIPPLES] = 0.0
    while row[BASE] < base:
        found = diffusion(row, row[AT], 1)
        part = shape(row, 1)
        for place in range(LADDER, MODES - STEP):
            row[place] = row[place + STEP]
        row[BASE] += 1.0
        row[LOWEST] *= 2.0
        for place in range(LADDER + STEP, MODES - STEP, STEP):
            row[place + TOOK] *= part
            row[place + BEGAN] *= part
        fresh(row, LADDER, found)
        fresh(row, MODES - STEP, math.nan)
    while row[BASE] > base:
        found = diffusion(row, row[AT], 0)
        for place in range(MODES - 1, LADDER + STEP - 1, -1):
            row[place] = row[place - STEP]
        row[BASE] -= 1.0
        row[LOWEST] *= 0.5
        fresh(row, LADDER, found)
        fresh(row, LADDER + STEP, math.nan)


def begin(row: Row, base: float) -> None:
    """Begin the ladder at a width, with what is known of another."""
    known = math.nan
    if not math.isnan(row[BASE]):
        known = diffusion(row, row[AT], 0 if base < row[BASE] else STEPS - 1)
    else:
        for place in range(MODES, RISE, MODE):
            row[place], row[place + BEGAN] = row[VALUE], row[AT]
    row[BASE] = base
    row[LOWEST] = math.ldexp(0.5, int(base))
    row[RIPPLES] = 0.0
    fresh(row, LADDER, known)
    for place in range(LADDER + STEP, MODES, STEP):
        fresh(row, place, math.nan)


def fresh(row: Row, place: int, known: float) -> None:
    """Begin a step of the ladder, the lowest with a diffusion that is known already."""
    row[place] = row[VALUE]
    row[place + BEGAN] = row[place + MOVED] = row[place + TOOK] = 0.0
    if place == LADDER:
        row[place + BEGAN] = row[AT]
        row[LAST_MOVE], row[LAST_TOOK] = 0.0, 0.0
        if known > 0.0:
            step = row[LOWEST]
            row[place + MOVED] = PRIOR * step * step
            row[place + TOOK] = row[place + MOVED] / known


def tell(row: Row, at: float, asked: bool) -> None:
    """Note what is being told, and when to look at it again.

    A source speaks up once; that it stays quiet the coordinator sees by itself.
    """
    row[TOLD] = at_width(row, at)
    row[DUE] = math.inf
    if asked and row[TOLD] != 0.0:
        row[DUE] = at + pause(row) * SECOND


def pause(row: Row) -> float:
    """Seconds until a look at the curve may be worth while."""
    if not row[TOLD] > 0.0:
        return 3.0 * PATIENCE
    wait: float = 0.25 * row[HALF] * row[HALF] / row[TOLD]
    return max(PATIENCE, min(wait, 1e9))


def stale(row: Row, at: float) -> bool:
    """Whether the coordinator should hear what it does not know: a first curve, or quiet."""
    now = at_width(row, at)
    if math.isnan(row[TOLD]):
        if not math.isnan(now):
            return True
    elif now < STALE * row[TOLD]:
        return True
    row[DUE] = at + 0.1 * pause(row) * SECOND
    return False
