"""Change: cells of queries that come and leave, while those of others keep their memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.drift.cells import moved
from streamgauge.engine.members import Kin, kin_of
from streamgauge.engine.piece_memory import array_bytes
from streamgauge.engine.pieces import Bench, Who
from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import Codes
from streamgauge.plan.assignment import Change
from streamgauge.plan.registry import Standing
from streamgauge.work.deferral import watching
from streamgauge.work.deferral.roster import changed, compiled

if TYPE_CHECKING:
    from streamgauge.work.deferral.operator import DeferralOperator

_NO_HOMES: Codes = np.empty(0, np.int32)


def is_mine(standing: Standing, bench: Bench) -> bool:
    """Whether a shard has a part in a query: families are shared by their groups."""
    family = standing.query.members is not None or standing.query.group_by
    return bool(family) or standing.id % bench.pools % bench.shards == bench.shard


def take_in(piece: DeferralOperator, bench: Bench, change: Change) -> bool:
    """Compile queries that come and forget those that leave; False where all must be compiled."""
    mine, known = change.among(lambda standing: is_mine(standing, bench)), piece.roster
    if known is None or not all(map(_plain, (*mine.added, *mine.dropped))):
        return False
    left, come = _who(mine.dropped), _who(mine.added)
    moves = Moves.among(piece.who, left, come)
    fresh = compiled(mine.added, _members(piece, bench, mine.added, left), bench, known.laws)
    piece.roster, cells = changed(known, fresh, moves)
    piece.standings = moves.listed(piece.standings, mine.added)
    piece.unfilled = cells.places(len(known.cells))[piece.unfilled]
    piece.memory = moved(piece.memory, cells, [left.index(w) if w in left else -1 for w in come])
    new = np.array([who not in left for who in come], np.bool_)
    piece.memory.cell["started"][cells.come[new]] = piece.ticks
    piece.who = moves.listed(piece.who, [(*who, 1) for who in come])
    piece.watching = watching.changed(piece.watching, change)
    return True


def _members(
    piece: DeferralOperator, bench: Bench, added: Sequence[Standing], left: Sequence[Who]
) -> list[Kin]:
    """Members of the queries that come, which get names; those of others are forgotten."""
    known = {who: piece.kin.pop(who) for who in left}
    found = [
        known.get(who) or kin_of(standing, bench, {}, None, _NO_HOMES)
        for who, standing in zip(_who(added), added, strict=True)
    ]
    piece.kin.update(zip(_who(added), found, strict=True))
    more, less = (array_bytes(tuple(part)) for part in (found, known.values()))
    piece.kin_bytes += more - less
    return found


def _plain(standing: Standing) -> bool:
    """Whether a query is one cell of listed series, and nothing but that."""
    return standing.query.series is not None and standing.query.over is None


def _who(queries: Sequence[Standing]) -> list[Who]:
    return [(standing.id, standing.version) for standing in queries]
