"""Guarantee: what one piece of state can swear to, stated once and read by all.

The answer's interval, the planner's sizing, the statistical test and EXPLAIN all read this object.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.contracts.answer import Answer

LAWS = ("exact", "additive", "relative", "rank")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An error law with its numbers.

    Parameters
    ----------
    law
        exact; additive (off by `epsilon` times a mass); relative (by `epsilon` times the value);
        rank (by `epsilon` in rank).
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
    >>> Guarantee("additive", 0.01, 0.05, cite="CM05 thm 1").interval(100.0, mass=1000.0)
    (90.0, 110.0)
    >>> print(Guarantee("exact"))
    exact
    """

    law: str
    epsilon: float = 0.0
    delta: float = 0.0
    assumes: tuple[str, ...] = ()
    cite: str = ""

    def width(self, estimate: float, mass: float) -> float:
        """Half-width of the bar around an estimate."""
        scale = {"exact": 0.0, "additive": mass, "relative": abs(estimate), "rank": 1.0}[self.law]
        return self.epsilon * scale

    def interval(self, estimate: float, mass: float) -> tuple[float, float]:
        """The bar around an estimate."""
        width = self.width(estimate, mass)
        return estimate - width, estimate + width

    def broken_by(self, answer: Answer, truth: float) -> bool:
        """Whether the truth lies outside the answer's bar."""
        return not answer.low <= truth <= answer.high

    def __str__(self) -> str:
        if self.law == "exact":
            return "exact"
        mass = {"additive": " n", "relative": " of the value", "rank": " in rank"}[self.law]
        cite = f", {self.cite}" if self.cite else ""
        return f"within {self.epsilon:.3g}{mass}, {100 * (1 - self.delta):.1f}% per question{cite}"


EXACT = Guarantee("exact")
