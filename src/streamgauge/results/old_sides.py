"""Old sides: what was stored before each cause had its two sides, read as it was meant.

Then a number said what the technique had spent of the width, and the rest was laid to an
interruption where there was one, else to late rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.bars import sides_of

Floats = npt.NDArray[np.float64]


def split(
    value: Floats, low: Floats, high: Floats, spent: Floats, interrupted: npt.NDArray[np.bool_]
) -> Floats:
    """Sides of the technique, of late rows and of an interruption.

    What was spent is laid to both sides alike, as far as the interval reaches.

    Examples
    --------
    >>> some = np.array([4.0]), np.array([2.0]), np.array([9.0]), np.array([3.0])
    >>> split(*some, np.array([False])).tolist()
    [[1.5, 1.5, 0.5, 3.5, 0.0, 0.0]]
    """
    below, above = sides_of(value, low, high)
    with np.errstate(invalid="ignore"):
        rest = below + above - spent
        # What is left after the synopsis must exceed the rounding of the difference.
        other = interrupted | (rest > 1e-12 * (below + above))
        own_below = np.where(other, np.minimum(spent / 2.0, below), below)
        own_above = np.where(other, np.minimum(spent - own_below, above), above)
        own_below = np.where(other, np.minimum(spent - own_above, below), own_below)
        left = np.where(other, (below - own_below, above - own_above), 0.0)
    late, silent = np.where(interrupted, 0.0, left), np.where(interrupted, left, 0.0)
    found: Floats = np.stack((own_below, own_above, *late, *silent), axis=1)
    return np.where(np.isnan(found), 0.0, found)
