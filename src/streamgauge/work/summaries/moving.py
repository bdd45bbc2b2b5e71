"""Moving summaries to the shards that own their groups after a rescale."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.engine.naming import renumbered
from streamgauge.engine.pieces import Bench
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.keys import items
from streamgauge.plan.table_key import is_word
from streamgauge.synopses.exact import Exact
from streamgauge.work.summaries.names import CODED

if TYPE_CHECKING:
    from streamgauge.work.summaries.operator import SummaryOperator


def renumbering(piece: SummaryOperator, was: Bench, bench: Bench) -> Callable[[], None] | None:
    """What gives items the numbers that their names have elsewhere; None where nothing can.

    Exact panes alone let numbers be changed; others can go only where names have the same ones.
    """
    name, schema = piece.key.x, bench.stream.schema
    assert name is not None, "a summary has a column"
    if not is_word(schema, name) or piece.names.coding(schema.type(name)) != CODED:
        return _nothing
    known, names = was.words[name], bench.words[name]
    if isinstance(piece.model, Exact):
        return partial(_renumber, piece, known, names)
    for value in known.listed()[len(names) :]:
        names.add(value)
    return _nothing if names.listed()[: len(known)] == known.listed() else None


def _nothing() -> None:
    """Items that are hashes or numbers are the same everywhere."""


def _renumber(piece: SummaryOperator, was: Interner, names: Interner) -> None:
    for panes in (piece.panes, piece.late):
        used = np.unique(np.concatenate([np.empty(0), *panes.items()])).astype(np.int64)
        number = np.full(len(was) + 1, -1.0)
        number[used] = renumbered(was, names, used.astype(np.int32))
        panes.renumber(number)
    piece.names.forget_numbers()


def keep_lists(piece: SummaryOperator) -> SummaryOperator:
    """Keep the items of lists that are of a group that is here: its values come first."""
    width, groups = len(piece.key.group_by), set(piece.groups.texts)
    for query, top in piece.tops.items() if width else ():
        whose = [json.dumps(json.loads(text)[:width], default=str) for text in top.texts]
        here = [place for place, text in enumerate(whose) if text in groups]
        piece.tops[query] = top._replace(
            rows=[top.rows[place] for place in here], texts=[top.texts[place] for place in here]
        )
    return piece


def put_beside(piece: SummaryOperator, other: SummaryOperator, mine: int, more: int) -> None:
    """Take in the panes of so many groups after so many of its own, and their texts."""
    piece.panes.join(other.panes, mine, more)
    piece.late.join(other.late, mine, more)
    piece.newest = max(piece.newest, other.newest)
    piece.n_panes = max(piece.n_panes, other.n_panes)
    for query, theirs in other.tops.items():
        held = piece.tops.get(query)
        if held is not None and held.version == theirs.version:
            theirs = theirs._replace(
                rows=[*held.rows, *theirs.rows],
                texts=[*held.texts, *theirs.texts],
                epoch=max(held.epoch, theirs.epoch),
            )
        piece.tops[query] = theirs
    texts = other.names.listed.texts
    if texts is not None:
        piece.names.listed.words(items(texts))
