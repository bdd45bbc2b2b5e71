"""How errors compose: widths add, chances of failure add, times take the oldest, charges join."""

from __future__ import annotations

from collections.abc import Iterable

from streamgauge.contracts.answer import Answer, Charge


def total(charges: Iterable[Charge]) -> Charge:
    """Add charges up: widths and chances of failure both add (union bound).

    >>> total([Charge("filter", 0.3), Charge("sketch", 0.1, 0.01)])
    Charge(by='filter + sketch', width=0.4, delta=0.01)
    """
    items = tuple(charges)
    return Charge(
        " + ".join(charge.by for charge in items),
        sum(charge.width for charge in items),
        min(1.0, sum(charge.delta for charge in items)),
    )


def widened(answer: Answer, charge: Charge) -> Answer:
    """Charge an answer: its bar grows by the width on both sides, its confidence falls by delta."""
    return Answer(
        answer.query,
        answer.value,
        answer.low - charge.width,
        answer.high + charge.width,
        as_of=answer.as_of,
        version=answer.version,
        group=answer.group,
        confidence=max(0.0, answer.confidence - charge.delta),
        epoch=answer.epoch,
        revision=answer.revision,
        coverage=answer.coverage,
        basis=answer.basis,
        charges=(*answer.charges, charge),
        contract_met=answer.contract_met,
    )


def linear(answers: Iterable[Answer], weights: Iterable[float], *, query: str) -> Answer:
    """A weighted sum of answers: bars add with the weights' sizes, the oldest time counts.

    >>> a = Answer("a", 1.0, 0.5, 1.5, as_of=5); b = Answer("b", 2.0, 2.0, 2.0, as_of=3)
    >>> print(linear([a, b], [1.0, -2.0], query="d"))
    d = -3 in [-3.5, -2.5], exact, as of 1970-01-01T00:00:00.000003Z
    """
    pairs = list(zip(answers, weights, strict=True))
    assert pairs, "a sum of no answers has no meaning"
    low = sum(min(w * a.low, w * a.high) for a, w in pairs)
    high = sum(max(w * a.low, w * a.high) for a, w in pairs)
    missing = any(a.value is None for a, _ in pairs)
    failing = sum(1.0 - a.confidence for a, _ in pairs)
    return Answer(
        query,
        None if missing else sum(w * (a.value or 0.0) for a, w in pairs),
        low,
        high,
        as_of=min(a.as_of for a, _ in pairs),
        confidence=max(0.0, 1.0 - failing),
        coverage=min(a.coverage for a, _ in pairs),
        basis=pairs[0][0].basis if len({a.basis for a, _ in pairs}) == 1 else "mixed",
        charges=tuple(c for a, _ in pairs for c in a.charges),
        contract_met=all(a.contract_met for a, _ in pairs),
    )
