"""Offers of sketches over windows: every value kept, or the smallest synopsis that will do."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.summary import SEED, model_name
from streamgauge.synopses.choose import Choice, choose
from streamgauge.synopses.correlated.compared import CutRank, KeptPairs
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.questions import Rank
from streamgauge.synopses.synopsis import Need, Synopsis

# Kinds that a standing query is answered from; the others are for users of the library. The last
# line is for budgets of memory that the others exceed.
STANDING = (
    "kll", "log_histogram", "gk", "mrl", "reservoir", "hll", "theta", "count_min",
    "space_saving", "fast_ams",
    "ams", "bjkst", "fm", "misra_gries", "lossy_counting", "frequent_items",
)  # fmt: skip


def kept_values(name: str, query: Query, statistics: Statistics) -> Bid:
    """Every value of every pane, for exact answers that no accumulator gives."""
    if query.memory is not None:
        return Refusal(
            name,
            "exact answers keep every value, which no budget bounds",
            f"query {query.name!r} may take {query.memory:,} bytes a group and pane",
        )
    model = KeptPairs(seed=SEED) if query.select.correlated else Exact(seed=SEED)
    rows = statistics.rows or 10_000
    return Offer(name, model.guarantee, 16 * rows, 4.0, "nothing", model_name(model))


def synopsis(name: str, query: Query, statistics: Statistics) -> Bid:
    """A synopsis sized for the contract, or what keeps each of them from it."""
    beside = query.select.correlated
    if beside and (query.select.name != "count_when" or query.contract.tolerance != "rank"):
        return Refusal(
            name,
            f"no synopsis holds {query.select} {query.contract}",
            "only a count can be owed, as a share of the rows; the buckets that follow a "
            "moving cut give bars, but no width of them is known beforehand",
        )
    try:
        choice = _choice(query, statistics)
    except ContractUnsatisfiable as error:
        return Refusal(name, error.what, error.detail)
    model: Synopsis = choice.model
    if beside:
        # The rank of a cut that moves: a summary of ranks beside an exact aggregate.
        model = CutRank(model.name, model.parameters, seed=SEED)
    law = replace(model.guarantee)
    return Offer(name, law, choice.nbytes, 2.0, str(law), model_name(model), choice.refused)


def _choice(query: Query, known: Statistics) -> Choice:
    """The synopsis a query is answered from, and why not another; or ContractUnsatisfiable."""
    owed = query.contract.at_once()
    if query.select.correlated:
        # Ranks are summarised one group at a time; a bank of its own would gain nothing.
        need = Need(Rank(0.0), owed, rows=known.rows, memory=query.memory)
        return choose(need, seed=SEED, among=STANDING)
    question = query.select.question()
    need = Need(question, owed, groups=known.groups, rows=known.rows, memory=query.memory)
    return choose(need, seed=SEED, among=STANDING)
