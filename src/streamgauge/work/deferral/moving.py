"""Moving the cells of deferred queries to the shards that have their pools after a rescale.

Which cells a shard has follows from its queries when they are seated: what moves here is every
cell, with the name of its group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.drift import extremes as deques
from streamgauge.drift.cells import ASKED, Memory
from streamgauge.engine.pieces import Bench
from streamgauge.operators.emission import Ints

if TYPE_CHECKING:
    from streamgauge.work.deferral.operator import DeferralOperator

Who = tuple[int, int]


def leave(piece: DeferralOperator, was: Bench, bench: Bench) -> None:
    """Be ready for another shard: families by their groups there, what its pools owe."""
    if len(piece.owed):
        mine = np.arange(len(piece.owed)) % was.shards == was.shard
        piece.owed = np.where(mine, piece.owed, 0)
    for family in piece.families.values():
        family.share_out(bench)
    # Which cells are there is found out anew, by the names that these have.
    piece.kin = {who: replace(kin, steady=False) for who, kin in piece.kin.items()}


def put_beside(piece: DeferralOperator, other: DeferralOperator) -> None:
    """Take in the cells of another shard, each after those of the same query here."""
    assert piece.roster is not None, "seated before"
    assert other.roster is not None, "seated before"
    ours, theirs = _places(piece, 0), _places(other, len(piece.memory.due))
    known = dict.fromkeys((*ours, *theirs))
    parts = {who: [held[who] for held in (ours, theirs) if who in held] for who in known}
    order = np.concatenate([np.empty(0, np.int64), *(p for found in parts.values() for p in found)])
    cells = np.zeros(len(order), ASKED)
    cells["deque"] = _deques(piece, other)[order]
    both = zip(piece.memory, other.memory, strict=True)
    piece.memory = Memory(*(np.concatenate(pair)[order] for pair in both))
    packed = zip(deques.pack(piece.extremes), deques.pack(other.extremes), strict=True)
    piece.extremes = deques.unpack(*(np.concatenate(pair) for pair in packed))
    piece.roster = replace(piece.roster, cells=cells)
    for who, kin in other.kin.items():
        held = piece.kin.get(who)
        texts = kin.texts if held is None else np.concatenate((held.texts, kin.texts))
        piece.kin[who] = replace(kin, texts=texts)
    piece.who = [(*who, sum(map(len, found))) for who, found in parts.items()]
    piece.begun = other.begun | piece.begun
    if len(piece.owed):
        piece.owed = piece.owed + other.owed


def _places(piece: DeferralOperator, first: int) -> dict[Who, Ints]:
    """Where the cells of each query are, counted from a first place."""
    found: dict[Who, Ints] = {}
    for number, version, size in piece.who:
        found[number, version] = np.arange(first, first + size)
        first += size
    return found


def _deques(piece: DeferralOperator, other: DeferralOperator) -> Ints:
    """The deque of each cell of both, numbered on."""
    assert piece.roster is not None, "seated before"
    assert other.roster is not None, "seated before"
    ours, theirs = piece.roster.cells["deque"], other.roster.cells["deque"]
    on = np.where(theirs >= 0, theirs + len(piece.extremes.length), -1)
    return np.concatenate((ours, on)).astype(np.int64)
