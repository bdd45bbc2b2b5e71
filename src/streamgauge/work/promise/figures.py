"""What a promising query has done so far, read from the committed state."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.engine import state as wire
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.page_operators import operator_name
from streamgauge.log.commits import home_after
from streamgauge.log.home import Home
from streamgauge.plan.registry import Standing
from streamgauge.promise.figures import Figures


def figures(home: Home, standing: Standing) -> Figures:
    """Figures of a query over all shards; those of a query that has not begun are empty."""
    while True:
        epoch = home.committed()
        try:
            return _figures_after(home, epoch, standing) if epoch else Figures()
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if home.committed() == epoch:
                raise wire.absent(home, epoch) from None


def _figures_after(home: Home, epoch: int, standing: Standing) -> Figures:
    name = operator_name(registry_at(home, epoch), standing)
    home = home_after(home, epoch)
    held = (wire.read_state(home, epoch, shard).operators for shard in range(home.shards))
    known = (operators[name] for operators in held if name in operators)
    found = [each for one in known if (each := one.figures(standing)) is not None]
    if not found:
        return Figures()
    # Shards that work on one query choose alike; only what they find is their own.
    whole: Figures = replace(found[0], found=sum(each.found for each in found))
    return whole
