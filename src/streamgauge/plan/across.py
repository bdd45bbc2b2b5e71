"""Across streams: sizes of set expressions and of joins, from one sketch for each stream."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.hashing import stable_hash
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.summary import SEED, model_name
from streamgauge.synopses import registry
from streamgauge.synopses.choose import full_bytes
from streamgauge.synopses.questions import Distinct, Moment, Question
from streamgauge.synopses.synopsis import Need

# The sketch of each stream, the question of one stream alone that it is sized for, and the share
# of the width it is sized for: the bar of two streams that are alike is wider than that of one.
_SKETCHES: dict[str, tuple[str, Question, float]] = {
    "set_size": ("theta", Distinct(), 1.0),
    "join_size": ("fast_ams", Moment(2.0), 0.8),
}


class AcrossStreams:
    """A sketch a stream, of one seed, so that they can be combined at any instant.

    A sketch is sized for what it owes of one stream alone. What it owes of several depends on how
    much they share: the bar of each answer says, and whether it keeps the contract.
    """

    name = "sketch a stream"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """Sketches for a relative error at a confidence below 1."""
        if not query.parts:
            return Refusal(self.name)
        if query.contract.tolerance == "exact":
            return Refusal(
                self.name,
                f"{query.select} is not counted exactly by sketches",
                f"query {query.name!r} asks for {query.contract}",
            )
        kind, question, share = _SKETCHES[query.select.name]
        alone = replace(query.contract, within=share * query.contract.within)
        try:
            model = registry()[kind].sized_for(Need(question, alone), seed=SEED)
        except ContractUnsatisfiable as error:
            return Refusal(self.name, error.what, error.detail)
        law, nbytes = model.guarantee, len(query.parts) * full_bytes(model)
        return Offer(self.name, law, nbytes, 4.0, f"{law} of each stream", model_name(model))


def owner(name: str, shards: int) -> int:
    """The shard that a question across streams lives on."""
    return stable_hash(name) % shards
