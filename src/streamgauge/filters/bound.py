"""What passes between a source and the coordinator about one object: updates and grants.

Times are whole microseconds of the coordinator's clock. An object is a number that its source
gave to a key; widths are full widths, so a value lies within `width / 2` of the centre.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Widths that are no widths: nothing is asked of the object; every reading is asked for.
NOTHING = math.inf
EVERY_READING = -1.0


class Update(NamedTuple):
    """A value that left its bound, or a source that says something new of an object.

    Parameters
    ----------
    number
        The object.
    at
        When the value was read.
    value
        Centre of the bound from then on.
    version
        The grant whose width the source applies from then on.
    slope
        Change per second of the centre; 0 for a bound that stays where it is.
    rate, power
        How often the object would send at other widths, by its own count: about
        `rate * width ** -power` messages a second. NaN while the source does not know.

    Examples
    --------
    >>> Update(3, 1_000_000, 20.5, 2).slope
    0.0
    """

    number: int
    at: int
    value: float
    version: int
    slope: float = 0.0
    rate: float = math.nan
    power: float = math.nan


class Grant(NamedTuple):
    """A width that a source may apply to an object from an instant on.

    Parameters
    ----------
    number
        The object.
    version
        Grants of an object are counted; an older one never replaces a newer one.
    width
        Full width; `NOTHING` when nothing need be sent, `EVERY_READING` when all must be.
    since
        First instant at which it may be applied.

    Examples
    --------
    >>> Grant(3, 2, 0.5, 1_000_000).width
    0.5
    """

    number: int
    version: int
    width: float
    since: int
