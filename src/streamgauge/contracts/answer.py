"""Answer: a number with its bar, its confidence, its time, and who widened it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from streamgauge.contracts.picture import answer_html, shown_coverage
from streamgauge.contracts.sureness import held_over_time, sureness
from streamgauge.kernel.time import SECOND, Instant, instant_text

EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Charge:
    """Who widened a bar, by how much, at what extra chance of failure.

    Examples
    --------
    >>> Charge("late rows", width=0.4)
    Charge(by='late rows', width=0.4, delta=0.0)
    """

    by: str
    width: float
    delta: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form; an unbounded width is null."""
        return {"by": self.by, "width": finite(self.width), "delta": self.delta}


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
        Who widened the bar.
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
        paid = "".join(f", {charge.by} {charge.width:.6g}" for charge in self.charges)
        return (
            f"{name} = {self.value:.6g} in [{self.low:.6g}, {self.high:.6g}]{sure}, "
            f"{self.basis}{partial}{paid}, as of {instant_text(self.as_of)}"
        )


def finite(number: float) -> float | None:
    """A number as JSON can say it: null for unbounded or undefined."""
    return number if math.isfinite(number) else None
