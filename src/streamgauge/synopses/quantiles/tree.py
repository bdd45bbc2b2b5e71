"""Quantiles over a tree of sites: what each link carries, and how far the answer may be off.

Every site summarises its own rows; summaries travel up a tree and are combined on the way. A
simple tree prunes at every hop, so it must send more the higher it is. In the other scheme a
summary is pruned only when it meets one of about as many rows, and so a number of times that does
not depend on the shape of the tree. This is a simulation: it counts bytes, it opens no sockets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.quantiles.rank_summary import (
    EMPTY,
    ENTRY_BYTES,
    RankSummary,
    combine,
    of_rows,
    prune,
)
from streamgauge.synopses.synopsis import Floats

Scheme = Literal["simple", "classes"]
HEAD_BYTES = 16


@dataclass(frozen=True, slots=True)
class Gathered:
    """What arrived at the root.

    Parameters
    ----------
    summary
        The rows of all sites that were heard, as one rank summary.
    sent
        Bytes that each site sent to its parent; 0 for the root and for silent sites.
    covered
        Rows the answer rests on.
    missing
        Sites not heard: the silent ones and all behind them.
    """

    summary: RankSummary
    sent: list[int]
    covered: int
    missing: list[int]


def gather(
    parents: Sequence[int],
    rows: Sequence[Floats],
    epsilon: float,
    *,
    scheme: Scheme = "simple",
    silent: Sequence[int] = (),
) -> Gathered:
    """Collect the rows of all sites at site 0, within `epsilon` in rank of those heard.

    Parameters
    ----------
    parents
        Parent of each site; site 0 is the root and its own parent, a parent comes before its
        children.
    rows
        The rows of each site.
    epsilon
        Error in rank, as a share of the rows heard.
    scheme
        simple (prune at every hop) or classes (prune when two of one class of size meet).
    silent
        Sites that send nothing.

    Examples
    --------
    >>> import numpy as np
    >>> chain = [0, 0, 1, 2]
    >>> parts = [np.arange(1000.0) + 1000 * site for site in range(4)]
    >>> heard = gather(chain, parts, 0.05)
    >>> heard.covered, heard.summary.precision <= 0.05
    (4000, True)
    >>> gather(chain, parts, 0.05, silent=[2]).missing
    [2, 3]
    """
    if list(parents[:1]) != [0] or any(not 0 <= p < i for i, p in enumerate(parents) if i):
        raise BindError(
            "sites must form a tree with its root first",
            f"parents are {list(parents)[:20]}",
            "number sites so that each parent comes before its children",
        )
    depth = [0] * len(parents)
    heard = [True] * len(parents)
    for site in range(1, len(parents)):
        depth[site] = depth[parents[site]] + 1
        heard[site] = heard[parents[site]] and site not in silent
    boxes: list[list[RankSummary]] = [[] for _ in parents]
    sent = [0] * len(parents)
    rule = _simple(max(depth), epsilon)
    if scheme == "classes":
        rule = _by_class(sum(len(part) for part in rows), epsilon)
    for site in range(len(parents) - 1, -1, -1):
        if not heard[site]:
            continue
        boxes[site].append(of_rows(rows[site]))
        packed = rule.pack(boxes[site])
        boxes[site] = packed
        if site:
            sent[site] = sum(HEAD_BYTES + ENTRY_BYTES * len(part) for part in packed)
            boxes[parents[site]] += packed
    summary = combine(*boxes[0])
    missing = [site for site, here in enumerate(heard) if not here]
    return Gathered(summary, sent, int(summary.mass), missing)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a site packs the summaries it holds: pruned to `pieces`, all in one or by class."""

    pieces: int
    classes: bool

    def pack(self, parts: list[RankSummary]) -> list[RankSummary]:
        if not self.classes:
            return [prune(combine(*parts), self.pieces)]
        held: dict[int, RankSummary] = {}
        for part in sorted(parts, key=lambda part: part.mass):
            own = part if len(part) <= self.pieces + 1 else prune(part, self.pieces)
            while own.mass and (size := int(own.mass).bit_length()) in held:
                # Two of a class make at least one of the next, so a row is pruned once a class.
                own = prune(combine(held.pop(size), own), self.pieces)
            if own.mass:
                held[int(own.mass).bit_length()] = own
        return [held[size] for size in sorted(held)] or [EMPTY]


def _simple(height: int, epsilon: float) -> _Rule:
    # A prune at each of the hops and at the root costs 1 / (2 pieces).
    return _Rule(math.ceil((height + 1) / (2.0 * epsilon)), classes=False)


def _by_class(rows: int, epsilon: float) -> _Rule:
    # One prune for each class that a row rises through, and one before it is first sent.
    return _Rule(math.ceil((math.log2(max(2, rows)) + 1.0) / (2.0 * epsilon)), classes=True)
