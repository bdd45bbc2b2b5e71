"""Oversampling: how many independent draws it takes to see k different rows.

The number of different rows among draws with replacement is a Markov chain: a draw is new with
chance (n - seen) / n. Its exact law is cheap and stable; the closed forms that bound it are not
right when k is a large share of n.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.samples.designs import Drawn, Simple, shuffled_order


def chance_of_too_few(n: int, k: int, draws: int) -> float:
    """Chance that `draws` draws with replacement from n rows see fewer than k different ones.

    >>> round(chance_of_too_few(365, 23, 23), 3)
    0.507
    """
    # chances[j]: j different rows so far, all below k; those that reach k have left.
    chances = np.zeros(k)
    chances[0] = 1.0
    seen = np.arange(k)
    for _ in range(draws):
        new = chances * ((n - seen) / n)
        chances = chances * (seen / n)
        chances[1:] += new[:-1]
    return float(chances.sum())


def extra_draws(n: int, k: int, chance: float) -> int:
    """Fewest draws beyond k that see k different rows but with the given chance of failure.

    >>> extra_draws(1000, 100, 0.001)
    14
    """
    if not (1 <= k <= n and 0.0 < chance < 1.0):
        raise BindError(
            "different rows are asked of at least as many rows",
            f"got n={n}, k={k}, chance={chance}",
            "write extra_draws(n=1000, k=100, chance=0.001)",
        )
    chances = np.zeros(k)
    chances[0] = 1.0
    seen = np.arange(k)
    draws = 0
    while draws < k or chances.sum() > chance:
        new = chances * ((n - seen) / n)
        chances = chances * (seen / n)
        chances[1:] += new[:-1]
        draws += 1
    return draws - k


def closed_form_extra(n: int, k: int, power: float = 1.0) -> float:
    """The smaller of two closed forms for a failure chance of n to minus `power`; k well below n.

    >>> round(closed_form_extra(1000, 100), 1)
    44.8
    """
    few = (power - 1.0) * math.log(n) + (k + 1) * math.log(k) - (k - 1) * math.log(2.0)
    spread = power * math.log(n)
    return min(few / math.log(n / k), spread + math.sqrt(2.0 * spread * k + spread * spread))


def without_repeats(drawn: Drawn, size: int, seed: int) -> Drawn:
    """A uniform sample of different rows out of draws with replacement."""
    assert drawn.rows is not None, "rows drawn twice are told by their numbers"
    rows, first = np.unique(drawn.rows, return_index=True)
    chosen = np.sort(shuffled_order(len(rows), seed)[:size])
    design = Simple(int(drawn.design.mass), len(chosen), seed)
    return Drawn(drawn.values[first[chosen]], design, rows[chosen])
