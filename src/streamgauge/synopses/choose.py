"""Choose: the synopsis that holds a contract in the fewest bytes, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses import kind_named, registry
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.on_use import answers
from streamgauge.synopses.synopsis import MOST_BYTES, Expiring, Need, Synopsis

TRIED_ROWS = 10_000
# A synopsis that has so much when it is empty has all its arrays from the start.
FIXED_BYTES = 8192
# A refusal names so many synopses; the others are counted.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """A synopsis that was not chosen, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The synopsis to build, its bytes after ten thousand different rows, and the others."""

    model: Synopsis
    nbytes: int
    refused: tuple[Refusal, ...]

    def __str__(self) -> str:
        return f"{self.model!r}, {self.model.guarantee}, {self.nbytes:,} bytes"


def choose(need: Need, *, seed: int = 0, among: tuple[str, ...] = ()) -> Choice:
    """Pick and size a synopsis for a need, of all kinds or among some.

    Examples
    --------
    >>> from streamgauge.contracts.contract import Contract
    >>> from streamgauge.synopses.questions import Quantile
    >>> choose(Need(Quantile(0.95), Contract.exact())).model
    Exact(seed=0)
    """
    return _choose(need, seed, among)


@lru_cache(maxsize=512)
def _choose(need: Need, seed: int, among: tuple[str, ...]) -> Choice:
    sized: list[tuple[bool, int, Synopsis]] = []
    refused: list[Refusal] = []
    allowed = MOST_BYTES if need.memory is None else need.memory
    for name in among or registry():
        if not answers(name, need.question):
            refused.append(Refusal(name, f"does not answer {type(need.question).__name__}"))
            continue
        kind = kind_named(name)
        reason = _unfit(kind, need)
        if reason is None:
            try:
                model = sized_model(kind, need, seed)
            except (ContractUnsatisfiable, NotImplementedError, BindError) as error:
                reason = getattr(error, "what", "it has no sizes to choose from")
            else:
                nbytes = full_bytes(model, need.universe, need.rows)
                if nbytes <= allowed:
                    sized.append((need.groups > 1 and kind.bank_kind is None, nbytes, model))
                    continue
                reason = f"it takes {nbytes:,} bytes"
        refused.append(Refusal(kind.name, reason))
    if not sized:
        raise _refusal(need, refused)
    _, nbytes, model = min(sized, key=lambda found: found[:2])
    others = (
        Refusal(m.name, f"takes {size:,} bytes{', one group at a time' if alone else ''}")
        for alone, size, m in sorted(sized, key=lambda found: found[:2])
        if m is not model
    )
    return Choice(model, nbytes, (*others, *refused))


def sized_model(kind: type[Synopsis], need: Need, seed: int) -> Synopsis:
    """A synopsis of a kind that holds the contract, or ContractUnsatisfiable."""
    model = kind.sized_for(need, seed=seed)
    law = model.guarantee_for(need)
    if not law.holds(need.contract, need.question, need.most):
        raise ContractUnsatisfiable(
            f"{kind.name} holds {law}",
            f"asked for {need.contract}",
            "ask for a contract in that unit, or for Contract.exact()",
        )
    return model


def _unfit(kind: type[Synopsis], need: Need) -> str | None:
    """Why a kind cannot serve, whatever its size."""
    exact = need.contract.tolerance == "exact"
    if not issubclass(type(need.question), kind.answers):
        return f"does not answer {type(need.question).__name__}"
    if exact != (kind is Exact):
        return "has an error" if exact else "keeps every row; ask for an exact contract"
    if need.deletions and kind.weights not in ("strict", "any"):
        return "cannot take rows back"
    if need.merge and kind.merging == "none":
        return "cannot be merged"
    if issubclass(kind, Expiring) != (need.window is not None):
        return "does not expire" if need.window is not None else "is for one sliding window"
    if not kind.repeatable:
        return "a replay gives other bytes"
    return None


def full_bytes(
    model: Synopsis, universe: tuple[int, int] | None = None, expected: int | None = None
) -> int:
    """Bytes of a synopsis after ten thousand different rows, within a universe if there is one."""
    if model.nbytes >= FIXED_BYTES:
        return model.nbytes
    rows = np.arange(min(expected or TRIED_ROWS, TRIED_ROWS), dtype=np.int64)
    if universe is not None:
        rows = universe[0] + rows % (universe[1] - universe[0] + 1)
    tried = model.copy()
    times = np.arange(len(rows)) if isinstance(tried, Expiring) else None
    tried.update(np.random.default_rng(0).permutation(rows), None, times)
    return tried.nbytes


def _refusal(need: Need, refused: Sequence[Refusal]) -> ContractUnsatisfiable:
    asked = [r for r in refused if not r.reason.startswith(("does not answer", "keeps every row"))]
    told = "; ".join(f"{r.name}: {r.reason}" for r in asked[:NAMED])
    if len(asked) > NAMED:
        told += f"; and {len(asked) - NAMED} more"
    return ContractUnsatisfiable(
        f"no sketch holds {type(need.question).__name__} {need.contract}",
        told or "none answers such a question",
        "widen the contract, lower its confidence below 100%, or ask for Contract.exact()",
    )
