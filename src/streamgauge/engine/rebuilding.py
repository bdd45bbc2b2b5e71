"""Rebuilding: operators whose state cannot be read begin anew, from what is kept.

State of a version or of a technique that this release does not know stops nobody: what history
holds is read again, answers say by their coverage what it does not, and the receipt says whose
state it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from streamgauge.engine.page_operators import operator_name
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.state import ShardState
from streamgauge.plan.registry import Registry
from streamgauge.plan.technique import technique_of


def begin_anew(
    state: ShardState,
    restored: Set[str],
    runs: Mapping[str, StreamRun],
    registry: Registry,
    epoch: int,
) -> dict[str, str]:
    """Begin what is lost anew, after an epoch; of which queries, and why it was lost.

    Operators that read pages themselves were `restored`, but for those that are new.
    """
    told: dict[str, str] = {}
    for run in runs.values():
        told |= _begin_fed(run, epoch)
    lost, state.lost = state.lost, {}
    fresh = {name: _why(lost, name) for name in state.operators.keys() - restored if lost}
    for name in sorted(fresh):
        state.operators[name].seat(dict(runs), epoch + 1)
    for asked in registry.queries.values() if fresh else ():
        if not technique_of(asked).fed and operator_name(registry, asked) in fresh:
            told[asked.name] = fresh[operator_name(registry, asked)]
    return told


def _why(lost: Mapping[str, str], name: str) -> str:
    """Why some state is not there; it may have had another name."""
    return lost.get(name) or next(iter(lost.values()))


def _begin_fed(run: StreamRun, epoch: int) -> dict[str, str]:
    told: dict[str, str] = {}
    lost: dict[str, str] = {}
    for held in run.state.inputs.values():
        # Work of an earlier release may have another input now.
        lost, held.lost = lost | held.lost, {}
    for name in run.parts if lost else ():
        for key, queries in run.mine(name):
            if key.text() not in run.state.inputs[name].pieces:
                run.begin_anew(name, key, queries, epoch)
                told |= {asked.name: _why(lost, key.text()) for asked in queries}
    return told
