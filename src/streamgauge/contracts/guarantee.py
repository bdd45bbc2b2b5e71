"""Guarantee: what one piece of state can swear to, stated once and read by all.

The answer's interval, the planner's sizing, the statistical test and EXPLAIN all read this object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from streamgauge.contracts.contract import Contract

LAWS = ("exact", "absolute", "additive", "relative", "rank")

Unit = Literal["value", "ordered", "rows", "all rows", "different rows"]
# Answers that are never larger than the number of rows.
_COUNTS = ("rows", "all rows", "different rows")


class Asked(Protocol):
    """A question, as far as an error of its answer is concerned.

    `unit` is what the answer is a number of: rows, all rows (the answer is their number),
    different rows, an ordered value (which has a rank), or a value of its own.
    """

    unit: ClassVar[Unit]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An error law with its numbers.

    Parameters
    ----------
    law
        exact; absolute (off by `epsilon`, in the unit of the answer); additive (by `epsilon` times
        the rows or their weight); relative (by `epsilon` times the value); rank (by `epsilon` in
        rank).
    epsilon
        Width of the law.
    delta
        Chance that one question breaks it; 0 cannot fail.
    assumes
        What must hold of the data, in words.
    cite
        Where the law is proved, a key of docs/references.md.

    Examples
    --------
    >>> Guarantee("additive", 0.01, 0.05, cite="CM05 thm 1").width(100.0, mass=1000.0)
    10.0
    >>> print(Guarantee("exact"))
    exact
    """

    law: str
    epsilon: float = 0.0
    delta: float = 0.0
    assumes: tuple[str, ...] = ()
    cite: str = ""

    def holds(self, contract: Contract, question: Asked, most: float | None = None) -> bool:
        """Whether every answer to a question that follows this law meets a contract.

        This is the one gate of all choices: it compares units before it compares numbers. A share
        of all rows says nothing about the share of an answer, which may be a few rows of many.

        Parameters
        ----------
        contract
            What is asked for.
        question
            What the answer is a number of.
        most
            The largest answer, or number of rows, there can be; None where it is not known.

        Examples
        --------
        >>> from streamgauge.synopses.questions import Distinct, Frequency
        >>> share = Guarantee("additive", 0.01)
        >>> share.holds(Contract.rank(0.01), Frequency("a"))
        True
        >>> share.holds(Contract.relative(0.01), Frequency("a"))
        False
        >>> Guarantee("relative", 0.01).holds(Contract.relative(0.01), Distinct())
        True
        """
        if self.law == "exact":
            return True
        if contract.tolerance == "exact" or self.delta > 1.0 - contract.confidence + 1e-9:
            return False
        if contract.tolerance == "best":
            return True
        limit = contract.within * (1.0 + 1e-9)
        if contract.tolerance == "absolute" and self.law != "absolute":
            return most is not None and self._scales(question) and self.epsilon * most <= limit
        return self.law in self._laws_of(contract, question) and self.epsilon <= limit

    def _scales(self, question: Asked) -> bool:
        """Whether the error is at most `epsilon` times the largest answer or number of rows."""
        return self.law == "relative" or question.unit in _COUNTS

    @staticmethod
    def _laws_of(contract: Contract, question: Asked) -> tuple[str, ...]:
        """Laws whose unit is that of a contract about such answers."""
        if contract.tolerance == "absolute":
            return ("absolute",)
        if contract.tolerance == "relative":
            return (
                ("relative", "additive", "rank") if question.unit == "all rows" else ("relative",)
            )
        if question.unit == "ordered":
            return ("rank",)
        return ("additive", "rank", "relative") if question.unit in _COUNTS else ()

    def width(self, estimate: float, mass: float) -> float:
        """Half-width of the bar around an estimate."""
        scale = {
            "exact": 0.0,
            "absolute": 1.0,
            "additive": mass,
            "relative": abs(estimate),
            "rank": 1.0,
        }[self.law]
        return self.epsilon * scale

    def __str__(self) -> str:
        if self.law == "exact":
            return "exact"
        mass = {"additive": " n", "relative": " of the value", "rank": " in rank"}.get(self.law, "")
        cite = f", {self.cite}" if self.cite else ""
        return f"within {self.epsilon:.3g}{mass}, {100 * (1 - self.delta):.1f}% per question{cite}"


EXACT = Guarantee("exact")
