"""Offer: what a technique would do for a query, what it would swear to and what it would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.operators.accumulate import FIELDS
from streamgauge.plan.bounds import bounded
from streamgauge.plan.query import Query
from streamgauge.plan.view import View
from streamgauge.synopses import choose
from streamgauge.windows.window import Window

if TYPE_CHECKING:
    from streamgauge.plan.registry import Registry


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
    windows
        Windows that queries may name.
    """

    groups: int = 2
    rows: int | None = None
    bounds: bool = False
    windows: Mapping[str, Window] = field(default_factory=dict)

    @classmethod
    def of(cls, registry: Registry, asked: Query | View) -> Statistics:
        """What is known of the rows of the streams that are declared."""
        if isinstance(asked, View):
            return cls(windows=registry.windows)
        bounds = bounded(asked, registry.stream(asked.stream))
        return cls(bounds=bounds, windows=registry.windows)

    def window_of(self, query: Query) -> str:
        """The kind of a query's window; empty for latest values and for several streams."""
        if query.window is None or query.parts:
            return ""
        return query.resolve(self.windows).kind


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


def row_offer(name: str, row_cost: float = 1.0) -> Offer:
    """The offer of who gives rows, which are as they are."""
    return Offer(name, EXACT, 0, row_cost, "nothing")


def exact_offer(name: str, query: Query) -> Bid:
    """The offer of accumulators, which spend nothing of the error and hold any contract on it."""
    if query.contract.tolerance == "rank":
        return Refusal(
            name,
            f"{query.select} has no rank to be wrong in",
            f"query {query.name!r} asks for {query.contract}",
        )
    return Offer(name, EXACT, 8 * FIELDS, 1.0, "nothing")
