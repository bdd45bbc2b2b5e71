"""Timer: when a cell that nobody looks at meanwhile must be evaluated again.

The wait is the longest at which the mean probability of being inside, over the wait, is what is
owed. Its variance is the cell's own, from its moves between evaluations, which know how members
move together and how far over a whole wait; members say how much more or less than usual they move
now. What differs from the model by no more than noise is taken for the model.

A wait that ends outside more often than the model has it shortens those to come. Now and then a
wait is cut short at a random instant to look: the share of such looks that find the value outside
is the share of time it is outside, whatever the series, and shortens them too.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.drift.cells import TIMER
from streamgauge.drift.deadline import MEAN, THROUGHOUT, wait
from streamgauge.kernel.hashing import uniform
from streamgauge.kernel.jit import compiled

# One wait in so many is cut short to look: this costs 1.5 evaluations of 100.
LOOKS = 32
# What a cell has learned weighs like so many of its waits at most: a noise of a tenth.
RECALL = 128.0
# A mean of so many waits is steady enough to weigh a single one against.
STEADY = 8.0
# Squared noise of one move, and of the variance that a member has from about 100 of its own, both
# doubled: what is within it says nothing.
OWN_NOISE, MEMBER_NOISE = 2.0, 0.08
# Moves count as so many widths at most. Beyond one they are all misses alike, and a rare jump must
# not weigh more than it is out for.
CLIP = 3.0
# However calm its members are now, a cell is taken for so much of its usual variance: calm may end
# within the wait.
CALM = 0.8
# Waits of a value that turns back, or moves by leaps, are shortened by so much at most: it is
# outside early in the wait as often as at the end.
ROUGH = 0.6
# A drift within its noise is taken for none, with so much of the squared noise left as doubt: most
# values do not drift, but a small drift must not be ruled out either.
DRIFTLESS = 0.5
# A wait is so many times what has been seen at most, and where few misses are allowed so many times
# their share: what has not come yet may come within the wait.
LEAP, ALLOWED = 1.5, 30.0
FARTHEST = 1 << 20
# How far one look moves the logarithm of the waits, and the share of the misses that is aimed at.
STEP = 0.1
AIM = 0.9
# The same for the end of a wait: 5 / (36 + n) after n of them, 256 at most, is what a prior spread
# of 0.3 and the information in hits and misses make of it.
GAIN, KNOWN, MOST = 5.0, 36.0, 256.0
# So much of a correction is let pass before it shortens a wait: chance alone stays within it.
SLACK = 0.3
# Corrections of the logarithm of the waits stay within these.
SHORTEST, LONGEST = -6.0, 2.0


@compiled
def _firm(ratio, noise):  # type: ignore[no-untyped-def]
    """A ratio without what of its distance to 1 may be noise (positive-part shrinkage)."""
    distance = (ratio - 1.0) ** 2
    return 1.0 + (ratio - 1.0) * (1.0 - noise / distance) if distance > noise else 1.0


@compiled
def learn(mine, now, value, var, eps):  # type: ignore[no-untyped-def]
    """Take the move of a cell since last time into what it knows of its drift and variance."""
    gap, move = float(now - mine.since), value - mine.value
    if np.isnan(move) or gap <= 0.0:
        return
    if mine.regime == TIMER and mine.wait != 0.0:
        # Ticks without rows after the deadline were no part of the wait.
        gap = min(gap, abs(mine.wait) + 1.0)
    drift, doubt = 0.0, 0.0
    if mine.seen > 0.0:
        drift, doubt = mine.moved / mine.seen * gap, gap / mine.seen
    surprise = min((move - drift) ** 2 / (1.0 + doubt), (CLIP * eps) ** 2)
    kept = 1.0 - 1.0 / RECALL
    mine.squares = mine.squares * kept + surprise
    mine.foretold = mine.foretold * kept + var * gap
    mine.seen = mine.seen * kept + gap
    mine.moved = mine.moved * kept + move


@compiled
def stirred(eps, seen):  # type: ignore[no-untyped-def]
    """Variance per tick of a value that has not moved: it may, by all that counts, next time."""
    return (CLIP * eps) ** 2 / seen


@compiled
def variance(mine, reading, eps):  # type: ignore[no-untyped-def]
    """Usual variance of a cell per tick; how much of it is now; how smooth its moves are."""
    seen, foretold = float(mine.seen), float(mine.foretold)
    usual, now, smooth = reading.var, 1.0, 1.0
    if foretold > 0.0:
        n = min(float(mine.evaluations), RECALL)
        ratio = _firm(mine.squares / foretold, OWN_NOISE / n)
        now = _firm(reading.var * seen / foretold, MEMBER_NOISE)
        usual = ratio * foretold / seen
        smooth = min(1.0, ratio, now)
    elif seen > 0.0:
        usual = max(usual, mine.squares / seen)
    if usual == 0.0:
        usual = stirred(eps, max(seen, reading.span))
    return usual, max(now, CALM), smooth


@compiled
def drift_of(mine, reading):  # type: ignore[no-untyped-def]
    """Drift of a cell and the ticks it rests on: its own where that is the longer look."""
    if mine.seen > reading.span:
        return mine.moved / mine.seen, float(mine.seen)
    return reading.mu, reading.span


@compiled
def slope_of(mine, reading):  # type: ignore[no-untyped-def]
    """Drift that a reader may extend an answer by: none unless it stands out of the noise."""
    mu, seen = drift_of(mine, reading)
    ratio = mine.squares / mine.foretold if mine.foretold > 0.0 else 1.0
    return mu if mu * mu * seen > 4.0 * ratio * reading.var else 0.0


@compiled
def judge(mine, missed, confidence, throughout):  # type: ignore[no-untyped-def]
    """Shorten or lengthen the waits of a cell by what a look, or the end of a wait, has found."""
    planned = mine.wait
    if throughout:
        # Of the paths that leave, half are back at the end (reflection).
        aim = 0.5 * AIM * (1.0 - confidence)
    elif planned < 0.0:
        aim = AIM * (1.0 - confidence)
    else:
        return
    _trust(mine, STEP * (aim - (1.0 if missed else 0.0)))


@compiled
def _trust(mine, step):  # type: ignore[no-untyped-def]
    """Move the logarithm of the waits by a step, in proportion to how long the wait was."""
    planned, usual = abs(mine.wait), mine.usual
    weight = min(4.0, planned / usual) if usual > 0.0 else 1.0
    trust = mine.trust + weight * step
    mine.trust = min(LONGEST, max(SHORTEST, trust))


@compiled
def corrected(mine):  # type: ignore[no-untyped-def]
    """Share of the waits that hits and misses have left."""
    return math.exp(min(0.0, mine.trust + SLACK))


@compiled
def compare(mine, now, missed, reading, eps):  # type: ignore[no-untyped-def]
    """Compare a hit or miss with the chance that the model had for it."""
    planned, gap = abs(mine.wait), float(now - mine.since)
    if planned == 0.0 or gap <= 0.0 or gap > planned + 3.0:
        return
    usual, share, _ = variance(mine, reading, eps)
    mu, _ = drift_of(mine, reading)
    mu -= mine.slope
    gap /= corrected(mine)
    # The smaller of what it is now and what it is usually: a burst excuses no miss.
    deviation = math.sqrt(2.0 * usual * min(1.0, share) * gap)
    chance = 0.5 * math.erfc((eps - mu * gap) / deviation)
    chance += 0.5 * math.erfc((eps + mu * gap) / deviation)
    gain = GAIN / (KNOWN + min(float(mine.evaluations), MOST))
    _trust(mine, gain * (chance - (1.0 if missed else 0.0)))


@compiled
def plan(mine, asked, reading, eps, spacing, table):  # type: ignore[no-untyped-def]
    """Longest wait of a cell, in ticks, by what is known now."""
    mu, seen = drift_of(mine, reading)
    if asked.trend:
        mu -= mine.slope
    usual, share, smooth = variance(mine, reading, eps)
    var = usual * share
    believed = max(0.0, 1.0 - var / (mu * mu * seen)) if mu != 0.0 else 0.0
    form = THROUGHOUT if asked.throughout else MEAN
    longest = wait(
        table, believed * mu, var, eps, seen / max(DRIFTLESS, believed), spacing,
        asked.confidence, form,
    )  # fmt: skip
    # Luck is not saved up: it may be that of a calm that ends.
    mine.trust = min(mine.trust, 0.0)
    longest *= corrected(mine) * (1.0 - ROUGH * (1.0 - smooth))
    # Of more than the last waits nothing is known: a wait may always be a few of those.
    leap = min(LEAP, max(ALLOWED * (1.0 - asked.confidence), 4.0 / RECALL))
    farthest = min(float(FARTHEST) * spacing, leap * max(float(mine.seen), reading.span))
    return max(min(longest, farthest), spacing)


@compiled
def next_due(mine, asked, now, longest, spacing):  # type: ignore[no-untyped-def]
    """The deadline: a whole number of ticks whose mean is the wait, or a look before it."""
    usual = mine.usual
    mine.usual = longest if usual == 0.0 else usual + (longest - usual) / STEADY
    draw, number = asked.draw, np.uint64(4 * mine.evaluations)
    chance = uniform(draw, number)
    mine.wait = longest
    if not asked.throughout and uniform(draw, number + np.uint64(1)) * LOOKS < 1.0:
        looked = math.floor(uniform(draw, number + np.uint64(2)) * longest / spacing)
        mine.wait = -longest
        if looked >= 1.0:
            return now + max(1, math.ceil((looked - 0.5) * spacing))
        # A look at the instant of the evaluation finds the value inside.
        judge(mine, False, asked.confidence, False)
        mine.wait = longest
    return now + max(1, math.ceil(longest - spacing * (1.0 - chance)))
