"""Baselines: what a correlated aggregate is measured against.

The exact answer by two passes; histograms of equal width and of equal depth that are made anew from
all rows at every step, which no one-pass method can do; and rules without memory, which compare
each row with the aggregate of its moment and never look back.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.questions import BesideMean, NearExtreme
from streamgauge.synopses.synopsis import Floats, Ints

_EXACT, _WIDTH, _DEPTH = 0, 1, 2


def exact(
    x: Floats, y: Floats, question: NearExtreme | BesideMean, steps: Ints, window: int = 0
) -> Floats:
    """The answer after each of the steps, from all rows of the scope.

    >>> x = np.array([4.0, 2.0, 3.0, 1.0])
    >>> exact(x, np.ones(4), NearExtreme("min", 2.0), np.arange(4))
    array([1., 2., 3., 2.])
    """
    return _trace(x, y, question, steps, window, _EXACT, 0)


def equal_width(
    x: Floats,
    y: Floats,
    question: NearExtreme | BesideMean,
    steps: Ints,
    window: int = 0,
    *,
    buckets: int = 10,
) -> Floats:
    """The answer from buckets of equal width between the least and the largest x of the scope."""
    return _trace(x, y, question, steps, window, _WIDTH, buckets)


def equal_depth(
    x: Floats,
    y: Floats,
    question: NearExtreme | BesideMean,
    steps: Ints,
    window: int = 0,
    *,
    buckets: int = 10,
) -> Floats:
    """The answer from buckets that hold the same number of rows of the scope."""
    return _trace(x, y, question, steps, window, _DEPTH, buckets)


def memoryless(
    x: Floats, y: Floats, question: NearExtreme | BesideMean, *, reset: bool = False
) -> Floats:
    """The answer after every row if rows are only compared when they come.

    With `reset` a new extreme forgets all rows before it, which gives too few; without it none is
    ever forgotten, which gives too many.
    """
    column = -x if isinstance(question, NearExtreme) and question.side == "max" else x
    added = np.ones(len(x)) if question.of == "count" else y
    if isinstance(question, NearExtreme):
        return np.asarray(_near(column, added, question.factor, question.offset, reset))
    return np.asarray(_beside(column, added, question.factor, question.offset))


def rmse(found: Floats, truth: Floats) -> float:
    """Root of the mean squared error over all steps."""
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def _trace(
    x: Floats,
    y: Floats,
    question: NearExtreme | BesideMean,
    steps: Ints,
    window: int,
    how: int,
    buckets: int,
) -> Floats:
    assert question.of != "mean", "the mean is the sum over the count"
    near = isinstance(question, NearExtreme)
    column = -x if isinstance(question, NearExtreme) and question.side == "max" else x
    added = np.ones(len(x)) if question.of == "count" else y
    return np.asarray(
        _answers(
            np.ascontiguousarray(column, np.float64),
            np.ascontiguousarray(added, np.float64),
            steps.astype(np.int64),
            window,
            near,
            question.factor,
            question.offset,
            how,
            buckets,
        )
    )


@compiled
def _answers(x, y, steps, window, near, factor, offset, how, buckets):  # type: ignore[no-untyped-def]
    out = np.empty(len(steps))
    for s in range(len(steps)):
        first = max(0, steps[s] + 1 - window) if window > 0 else 0
        scope, added = x[first : steps[s] + 1], y[first : steps[s] + 1]
        cut = factor * (scope.min() if near else scope.mean()) + offset
        if how == _EXACT:
            below = 0.0
            for i in range(len(scope)):
                if scope[i] < cut or (near and scope[i] == cut):
                    below += added[i]
        else:
            below = _from_buckets(scope, added, cut, how, buckets)
        out[s] = below if near else added.sum() - below
    return out


@compiled
def _from_buckets(scope, added, cut, how, buckets):  # type: ignore[no-untyped-def]
    low, high = scope.min(), scope.max()
    if cut >= high:
        return added.sum()
    if cut < low:
        return 0.0
    if how == _DEPTH:
        return _from_depths(scope, added, cut, buckets)
    width = (high - low) / buckets
    left = low + width * int((cut - low) / width)
    below, straddling = 0.0, 0.0
    for i in range(len(scope)):
        if scope[i] < left:
            below += added[i]
        elif scope[i] < left + width:
            straddling += added[i]
    return below + straddling * (cut - left) / width


@compiled
def _from_depths(scope, added, cut, buckets):  # type: ignore[no-untyped-def]
    order = np.argsort(scope)
    n = len(scope)
    below, j = 0.0, 0
    while j < buckets - 1 and scope[order[(j + 1) * n // buckets]] <= cut:
        j += 1
    first, last = j * n // buckets, (j + 1) * n // buckets
    for i in range(first):
        below += added[order[i]]
    straddling = 0.0
    for i in range(first, last):
        straddling += added[order[i]]
    left, right = scope[order[first]], scope[order[min(last, n - 1)]]
    return below + (straddling * (cut - left) / (right - left) if right > left else straddling)


@compiled
def _near(x, y, factor, offset, reset):  # type: ignore[no-untyped-def]
    out = np.empty(len(x))
    least, total = np.inf, 0.0
    for i in range(len(x)):
        if x[i] < least:
            least = x[i]
            if reset:
                total = 0.0
        if x[i] <= factor * least + offset:
            total += y[i]
        out[i] = total
    return out


@compiled
def _beside(x, y, factor, offset):  # type: ignore[no-untyped-def]
    out = np.empty(len(x))
    mean, total = 0.0, 0.0
    for i in range(len(x)):
        mean += (x[i] - mean) / (i + 1.0)
        if x[i] >= factor * mean + offset:
            total += y[i]
        out[i] = total
    return out
