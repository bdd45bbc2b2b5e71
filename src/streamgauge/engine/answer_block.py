"""Answers of all operators of a shard in one block, by event time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.asked_names import AskedNames
from streamgauge.engine.pieces import Given
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.time import SECOND
from streamgauge.operators import emission
from streamgauge.results.blocks import Block


def _named(groups: Sequence[list[str] | pa.Array]) -> tuple[list[npt.NDArray[np.int32]], pa.Array]:
    """Codes of the groups of each piece, with that of no group last, and the texts of all."""
    texts = [pa.array(part, pa.string()) if isinstance(part, list) else part for part in groups]
    coded = pa.concat_arrays([pa.array([""], pa.string()), *texts]).dictionary_encode()
    codes = np.asarray(coded.indices.to_numpy(), np.int32)
    ends = np.cumsum([1, *map(len, groups)])
    none = np.zeros(1, np.int32)
    parts = [np.concatenate((codes[a:b], none)) for a, b in pairwise(ends.tolist())]
    return parts, coded.dictionary


def block_of(asked: AskedNames, answers: Sequence[Given]) -> Block:
    """Answers of all pieces in one block, by event time."""
    given = [item for item in answers if len(item.matrix)]
    codes, texts = _named([item.groups for item in given])
    sworn: Interner = Interner.of([("exact", 1.0)])
    matrices, groups, ticks, bases, slopes_of, shares = [], [], [], [], [], []
    for item, named in zip(given, codes, strict=True):
        matrices.append(item.matrix)
        groups.append(named[item.matrix[:, emission.GROUP].astype(np.int32)])
        code = sworn.add((item.basis, item.confidence))
        bases.append(np.full(len(item.matrix), code, np.int32))
        ticks.append(item.matrix[:, emission.TICK].astype(np.int64) * item.tick)
        slopes_of.append(item.matrix[:, emission.SLOPE] * (SECOND / item.tick))
        shares.append(np.ones(len(item.matrix)) if item.share is None else item.share)
    matrix = np.concatenate(matrices) if matrices else np.empty((0, emission.WIDTH))
    as_of = np.concatenate(ticks) if ticks else np.empty(0, np.int64)
    group = np.concatenate(groups) if groups else np.empty(0, np.int32)
    basis = np.concatenate(bases) if bases else np.empty(0, np.int32)
    slopes = np.concatenate(slopes_of) if slopes_of else np.empty(0)
    share = np.concatenate(shares) if shares else np.empty(0)
    order = np.argsort(as_of, kind="stable")
    if (as_of[1:] < as_of[:-1]).any():
        matrix = matrix[order]
    ids = matrix[:, emission.QUERY].astype(np.int64)
    seats = np.searchsorted(asked.numbers, ids)
    return Block(
        query=seats.astype(np.int32),
        version=asked.versions[seats],
        group=group[order],
        as_of=as_of[order],
        value=matrix[:, emission.VALUE],
        low=matrix[:, emission.LOW],
        high=matrix[:, emission.HIGH],
        coverage=matrix[:, emission.COVERAGE],
        silent=matrix[:, emission.SILENT].astype(np.int32),
        revision=matrix[:, emission.REVISION].astype(np.int32),
        names=asked.names,
        texts=texts,
        sides=matrix[:, emission.OWN_BELOW :],
        slope=slopes[order],
        basis=basis[order],
        sworn=sworn.values,
        contracts=asked.contracts,
        share=share[order],
    )
