"""Offer: what a technique would do for a query, what it would swear to and what it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.plan.query import Query
from streamgauge.synopses import choose


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the rows a query will meet.

    Parameters
    ----------
    groups
        Groups that each need their own state.
    rows
        Rows of one group and window, when known.
    bounds
        Whether rows are bounds that sources keep, and the newest of each series are asked for.
    """

    groups: int = 2
    rows: int | None = None
    bounds: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A way to answer a query.

    Parameters
    ----------
    technique
        Who offers.
    guarantee
        The law its bars follow.
    nbytes
        Bytes for each group and pane.
    row_cost
        Work for a row, in updates of an accumulator.
    spends
        What it takes of the error that is owed, in words.
    model
        Name of the synopsis it keeps, as it is stored with the query; empty for none.
    others
        Synopses it thought of, and why it took another.
    """

    technique: str
    guarantee: Guarantee
    nbytes: int
    row_cost: float
    spends: str
    model: str = ""
    others: tuple[choose.Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a technique cannot serve a query.

    Parameters
    ----------
    technique
        Who refuses.
    reason, detail
        As an error says it; the reason is empty when such queries are not its business at all.
    """

    technique: str
    reason: str = ""
    detail: str = ""


Bid: TypeAlias = Offer | Refusal


class Technique(Protocol):
    """A way of answering queries, which judges each query by itself."""

    name: str

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """What it would do for a query whose columns and window are known to fit."""
