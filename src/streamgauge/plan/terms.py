"""Terms: what a query is owed and when it answers, from the clauses after a SELECT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.language.statements import Terms
from streamgauge.plan.over import Over
from streamgauge.plan.query import Cadence, every, on_change, on_close

# Nothing is said about a confidence: the usual one, so that a width alone can be asked for.
CONFIDENCE = 0.95
# What a budget may be of when rows are chosen by their promise.
PROMISING = ("probes", "cpu")


@dataclass(frozen=True, slots=True)
class Owed:
    """Terms as the values that queries and views hold.

    Parameters
    ----------
    answer
        When it answers.
    contract
        What is owed; None when nothing was said, so that each aggregate has its own default.
    fresh
        Oldest admissible answer, or None.
    history
        Whether windows are filled from kept history.
    mode
        changes, append or store; empty when nothing was said.
    regime, trend
        How a deferred query is brought up to date, and whether its answers carry a slope.
    over
        The extreme that is asked of the values; None: the values themselves.
    promising
        Whether the most promising rows come first when there is not enough time for all.

    Examples
    --------
    >>> print(owed(Terms(every=60_000_000, within=5.0, unit="percent")).contract)
    within 0.05 of the value at 95% confidence
    """

    answer: Cadence
    contract: Contract | None = None
    fresh: int | None = None
    history: bool = True
    mode: str = ""
    memory: int | None = None
    regime: str = ""
    trend: bool = False
    over: Over | None = None
    promising: bool = False

    def contract_or(self, default: Contract) -> Contract:
        """The contract that was asked for, or a default for an aggregate that says nothing.

        What is owed throughout is owed by each answer at once, so it must not fail at all.
        """
        return self.over_time(default).at_once()

    def over_time(self, default: Contract) -> Contract:
        """The same where it is judged by the share of time that it holds."""
        return replace(self.contract or default, freshness=self.fresh)


def owed(terms: Terms) -> Owed:
    """Read the terms; what belongs to other ways of answering is refused, with what can be had."""
    return Owed(
        _cadence(terms),
        _contract(terms),
        terms.fresh,
        terms.history is not False,
        terms.mode,
        _memory(terms),
        terms.regime,
        terms.trend,
        promising=prefers(terms),
    )


def prefers(terms: Terms) -> bool:
    """Whether the most promising rows come first when there is not enough time for all.

    >>> prefers(Terms(budget=(("probes", 100.0),))), prefers(Terms(budget=(("memory", 1e6),)))
    (True, False)
    """
    return terms.preference is not None or any(what in PROMISING for what, _ in terms.budget)


def _cadence(terms: Terms) -> Cadence:
    if terms.every is not None:
        # The period is microseconds already; a number would be read as seconds.
        return replace(every("1 s"), period=terms.every)
    return on_close() if terms.close else on_change(terms.change or 0.0)


def _contract(terms: Terms) -> Contract | None:
    if terms.within is None:
        if terms.confidence is not None and prefers(terms):
            return Contract.best(confidence=terms.confidence)
        if terms.confidence is not None:
            raise ContractUnsatisfiable(
                "a confidence says how surely, and nothing says how far off",
                f"CONFIDENCE {terms.confidence:g} without WITHIN",
                f"write WITHIN 5 PERCENT CONFIDENCE {terms.confidence:g}, or leave it out",
            )
        if terms.throughout:
            raise ContractUnsatisfiable(
                "THROUGHOUT says for how long, and nothing says how far off",
                "THROUGHOUT without WITHIN",
                "write WITHIN 5 PERCENT CONFIDENCE 95% THROUGHOUT, or leave it out",
            )
        return None
    if terms.within == 0.0:
        return Contract.exact()
    sure = CONFIDENCE if terms.confidence is None else terms.confidence
    if terms.guaranteed:
        sure = 1.0
    if terms.unit == "rank":
        found = Contract.rank(terms.within, confidence=sure)
    elif terms.unit == "percent":
        found = Contract.relative(terms.within / 100.0, confidence=sure)
    else:
        found = Contract.absolute(terms.within, confidence=sure)
    # What cannot fail holds throughout as it is.
    return replace(found, throughout=terms.throughout and sure < 1.0)


def _memory(terms: Terms) -> int | None:
    """Bytes that each group and pane may take."""
    given = dict(terms.budget)
    for what, amount in terms.budget:
        if what not in ("memory", *PROMISING):
            raise ContractUnsatisfiable(
                f"a budget of {what} cannot be held to here",
                f"BUDGET {what.upper()} {amount:g}",
                "BUDGET MEMORY bounds the bytes of a synopsis, BUDGET PROBES and CPU the work on "
                "promising rows; a stream states its CAPACITY",
            )
    return int(given["memory"]) if "memory" in given else None
