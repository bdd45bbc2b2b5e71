"""Choice: whether summaries pay, or rows are better taken as they come.

A tick buys `(probes - insert * rows)` probes where summaries point, or `probes / raw` rows as they
come. Each is worth what it is expected to find. At very high rates summarising eats the budget; in
small windows there is little for summaries to tell apart. Then rows are taken as they come.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.promise.costs import Allowance

Floats = npt.NDArray[np.float64]
# Until anything was measured, a probe that summaries point to is taken to find twice as much.
HEAD_START = 2.0
# An order other than DESC does not ask for many rows but for certain ones: one of those is worth
# this many rows of any kind.
CERTAIN = 4.0
# The other way has to be better by this factor before it is taken.
MARGIN = 1.1
# Weight of the newest tick in the running means.
WEIGHT = 0.25
# Ticks before summaries are tried again while rows are taken as they come; each trial in vain
# doubles them, up to the most.
WAIT, LONGEST_WAIT = 256, 4096


@dataclass(slots=True)
class Hits:
    """What probes find, and which way is in use: the memory of one query's choice.

    Both means are of what the summaries expect, not of what was found: every shard sees the
    same summaries, but only the matches of its own keys.

    Parameters
    ----------
    guided, raw
        Expected finds of a probe that summaries point to, and of a row as it comes.
    ticks
        Ticks they are means of.
    summarising
        Whether summaries are in use.
    wait, trial
        Ticks between trials of summaries, and the number of the tick of the next one.

    Examples
    --------
    >>> hits = Hits()
    >>> hits.note(guided=3.0, raw=1.0)
    >>> Hits.from_array(hits.to_array()) == hits
    True
    """

    guided: float = HEAD_START
    raw: float = 1.0
    ticks: int = 0
    summarising: bool = True
    wait: int = WAIT
    trial: int = 0

    def note(self, guided: float, raw: float) -> None:
        """After a tick worked with summaries: mean expected finds of probes taken and of rows."""
        weight = WEIGHT if self.ticks else 1.0
        self.guided += weight * (guided - self.guided)
        self.raw += weight * (raw - self.raw)
        self.ticks += 1

    def to_array(self) -> Floats:
        """As one row of numbers."""
        return np.array(astuple(self), np.float64)

    @classmethod
    def from_array(cls, row: Floats) -> Hits:
        """Read the row of numbers."""
        guided, raw, ticks, summarising, wait, trial = row.tolist()
        return cls(guided, raw, int(ticks), bool(summarising), int(wait), int(trial))


def worth(
    rows: int, allowance: Allowance, hits: Hits, number: int, order: str
) -> tuple[float, float]:
    """Expected finds of a tick with summaries, and without.

    Examples
    --------
    >>> worth(100, Allowance(200, insert=0.5), Hits(), 0, "desc")
    (300.0, 100.0)
    """
    probes = allowance.at(number)
    assert probes is not None, "without a limit there is nothing to choose"
    left = max(0.0, probes - allowance.insert * rows)
    as_they_come = min(float(rows), probes / allowance.raw) if allowance.raw > 0 else float(rows)
    each = hits.guided if order == "desc" else CERTAIN * hits.raw
    return left * each, as_they_come * hits.raw


def summaries_pay(
    rows: int, allowance: Allowance, hits: Hits, number: int, order: str = "desc"
) -> bool:
    """Whether a tick that cannot do everything is worked with summaries; remembers which way.

    Ask once for each overloaded tick, in the order of ticks. The choice depends on the rows, the
    allowance and event time alone. The first tick is a trial, so that something is known.

    Parameters
    ----------
    rows
        Rows that come in at the tick.
    allowance
        What may be spent.
    hits
        What is known of the query; changed in place.
    number
        Number of the tick.
    order
        asc, desc or weighted.

    Examples
    --------
    >>> tight = Allowance(100, insert=0.5)
    >>> known = Hits(guided=3.0, raw=1.0, ticks=1)
    >>> summaries_pay(110, tight, known, 0), summaries_pay(190, tight, known, 1)
    (True, False)
    """
    guided, raw = worth(rows, allowance, hits, number, order)
    if hits.summarising and raw > MARGIN * guided:
        hits.summarising, hits.wait, hits.trial = False, WAIT, number + WAIT
    elif not hits.summarising and guided > MARGIN * raw:
        hits.summarising = True
    if hits.summarising:
        return True
    probes = allowance.at(number)
    # A trial that the budget cannot pay for would tell nothing.
    if (hits.ticks and number < hits.trial) or probes is None or probes <= allowance.insert * rows:
        return False
    hits.wait = min(2 * hits.wait, LONGEST_WAIT)
    hits.trial = number + hits.wait
    return True
