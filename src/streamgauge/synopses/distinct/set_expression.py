"""Set expressions: how many items are in a combination of streams, from one sketch a stream.

An expression is a tree of names, unions, intersections and differences. All sketches are cut to the
lowest threshold, the tree is evaluated on the hashes that are left, and their number is scaled up.
The bar widens as the result becomes a small part of the streams, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError
from streamgauge.synopses.distinct.theta import Theta
from streamgauge.synopses.questions import Distinct

_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z_0-9]*|[|&()-])")


@dataclass(frozen=True, slots=True)
class SetExpression:
    """A named stream, or two expressions with |, & or - between them.

    Parameters
    ----------
    sign
        What joins the sides: "|" union, "&" intersection, "-" difference; empty for a name.
    sides
        The name, or the two sides.

    Examples
    --------
    >>> import numpy as np
    >>> held = {name: Theta(lg_k=12) for name in ("r1", "r2", "r3")}
    >>> for start, sketch in zip((0, 500, 900), held.values()):
    ...     sketch.update(np.arange(start, start + 1000))
    >>> expression = SetExpression.parse("(r1 | r2) & r3")
    >>> print(expression, "is", expression.estimate(held))
    ((r1 | r2) & r3) is 600 in [600, 600], theta

    References
    ----------
    GGR03: docs/references.md
    """

    sign: str
    sides: tuple[Any, ...]

    @classmethod
    def stream(cls, name: str) -> SetExpression:
        """All items of one stream."""
        return cls("", (name,))

    @classmethod
    def parse(cls, text: str) -> SetExpression:
        """Read an expression; & binds closer than | and -, which go from left to right."""
        tokens = _tokens(text)
        expression = _sum(tokens, text)
        if tokens:
            raise _problem(text, f"{tokens[0]!r} is left over")
        return expression

    def __or__(self, other: SetExpression) -> SetExpression:
        return SetExpression("|", (self, other))

    def __and__(self, other: SetExpression) -> SetExpression:
        return SetExpression("&", (self, other))

    def __sub__(self, other: SetExpression) -> SetExpression:
        return SetExpression("-", (self, other))

    @property
    def names(self) -> set[str]:
        """Streams it speaks of."""
        if not self.sign:
            return {self.sides[0]}
        return reduce(set.__or__, (side.names for side in self.sides))

    def exact(self, sets: Mapping[str, set[Any]]) -> set[Any]:
        """The items themselves, from exact sets."""
        if not self.sign:
            return sets[self.sides[0]]
        one, two = (side.exact(sets) for side in self.sides)
        found: set[Any] = {"|": one | two, "&": one & two, "-": one - two}[self.sign]
        return found

    def sketch(self, sketches: Mapping[str, Theta]) -> Theta:
        """A sketch of the result, which can be combined further."""
        if missing := self.names - set(sketches):
            raise BindError(
                f"no sketch of {', '.join(sorted(missing))}",
                f"there are sketches of {', '.join(sorted(sketches)) or 'nothing'}",
                "give one Theta for every stream of the expression",
            )
        if not self.sign:
            return sketches[self.sides[0]]
        one, two = (side.sketch(sketches) for side in self.sides)
        combine = {"|": Theta.union, "&": Theta.intersection, "-": Theta.difference}
        combined: Theta = combine[self.sign](one, two)
        return combined

    def estimate(self, sketches: Mapping[str, Theta]) -> Estimate:
        """How many items are in the result, with a bar."""
        told: Estimate = self.sketch(sketches).query(Distinct())
        return told

    def __str__(self) -> str:
        if not self.sign:
            return str(self.sides[0])
        return f"({self.sides[0]} {self.sign} {self.sides[1]})"


def _tokens(text: str) -> list[str]:
    found, place = [], 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _problem(text, f"{text[place:].strip()[:1]!r} is none of name | & - ( )")
        found.append(match.group(1))
        place = match.end()
    return found


def _sum(tokens: list[str], text: str) -> SetExpression:
    left = _product(tokens, text)
    while tokens and tokens[0] in "|-":
        sign = tokens.pop(0)
        left = SetExpression(sign, (left, _product(tokens, text)))
    return left


def _product(tokens: list[str], text: str) -> SetExpression:
    left = _leaf(tokens, text)
    while tokens and tokens[0] == "&":
        tokens.pop(0)
        left = left & _leaf(tokens, text)
    return left


def _leaf(tokens: list[str], text: str) -> SetExpression:
    if not tokens:
        raise _problem(text, "it ends too soon")
    token = tokens.pop(0)
    if token == "(":
        inner = _sum(tokens, text)
        if not tokens or tokens.pop(0) != ")":
            raise _problem(text, "a bracket is not closed")
        return inner
    if token in "|&-)":
        raise _problem(text, f"{token!r} stands where a stream should")
    return SetExpression.stream(token)


def _problem(text: str, detail: str) -> BindError:
    return BindError(
        "not an expression of streams", f"in {text!r}, {detail}", "write (r1 | r2) & r3 - r4"
    )
