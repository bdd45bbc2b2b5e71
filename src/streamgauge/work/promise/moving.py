"""Moving promising queries to other shards after a rescale.

All shards of a join choose alike over all keys, and have the rows and pairs of their own alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.keys import items, keys
from streamgauge.operators.delta import joined
from streamgauge.operators.evaluate import evaluate
from streamgauge.promise.index import MINE, SERIAL, SIDE
from streamgauge.work.promise.join_run import JoinRun, JoinState, SideState
from streamgauge.work.promise.selection_run import SelectionsState

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
UInts64 = npt.NDArray[np.uint64]


def put_together(state: JoinState, other: JoinState) -> None:
    """Have the rows and pairs of the keys of both."""
    for side, more in zip(state.sides, other.sides, strict=True):
        serial = np.concatenate((side.serial, more.serial))
        order = np.argsort(serial, kind="stable")
        kept = pa.concat_tables([side.kept, more.kept])
        side.kept = kept.take(pa.array(order)).combine_chunks()
        side.serial = serial[order]
        side.leave = np.concatenate((side.leave, more.leave))[order]
    state.pairs = np.concatenate((state.pairs, other.pairs))
    state.pairs_leave = np.concatenate((state.pairs_leave, other.pairs_leave))
    owed = [one.owed.pending for one in (state, other) if one.owed.pending is not None]
    state.owed.pending = joined(owed, owed[0].rows.schema) if owed else None
    state.figures.found += other.figures.found


def keep_owned(run: JoinRun) -> None:
    """Let go rows and pairs of the keys of other shards, and know which keys are whose."""
    state, stored = run.state, run.state.stored
    for keyed, facts in (("key", "facts"), ("waiting_key", "waiting_facts")):
        if keyed in stored:
            told = stored[facts].copy()
            told[MINE] = _owned(run, stored[keyed])
            stored[facts] = told
    if stored:
        for number, side in enumerate(state.sides):
            _keep_rows(side, _serials(stored, number))
        for number, side in enumerate(state.sides):
            here = np.isin(state.pairs[:, number], side.serial)
            state.pairs, state.pairs_leave = state.pairs[here], state.pairs_leave[here]
    owed = state.owed.pending
    if owed is not None:
        state.owed.pending = owed.take(_owned(run, _keys_of(run, owed.rows)))
    if run.shard:
        # Together the shards have found what they found.
        state.figures.found = 0


def _owned(run: JoinRun, key: UInts64) -> Flags:
    found: Flags = key % np.uint64(run.home.shards) == np.uint64(run.shard)
    return found


def _serials(stored: dict[str, npt.NDArray[np.generic]], number: int) -> Ints:
    """Serial numbers of the rows of a side that are here."""
    parts = [np.asarray(stored[name], np.int64) for name in ("facts", "waiting_facts")]
    facts = np.concatenate(parts, axis=1)
    mine: Ints = facts[SERIAL, (facts[SIDE] == number) & (facts[MINE] > 0)]
    return mine


def _keep_rows(side: SideState, serials: Ints) -> None:
    here = np.isin(side.serial, serials)
    side.kept = side.kept.filter(pa.array(here)).combine_chunks()
    side.serial, side.leave = side.serial[here], side.leave[here]


def _keys_of(run: JoinRun, rows: pa.Table) -> UInts64:
    """Hashes of the keys of given rows: one of their columns is the key of a side."""
    named = {expr.value: name for name, expr in run.plan.items if expr.op == "column"}
    for side in run.plan.sides:
        columns = {name: named.get(f"{side.alias}.{name}") for name in side.key.columns()}
        known = {name: rows[given] for name, given in columns.items() if given is not None}
        if known and len(known) == len(columns):
            key = evaluate(side.key, pa.table(known), run.registry.functions)
            return keys(items(key), seed=0)
    raise AssertionError("keys of a join that is shared out are among its columns")


def select_together(state: SelectionsState, other: SelectionsState) -> None:
    """Have the selections of both; rows are numbered as by who has seen more of them."""
    assert state.kept is not None, "stored before"
    assert other.kept is not None, "stored before"
    end, there = state.base + len(state.kept), other.base + len(other.kept)
    for one, shift in ((state, max(0, there - end)), (other, max(0, end - there))):
        for known in one.queries.values() if shift else ():
            if known.stored:
                counts = known.stored["counts"] + np.array([0, shift])
                serials = known.stored["serials"] + shift
                known.stored |= {"counts": counts, "serials": serials}
    if there > end:
        state.prev, state.waiting = other.prev, other.waiting
    if len(other.kept) > len(state.kept):
        state.kept = other.kept
    state.base = max(end, there) - len(state.kept)
    state.missed = max(state.missed, other.missed)
    state.queries = other.queries | state.queries
