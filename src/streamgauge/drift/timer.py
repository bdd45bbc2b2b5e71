"""Timer: when a cell that nobody looks at meanwhile must be evaluated again.

The wait is the longest at which the mean probability of being inside, over the wait, is what is
owed. Its drift and variance follow from the members; a cell corrects both by its own moves from
evaluation to evaluation, which see how members move together, and how far over a whole wait. Now
and then a wait is cut short at a random instant to look: the share of such looks that find the
value outside is the share of time it is outside, whatever the series, and steers the waits.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.drift.deadline import wait
from streamgauge.kernel.hashing import uniform
from streamgauge.kernel.jit import compiled

# One wait in so many is cut short to look.
LOOKS = 16
# What a cell has learned weighs like so many of its waits at most; its members like so many.
RECALL = 64.0
PRIOR = 8.0
# How far one look moves the logarithm of the waits, and the share of the misses that is aimed at.
STEP = 0.15
AIM = 0.9
# A wait grows by this factor at most from one evaluation to the next.
GROWTH = 4.0
FARTHEST = 1 << 20
# Surprises beyond so many squared deviations count as that many.
SURPRISE = 16.0


@compiled
def learn(mine, now, value, var):  # type: ignore[no-untyped-def]
    """Correct what a cell believes of its drift and variance by its move since last time."""
    last, gap = mine.value, float(now - mine.since)
    if np.isnan(last) or np.isnan(value) or gap <= 0.0:
        return
    seen, moved = mine.seen, mine.moved
    move = value - last
    if var > 0.0:
        drift, doubt = 0.0, 0.0
        if seen > 0.0:
            drift, doubt = moved / seen * gap, gap / seen
        surprise = (move - drift) ** 2 / (var * gap * (1.0 + doubt))
        gain = 1.0 / (PRIOR + min(float(mine.evaluations), RECALL - PRIOR))
        mine.ratio += gain * (min(surprise, SURPRISE) - mine.ratio)
    mine.seen = seen * (1.0 - 1.0 / RECALL) + gap
    mine.moved = moved * (1.0 - 1.0 / RECALL) + move


@compiled
def judge(mine, outside, confidence, throughout):  # type: ignore[no-untyped-def]
    """Shorten or lengthen the waits of a cell by what a look, or the end of a wait, has found."""
    planned = mine.wait
    if throughout:
        # Of the paths that leave, half are back at the end (reflection).
        aim = 0.5 * AIM * (1.0 - confidence)
    elif planned < 0.0:
        aim = AIM * (1.0 - confidence)
    else:
        return
    usual = mine.usual
    weight = min(4.0, abs(planned) / usual) if usual > 0.0 else 1.0
    step = STEP * weight * (aim - (1.0 if outside else 0.0))
    mine.trust = min(2.0, max(-6.0, mine.trust + step))


@compiled
def drift_of(mine, reading):  # type: ignore[no-untyped-def]
    """Drift of a cell and the ticks it rests on: its own where that is the longer look."""
    if mine.seen > reading.span:
        return mine.moved / mine.seen, mine.seen
    return reading.mu, reading.span


@compiled
def slope_of(mine, reading):  # type: ignore[no-untyped-def]
    """Drift that a reader may extend an answer by: none unless it stands out of the noise."""
    mu, seen = drift_of(mine, reading)
    var = mine.ratio * reading.var
    return mu if mu * mu * seen > 4.0 * var else 0.0


@compiled
def plan(mine, asked, reading, eps, spacing, table):  # type: ignore[no-untyped-def]
    """Longest wait of a cell, in ticks, by what is known now."""
    mu, seen = drift_of(mine, reading)
    if asked.trend:
        mu -= mine.slope
    var = mine.ratio * reading.var
    form = 2 if asked.throughout else 0
    longest = wait(table, mu, var, eps, seen, spacing, asked.confidence, form)
    longest *= math.exp(mine.trust)
    before = abs(mine.wait)
    longest = min(longest, GROWTH * max(before, spacing), float(FARTHEST) * spacing)
    return max(longest, spacing)


@compiled
def next_due(mine, asked, now, longest, spacing):  # type: ignore[no-untyped-def]
    """The deadline: a whole number of ticks whose mean is the wait, or a look before it."""
    mine.usual = longest if mine.usual == 0.0 else mine.usual + (longest - mine.usual) / PRIOR
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
