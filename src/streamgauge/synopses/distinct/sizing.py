"""Sizing: the smallest synopsis of a kind that holds a contract about a count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.synopsis import Need, Synopsis

Kind = TypeVar("Kind", bound=Synopsis)


def smallest(
    need: Need, name: str, sizes: Sequence[int], make: Callable[[int, float], Kind]
) -> Kind:
    """The first of ascending sizes whose guarantee is within the contract.

    `make` builds a synopsis of a size and a chance of error. An absolute width is a share of the
    largest count there can be, so it needs a universe or a number of rows.
    """
    contract = need.contract
    within = contract.within
    if contract.tolerance == "absolute":
        within /= max(_most(need), 1)
    elif contract.tolerance != "relative":
        within = 0.0
    if not within > 0.0 or contract.confidence == 1.0:
        raise ContractUnsatisfiable(
            f"{name} owes a share of the count at a confidence below 100%",
            f"asked for {contract}",
            "write Contract.relative(0.02, confidence=0.95), or Contract.exact()",
        )
    delta = round(1.0 - contract.confidence, 12)
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        if make(sizes[middle], delta).guarantee.epsilon <= within:
            high = middle
        else:
            low = middle + 1
    made = make(sizes[min(low, len(sizes) - 1)], delta)
    if low < len(sizes) and (need.memory is None or made.nbytes <= need.memory):
        return made
    tried = (make(size, delta) for size in reversed(sizes[: low + 1]))
    fits = (one for one in tried if need.memory is None or one.nbytes <= need.memory)
    best = next((one.guarantee.epsilon for one in fits), 1.0)
    raise ContractUnsatisfiable(
        f"{name} cannot hold {contract}",
        f"its best is within {best:.3g} of the count in {need.memory or 'any number of'} bytes",
        f"write Contract.relative({best:.3g}, confidence={contract.confidence:g})",
    )


def check_share(name: str, delta: float) -> None:
    """Refuse a chance of error that is none."""
    if not 0.0 < delta < 1.0:
        raise BindError(
            f"{name} needs a chance of error between 0 and 1",
            f"got delta={delta}",
            "write delta=0.05",
        )


def check_size(name: str, parameter: str, value: int, least: int, most: int) -> None:
    """Refuse a size out of its range."""
    if not least <= value <= most:
        raise BindError(
            f"{name} needs {parameter} between {least} and {most}",
            f"got {parameter}={value}",
            f"write {parameter}={min(max(value, least), most)}",
        )


def check_power(name: str, k: int) -> None:
    """Refuse a number of registers that is not a power of two."""
    if k < 2 or k & (k - 1):
        raise BindError(
            f"{name} needs a power of two of registers",
            f"got k={k}",
            f"write k={1 << max(k, 1).bit_length()}",
        )


def _most(need: Need) -> int:
    known = [] if need.rows is None else [need.rows]
    if need.universe is not None:
        known.append(need.universe[1] - need.universe[0] + 1)
    if not known:
        raise ContractUnsatisfiable(
            "an absolute width of a distinct count needs the largest count there can be",
            f"asked for {need.contract}, without universe or rows",
            "write Contract.relative(0.02, confidence=0.95), or give Need(rows=...)",
        )
    return min(known)
