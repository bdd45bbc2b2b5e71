"""Summary: which synopsis holds the contract of a query, chosen once and named in the plan."""

from __future__ import annotations

import json
from functools import lru_cache

from streamgauge.plan.query import Query
from streamgauge.synopses import registry
from streamgauge.synopses.choose import Choice, choose
from streamgauge.synopses.synopsis import Need, Synopsis

# The seed of DataSketches, so that sketches taken out of a job fit those built elsewhere.
SEED = 9001


def choice_for(query: Query) -> Choice:
    """The synopsis a query is answered from, and why not another; or ContractUnsatisfiable."""
    return choose(Need(query.select.question(), query.contract, groups=2), seed=SEED)


def chosen_model(query: Query) -> str:
    """Name of the synopsis a query is answered from: kind, parameters, seed; empty for others."""
    if not query.select.summary:
        return ""
    model = choice_for(query).model
    return json.dumps([model.name, model.parameters, model.seed])


@lru_cache(maxsize=512)
def named_model(text: str) -> Synopsis:
    """The model of that name."""
    kind, parameters, seed = json.loads(text)
    return registry()[kind](**parameters, seed=seed)
