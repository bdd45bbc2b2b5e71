"""Across streams: sizes of set expressions and of joins, from one sketch for each stream.

A union is as large as its sketch says, within a share of itself. What streams have in common may be
any small part of them, so the error of an intersection, a difference or a join is a share of all
rows (of a join, of all pairs), and no size of a sketch makes it a share of the answer.
"""

from __future__ import annotations

from dataclasses import replace

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.plan.offer import Bid, Offer, Refusal
from streamgauge.plan.query import Query
from streamgauge.plan.summary import SEED, model_name
from streamgauge.synopses import kind_named
from streamgauge.synopses.choose import full_bytes, sized_model
from streamgauge.synopses.questions import Distinct, Moment, Question
from streamgauge.synopses.synopsis import Need

# The sketch of each stream, the question of one stream alone that it is sized for, and the share
# of the width it is sized for: the bar of two streams that are alike is wider than that of one.
_SKETCHES: dict[str, tuple[str, Question, float]] = {
    "set_size": ("theta", Distinct(), 1.0),
    "join_size": ("fast_ams", Moment(2.0), 0.8),
}


def sketches(name: str, query: Query) -> Bid:
    """A sketch a stream, of one seed, so that they can be combined at any instant.

    They hold a share of a union, or of all rows, at a confidence below 1.
    """
    if query.contract.tolerance == "exact":
        return Refusal(
            name,
            f"{query.select} is not counted exactly by sketches",
            f"query {query.name!r} asks for {query.contract}",
        )
    kind, question, share = _SKETCHES[query.select.name]
    within = share * query.contract.within
    # The error of one stream alone is a share of its answer, whatever that is a share of.
    alone = replace(query.contract, tolerance="relative", within=within)
    try:
        model = sized_model(kind_named(kind), Need(question, alone), SEED)
    except ContractUnsatisfiable as error:
        return Refusal(name, error.what, error.detail)
    law = combined_law(query, replace(model.guarantee, epsilon=model.guarantee.epsilon / share))
    if not law.holds(query.contract, query.select.question()):
        return Refusal(
            name,
            f"no sketch holds {query.select} {query.contract}",
            f"its error is {law}, where n is {_rows_of(query)}",
        )
    nbytes = len(query.parts) * full_bytes(model)
    return Offer(name, law, nbytes, 4.0, str(law), model_name(model))


def combined_law(query: Query, alone: Guarantee) -> Guarantee:
    """The law of several streams from that of one: a share of a union, else of all rows."""
    union = query.select.name == "set_size" and not set(str(query.select.argument)) & {"&", "-"}
    return alone if union else replace(alone, law="additive")


def _rows_of(query: Query) -> str:
    if query.select.name == "set_size":
        return "the rows of all the streams, of which the answer may be any part"
    return "the number of pairs of rows, of which any part may meet"
