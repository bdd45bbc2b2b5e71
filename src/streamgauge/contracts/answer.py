"""Answer: a number with its bar, its confidence, its time, and who widened it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.contracts.picture import answer_html, shown_coverage
from streamgauge.contracts.sureness import held_over_time, sureness
from streamgauge.kernel.time import SECOND, Instant, instant_text

if TYPE_CHECKING:
    from streamgauge.contracts.bars import Sides

EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Charge:
    """A cause of error: what it adds to the interval below the value and above it.

    Parameters
    ----------
    by
        The cause: the name of a sketch, or one of `streamgauge.contracts.causes`.
    below, above
        How far it moves the low and the high end; 0 or more, perhaps infinite.
    delta
        Its share of the chance that the interval does not hold; 0 cannot fail.

    Examples
    --------
    >>> Charge("late rows", below=0.0, above=0.4)
    Charge(by='late rows', below=0.0, above=0.4, delta=0.0)
    >>> Charge.even("kll", 3.0, delta=0.05).below
    1.5
    """

    by: str
    below: float
    above: float
    delta: float = 0.0

    @classmethod
    def even(cls, by: str, width: float, delta: float = 0.0) -> Charge:
        """Charge half of a width to each side."""
        return cls(by, width / 2.0, width / 2.0, delta)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Charge:
        """Read a charge from a row of the public schema."""
        return cls(found["by"], found["below"], found["above"], found["delta"])

    @property
    def width(self) -> float:
        """What it adds to the width of the interval.

        >>> Charge("kll", 1.0, 2.0, 0.05).width
        3.0
        """
        return self.below + self.above

    def as_dict(self) -> dict[str, Any]:
        """JSON form; an unbounded width or side is null."""
        sides = {"below": finite(self.below), "above": finite(self.above)}
        return {"by": self.by, "width": finite(self.width), "delta": self.delta, **sides}

    def as_row(self) -> dict[str, Any]:
        """The charge as a row of the public schema has it."""
        sides = {"below": self.below, "above": self.above}
        return {"by": self.by, "width": self.width, "delta": self.delta, **sides}


def charges_of(causes: Iterable[Sides]) -> tuple[Charge, ...]:
    """Causes of one answer as its charges; what adds nothing and cannot fail is left out.

    >>> from streamgauge.contracts.bars import Sides
    >>> charges_of([Sides("kll", 1.0, 0.0, 0.05), Sides("late rows", 0.0, 0.0)])
    (Charge(by='kll', below=1.0, above=0.0, delta=0.05),)
    """
    return tuple(
        Charge(by, float(below), float(above), float(delta))
        for by, below, above, delta in causes
        if below > 0.0 or above > 0.0 or delta > 0.0
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of one standing query.

    Parameters
    ----------
    query, version, group
        Which question: name, version of its text, and GROUP BY key (empty when not grouped).
    value
        The number, or None when there is nothing to answer from.
    low, high
        The bar; equal to the value when exact.
    confidence
        Probability that the truth lies in the bar; of a deferred answer the share of time for
        which it does.
    as_of
        Event time up to which the answer is complete.
    epoch
        Journal page in which it was made.
    revision
        0 at first; higher when late rows changed an answer already given for this instant.
    coverage
        Share of the window or of the members that the answer rests on.
    basis
        How it was made: exact, interrupted, ...; empty when the window holds no row. A group
        whose answer is empty is no longer among the latest answers.
    charges
        The causes of error. They add up to the interval, `low = value - sum of below` and
        `high = value + sum of above`, and to its chance to fail, `1 - confidence`.
    contract_met
        Whether the contract holds for this answer.
    slope
        Change per second that a reader may extend the value and its bar by; 0 unless a trend was
        asked for.
    share
        Share of the regions in question that were looked at; under 1 when a budget did not reach.

    Examples
    --------
    >>> print(Answer("heat", 101.7, 101.2, 102.2, as_of=0, confidence=0.95))
    heat = 101.7 in [101.2, 102.2] at 95% confidence, exact, as of 1970-01-01T00:00:00Z
    """

    query: str
    value: float | None
    low: float
    high: float
    as_of: Instant
    version: int = 1
    group: tuple[Any, ...] = ()
    confidence: float = 1.0
    epoch: int = 0
    revision: int = 0
    coverage: float = 1.0
    basis: str = "exact"
    charges: tuple[Charge, ...] = ()
    contract_met: bool = True
    slope: float = 0.0
    share: float = 1.0

    @property
    def ends_group(self) -> bool:
        """Whether its group has left the latest answers.

        >>> Answer("sales", None, math.nan, math.nan, as_of=0, group=("a",), basis=EMPTY).ends_group
        True
        """
        return bool(self.group) and self.basis == EMPTY

    def as_dict(self) -> dict[str, Any]:
        """The one JSON shape of an answer; unbounded ends are null."""
        return {
            "query": self.query,
            "version": self.version,
            "group": list(self.group),
            "value": self.value,
            "low": finite(self.low),
            "high": finite(self.high),
            "confidence": self.confidence,
            "as_of": instant_text(self.as_of),
            "epoch": self.epoch,
            "revision": self.revision,
            "coverage": self.coverage,
            "basis": self.basis,
            "charges": [charge.as_dict() for charge in self.charges],
            "contract_met": self.contract_met,
            "slope": self.slope,
            "share": self.share,
        }

    def at(self, instant: Instant) -> float | None:
        """The value at a later instant, by its slope.

        >>> Answer("heat", 20.0, 19.0, 21.0, as_of=0, slope=0.5).at(4_500_000)
        22.25
        """
        if self.value is None:
            return None
        return self.value + self.slope * (instant - self.as_of) / SECOND

    def sureness(self, space: str = "") -> str:
        """Its confidence in words: a probability, or a share of time where it is deferred.

        >>> put_off = Answer("heat", 20.0, 19.0, 21.0, 0, confidence=0.9, basis="deferral by watch")
        >>> put_off.sureness()
        'for 90% of the time'
        """
        over_time = held_over_time(self.basis, (charge.by for charge in self.charges))
        return sureness(self.confidence, over_time, space)

    def _repr_html_(self) -> str:
        return answer_html(self)

    def __str__(self) -> str:
        name = self.query + (f"[{', '.join(map(str, self.group))}]" if self.group else "")
        if self.value is None:
            return f"{name} = nothing, as of {instant_text(self.as_of)}"
        sure = "" if self.confidence == 1.0 else f" {self.sureness()}"
        partial = (
            "" if self.coverage == 1.0 else f", covers {100 * shown_coverage(self.coverage):.3g}%"
        )
        partial += "" if self.share == 1.0 else f", looked at {100 * self.share:.3g}%"
        paid = "".join(f", {c.by} {c.width:.6g}" for c in self.charges if c.width > 0.0)
        return (
            f"{name} = {self.value:.6g} in [{self.low:.6g}, {self.high:.6g}]{sure}, "
            f"{self.basis}{partial}{paid}, as of {instant_text(self.as_of)}"
        )


def finite(number: float) -> float | None:
    """A number as JSON can say it: null for unbounded or undefined."""
    return number if math.isfinite(number) else None
