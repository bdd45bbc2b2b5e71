"""Models: the empty synopsis that a query is answered from, by the name that the plan keeps."""

from __future__ import annotations

import json
from functools import lru_cache

from streamgauge.kernel.keys import DATASKETCHES_SEED
from streamgauge.synopses import kind_named
from streamgauge.synopses.correlated.compared import CutRank, KeptPairs
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.synopsis import Synopsis

# The seed of DataSketches, so that sketches taken out of a job fit those built elsewhere.
SEED = DATASKETCHES_SEED
# Models that are here already; the last two are not offered to users of the library.
_OWN: dict[str, type[Synopsis]] = {kind.name: kind for kind in (Exact, CutRank, KeptPairs)}


def model_name(model: Synopsis) -> str:
    """Name of a model as it is stored: kind, parameters, seed."""
    return json.dumps([model.name, model.parameters, model.seed])


@lru_cache(maxsize=512)
def named_model(text: str) -> Synopsis:
    """The model of that name."""
    kind, parameters, seed = json.loads(text)
    known = _OWN.get(kind) or kind_named(kind)
    return known(**parameters, seed=seed)
