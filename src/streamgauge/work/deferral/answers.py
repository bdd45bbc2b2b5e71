"""Answers of deferred queries as they leave the operator, by what they rest on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamgauge.drift.cells import WATCH
from streamgauge.engine.pieces import Given
from streamgauge.operators.emission import GROUP, REVISION, Floats
from streamgauge.work.deferral.basis import sworn
from streamgauge.work.deferral.roster import Roster


def answers_of(roster: Roster | None, matrix: Floats) -> list[Given]:
    """What a walk over the cells of a roster gave, with the texts of their groups."""
    assert roster is not None
    place = matrix[:, GROUP].astype(np.int64)
    kinds = 2 * roster.kind[place] + (matrix[:, REVISION] == WATCH)
    code = np.empty(len(roster.cells), np.int64)
    given = []
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        mine = kinds == kind
        part, here = matrix[mine], place[mine]
        there = np.flatnonzero(np.bincount(here, minlength=len(code)))
        code[there] = np.arange(len(there))
        part[:, GROUP], part[:, REVISION] = code[here], 0.0
        exact, confidence = roster.kinds[kind // 2]
        texts = roster.texts.take(pa.array(there))
        given.append(Given(part, texts, *sworn(exact, bool(kind % 2), confidence)))
    return given
