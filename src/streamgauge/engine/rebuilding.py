"""Rebuilding: operators whose state cannot be read begin anew, from what is kept.

State of a version or of a technique that this release does not know stops nobody: what history
holds is read again, answers say by their coverage what it does not, and the receipt says whose
state it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engine.page_operators import operator_name
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.state import ShardState
from streamgauge.plan.registry import Registry
from streamgauge.plan.technique import technique_of


def begin_anew(
    state: ShardState, runs: Mapping[str, StreamRun], registry: Registry, epoch: int
) -> dict[str, str]:
    """Begin what is lost anew, after an epoch; of which queries, and why it was lost."""
    told: dict[str, str] = {}
    for run in runs.values():
        told |= _begin_fed(run, epoch)
    lost, state.lost = state.lost, {}
    for name in lost.keys() & state.operators.keys():
        state.operators[name].seat(dict(runs), epoch + 1)
        told |= {
            asked.name: lost[name]
            for asked in registry.queries.values()
            if not technique_of(asked).fed and operator_name(registry, asked) == name
        }
    return told


def _begin_fed(run: StreamRun, epoch: int) -> dict[str, str]:
    told: dict[str, str] = {}
    lost: dict[str, str] = {}
    for held in run.state.inputs.values():
        # Work of an earlier release may have another input now.
        lost, held.lost = lost | held.lost, {}
    for name in run.parts if lost else ():
        for key, queries in run.mine(name):
            if key.text() in lost and key.text() not in run.state.inputs[name].pieces:
                run.begin_anew(name, key, queries, epoch)
                told |= {asked.name: lost[key.text()] for asked in queries}
    return told
