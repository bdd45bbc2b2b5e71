"""Summaries: which synopsis holds the contract of a query, chosen once and named in the plan."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.keys import DATASKETCHES_SEED
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.synopses import kind_named
from streamgauge.synopses.choose import Choice, choose
from streamgauge.synopses.correlated.compared import CutRank, KeptPairs
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.questions import Rank
from streamgauge.synopses.synopsis import Need, Synopsis

# The seed of DataSketches, so that sketches taken out of a job fit those built elsewhere.
SEED = DATASKETCHES_SEED
# Kinds that a standing query is answered from; the others are for users of the library. The last
# line is for budgets of memory that the others exceed.
STANDING = (
    "kll", "log_histogram", "gk", "mrl", "reservoir", "hll", "theta", "count_min",
    "space_saving", "fast_ams",
    "ams", "bjkst", "fm", "misra_gries", "lossy_counting", "frequent_items",
)  # fmt: skip
# Models that are here already; the last two are not offered to users of the library.
_OWN: dict[str, type[Synopsis]] = {kind.name: kind for kind in (Exact, CutRank, KeptPairs)}


def choice_for(query: Query, statistics: Statistics | None = None) -> Choice:
    """The synopsis a query is answered from, and why not another; or ContractUnsatisfiable."""
    known = statistics or Statistics()
    if query.select.correlated:
        # Ranks are summarised one group at a time; a bank of its own would gain nothing.
        need = Need(Rank(0.0), query.contract.at_once(), rows=known.rows, memory=query.memory)
        return choose(need, seed=SEED, among=STANDING)
    question = query.select.question()
    owed = query.contract.at_once()
    need = Need(question, owed, groups=known.groups, rows=known.rows, memory=query.memory)
    return choose(need, seed=SEED, among=STANDING)


def model_name(model: Synopsis) -> str:
    """Name of a model as it is stored: kind, parameters, seed."""
    return json.dumps([model.name, model.parameters, model.seed])


@lru_cache(maxsize=512)
def named_model(text: str) -> Synopsis:
    """The model of that name."""
    kind, parameters, seed = json.loads(text)
    known = _OWN.get(kind) or kind_named(kind)
    return known(**parameters, seed=seed)


class KeptValues:
    """Every value of every pane, for exact answers that no accumulator gives."""

    name = "kept values"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """Exact answers to an exact contract."""
        summary = query.select.summary and not query.parts
        if not summary or query.contract.tolerance != "exact":
            return Refusal(self.name)
        if query.memory is not None:
            return Refusal(
                self.name,
                "exact answers keep every value, which no budget bounds",
                f"query {query.name!r} may take {query.memory:,} bytes a group and pane",
            )
        model = KeptPairs(seed=SEED) if query.select.correlated else Exact(seed=SEED)
        rows = statistics.rows or 10_000
        return Offer(
            self.name, model.guarantee, 16 * rows, 4.0, "nothing", model_name(model)
        )  # fmt: skip


class Synopses:
    """The smallest synopsis that holds the contract."""

    name = "synopsis"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """A synopsis sized for the contract, or what keeps each of them from it."""
        summary = query.select.summary and not query.parts
        if not summary or query.contract.tolerance == "exact":
            return Refusal(self.name)
        if query.select.correlated:
            return self._beside(query, statistics)
        try:
            choice = choice_for(query, statistics)
        except ContractUnsatisfiable as error:
            return Refusal(self.name, error.what, error.detail)
        return _bid(self.name, choice.model, choice)

    def _beside(self, query: Query, statistics: Statistics) -> Bid:
        """The rank of a cut that moves: a summary of ranks beside an exact aggregate."""
        if query.select.name != "count_when" or query.contract.tolerance != "rank":
            return Refusal(
                self.name,
                f"no synopsis holds {query.select} {query.contract}",
                "only a count can be owed, as a share of the rows; the buckets that follow a "
                "moving cut give bars, but no width of them is known beforehand",
            )
        try:
            choice = choice_for(query, statistics)
        except ContractUnsatisfiable as error:
            return Refusal(self.name, error.what, error.detail)
        inner = choice.model
        model = CutRank(inner.name, inner.parameters, seed=SEED)
        return _bid(self.name, model, choice)


def _bid(name: str, model: Synopsis, choice: Choice) -> Offer:
    law = replace(model.guarantee)
    return Offer(name, law, choice.nbytes, 2.0, str(law), model_name(model), choice.refused)
