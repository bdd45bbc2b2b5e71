"""Contract: what one standing query is owed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from streamgauge.contracts.sureness import sureness
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.time import Duration, duration_text

if TYPE_CHECKING:
    from streamgauge.contracts.answer import Answer

TOLERANCES = ("exact", "absolute", "relative", "rank", "best")


@dataclass(frozen=True, slots=True)
class Contract:
    """How wrong an answer may be, how surely, and how old.

    Parameters
    ----------
    tolerance
        exact, absolute, relative, rank or best (no width: what the budget allows).
    within
        Half-width of the bar that is owed; 0 means exact.
    confidence
        Probability that the bar holds the truth; 1.0 is a bound that cannot fail. For deferred
        queries it is the share of time during which the bar holds the truth.
    freshness
        Oldest admissible `as_of`, or None.
    throughout
        Whether the bar must hold for the whole time between two answers, not at each instant.

    Examples
    --------
    >>> print(Contract.exact())
    exact
    >>> print(Contract.absolute(0.5, confidence=0.95))
    within 0.5 at 95% confidence
    >>> print(Contract.absolute(0.5, confidence=0.95, throughout=True))
    within 0.5 throughout at 95% confidence
    >>> print(Contract.absolute(0.5, confidence=0.95).words(over_time=True))
    within 0.5 for 95% of the time
    """

    tolerance: str = "exact"
    within: float = 0.0
    confidence: float = 1.0
    freshness: Duration | None = None
    throughout: bool = False

    def __post_init__(self) -> None:
        if self.tolerance not in TOLERANCES:
            raise ContractUnsatisfiable(
                f"unknown tolerance {self.tolerance!r}",
                f"known are {', '.join(TOLERANCES)}",
                "write Contract.absolute(0.5, confidence=0.95)",
            )
        if not self.within >= 0.0 or not 0.0 < self.confidence <= 1.0:
            raise ContractUnsatisfiable(
                "a contract needs a width of 0 or more and a confidence in (0, 1]",
                f"got within={self.within}, confidence={self.confidence}",
                "write Contract.absolute(0.5, confidence=0.95)",
            )

    @classmethod
    def exact(cls, freshness: Duration | None = None) -> Contract:
        """Owe the exact value."""
        return cls(freshness=freshness)

    @classmethod
    def absolute(
        cls, within: float, *, confidence: float = 1.0, throughout: bool = False
    ) -> Contract:
        """Owe a bar of half-width `within`; 0 is exact."""
        if within == math.inf:
            raise _vacuous("an unbounded width", within, "a finite width", "absolute(0.5")
        kind = "absolute" if within else "exact"
        return cls(kind, within, confidence, throughout=throughout)

    @classmethod
    def relative(
        cls, within: float, *, confidence: float = 1.0, throughout: bool = False
    ) -> Contract:
        """Owe a bar of half-width `within` times the value."""
        if within >= 1.0:
            raise _vacuous(
                f"within {100 * within:g} percent", within, "0 <= within < 1", "relative(0.05"
            )
        kind = "relative" if within else "exact"
        return cls(kind, within, confidence, throughout=throughout)

    @classmethod
    def rank(cls, within: float, *, confidence: float = 1.0) -> Contract:
        """Owe an error of at most `within` of the rows, in a quantile's rank or a frequency."""
        if within >= 1.0:
            raise _vacuous(f"within {within:g} in rank", within, "0 <= within < 1", "rank(0.01")
        return cls("rank" if within else "exact", within, confidence)

    @classmethod
    def best(cls, *, confidence: float = 1.0) -> Contract:
        """Owe a bar that holds, as narrow as the budget allows."""
        return cls("best", 0.0, confidence)

    def at_once(self) -> Contract:
        """The contract as each answer owes it by itself: throughout means that none may fail."""
        return replace(self, confidence=1.0, throughout=False) if self.throughout else self

    def met_by(self, answer: Answer) -> bool:
        """Whether an answer keeps this contract, judged by its bar, confidence and coverage.

        >>> from streamgauge.contracts.answer import Answer
        >>> lopsided = Answer("heat", 20.0, 19.9, 21.5, as_of=0)
        >>> Contract.absolute(1.0).met_by(lopsided), Contract.absolute(1.5).met_by(lopsided)
        (False, True)
        """
        if answer.basis == "empty":
            return answer.coverage == 1.0
        if answer.value is None or answer.coverage < 1.0 or answer.confidence < self.confidence:
            return False
        if self.tolerance == "rank":
            # The synopsis was sized for the rank; whoever else widened the bar breaks it.
            return all(charge.by == answer.basis for charge in answer.charges)
        if self.tolerance == "best":
            return True
        owed = self.within * abs(answer.value) if self.tolerance == "relative" else self.within
        # A part in a billion is the rounding of a bar that fits exactly.
        reach = max(answer.high - answer.value, answer.value - answer.low)
        return reach <= owed * (1.0 + 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain = {
            "tolerance": self.tolerance,
            "within": self.within,
            "confidence": self.confidence,
            "freshness": self.freshness,
        }
        return {**plain, "throughout": True} if self.throughout else plain

    def __str__(self) -> str:
        return self.words()

    def written(self) -> str:
        """The contract as it is written in SQL.

        >>> Contract.rank(0.05, confidence=0.95).written()
        'WITHIN 5% RANK CONFIDENCE 95%'
        """
        if self.tolerance == "exact":
            return "EXACT"
        share = {"relative": "%", "rank": "% RANK"}.get(self.tolerance)
        width = f"{self.within:g}" if share is None else f"{100 * self.within:.6g}{share}"
        if self.confidence == 1.0:
            return f"GUARANTEED WITHIN {width}"
        sure = f"CONFIDENCE {100 * self.confidence:.6g}%"
        return f"WITHIN {width} {sure}{' THROUGHOUT' if self.throughout else ''}"

    def words(self, *, over_time: bool = False) -> str:
        """The contract in words; `over_time` where it is judged by the share of time it holds."""
        unit = {"relative": " of the value", "rank": " in rank"}.get(self.tolerance, "")
        named = {"exact": "exact", "best": "as near as the budget allows"}
        text = named.get(self.tolerance) or f"within {self.within:g}{unit}"
        if self.throughout:
            text += " throughout"
        if self.confidence < 1.0:
            text += f" {sureness(self.confidence, over_time, throughout=self.throughout)}"
        if self.freshness is not None:
            text += f", fresh {duration_text(self.freshness)}"
        return text


def _vacuous(what: str, got: float, expected: str, call: str) -> ContractUnsatisfiable:
    """The refusal of a contract that every answer keeps, zero too."""
    return ContractUnsatisfiable(
        f"contract {what} is kept by any answer",
        f"got within={got:g}, expected {expected}",
        f"write Contract.{call}, confidence=0.95); in SQL WITHIN 5 PERCENT or WITHIN 0.01 RANK",
    )
