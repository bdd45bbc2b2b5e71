"""Budget: how several answers of one statement share its chance of failure."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.contracts.contract import Contract


def shares(contract: Contract, n: int) -> tuple[Contract, ...]:
    """The contract of each of `n` answers, so that all bars hold at once as surely as was asked.

    By the union bound: the chances of failure add up, the widths do not.

    Examples
    --------
    >>> print(shares(Contract.relative(0.01, confidence=0.9), 5)[0])
    within 0.01 of the value at 98% confidence
    """
    assert n > 0, "a statement has at least one answer"
    if n == 1 or contract.confidence == 1.0:
        return (contract,) * n
    return (replace(contract, confidence=1.0 - (1.0 - contract.confidence) / n),) * n
