"""Join sketch: COUNT or SUM over a join of many streams, without keeping any row.

Each join predicate ("edge") has coins for the values of its attribute, shared by both sides. The
sketch of a stream adds for each row the product of the coins of its join attributes; the product
of the sketches of all streams is on average the size of the join. Joins may form chains, stars and
trees, with several predicates between two streams; a cycle of three or more has no such estimate.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.kernel.hashing import family, polynomial, stable_hash
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, Items, items, keys
from streamgauge.synopses.moments.medians import bar_of_product, grouping
from streamgauge.synopses.questions import Count, JoinSize, Moment
from streamgauge.synopses.synopsis import Floats, Ints, Need, Subtractable, Synopsis, Trial

SQUARES_SHARE = 0.25
"""Part of the chance of failure that pays for the bounds on the self-join sizes."""


class JoinSketch(Synopsis, Subtractable):
    """One stream of a multi-way join: ask any of them, naming the others.

    Rows of a stream with one edge are a plain column; with several, a column of records whose
    fields are named after the edges. Weights are counts, or the measure of a SUM. A row with a
    null in a join attribute joins nothing and is left out.

    Parameters
    ----------
    edges
        Names of the join predicates this stream takes part in. A predicate has one name on both
        of its sides. A stream joined with itself is two sketches fed the same rows.
    copies
        Independent estimates; four times as many halve the error. A row costs a hash for each
        copy and edge.
    delta
        Chance that one bar fails.
    seed
        Chooses the hashes; all streams of a join need the same.

    Examples
    --------
    >>> customers = JoinSketch(["customer"], 300, seed=7)
    >>> orders = JoinSketch(["customer", "part"], 300, seed=7)
    >>> parts = JoinSketch(["part"], 300, seed=7)
    >>> customers.update(["ann"])
    >>> orders.update([{"customer": "ann", "part": 1}, {"customer": "ann", "part": None}])
    >>> parts.update([1])
    >>> customers.query(JoinSize((orders, parts))).value
    1.0
    >>> orders.skipped
    1

    References
    ----------
    DGGR02, AGMS02: docs/reference/synopses/moments.md
    """

    name = "join_sketch"
    answers = (JoinSize, Moment, Count)
    takes = "items"
    weights = "any"
    merging = "exact"
    fields = ("sums",)
    joined_by = np.add
    small = (["key"], 250)

    def __init__(
        self, edges: list[str], copies: int, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        if not edges or len(set(edges)) < len(edges) or copies < 1 or not 0.0 < delta < 1.0:
            raise BindError(
                "a join sketch needs different edges, copies and a chance of failure in (0, 1)",
                f"got edges {list(edges)}, {copies} copies, delta={delta}",
                "write JoinSketch(['customer', 'part'], 1000)",
            )
        self.edges = list(edges)
        self.copies = copies
        self.delta = delta
        self.sums = np.zeros(copies)
        coins = [family(stable_hash(edge, seed=seed), copies, 4) for edge in self.edges]
        self._hashes = np.stack(coins)

    @property
    def guarantee(self) -> Guarantee:
        """The self-join size is off by more than `epsilon` of itself with chance `delta`."""
        return Guarantee(
            "relative",
            self._spread * grouping(self.copies, self.delta).reach,
            self.delta,
            assumes=("seed independent of the data",),
            cite="DGGR02",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refuse: the edges are not known, and no small sketch owes a share of a join size."""
        raise ContractUnsatisfiable(
            "join_sketch is sized by hand",
            f"asked for {need.contract}; the error is a share of the product of self-join sizes",
            "write JoinSketch(edges, copies) and read the bar of the answer",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Two streams of equal items, all of them shared: the variance reaches its bound."""
        rows = np.arange(60, dtype=np.int64) + 1000 * seed
        other = cls.specimen(seed)
        other.update(rows)
        return Trial(rows, JoinSize(other, (rows, None)))

    def update(
        self, column: Column, weights: Column | None = None, times: Column | None = None
    ) -> None:
        """Fold rows: a column for one edge, records with a field for each edge for several."""
        if isinstance(column, pa.RecordBatch):
            column = column.to_struct_array()
        elif isinstance(column, list) and any(isinstance(row, dict) for row in column):
            column = pa.array(column)
        if isinstance(column, pa.StructArray):
            column = self._without_nulls(column)
        elif len(self.edges) > 1:
            raise BindError(
                "rows of a stream with several edges are records",
                f"edges {self.edges}, got a plain column",
                "give a pyarrow StructArray or RecordBatch with a field for each edge",
            )
        super().update(column, weights, times)

    def _without_nulls(self, records: pa.StructArray) -> pa.StructArray:
        """Records of the edges alone, null as a whole where one of their fields is."""
        names = [field.name for field in records.type]
        if missing := [edge for edge in self.edges if edge not in names]:
            raise BindError(
                "records lack a join attribute",
                f"no field {missing[0]!r} among {', '.join(names)}",
                "name the fields after the edges",
            )
        fields = [pc.struct_field(records, edge) for edge in self.edges]
        gone = np.zeros(len(records), np.bool_)
        for field in fields:
            kept = items(field).kept
            if kept is not None:
                gone |= ~kept
        return pa.StructArray.from_arrays(fields, self.edges, mask=pa.array(gone))

    def _add(self, column: Items, weights: Floats | None, times: Ints | None) -> None:
        values = column.values
        if not isinstance(values, pa.StructArray):
            rows = keys(column, seed=self.seed)[np.newaxis]
        else:
            rows = np.stack([keys(items(field), seed=self.seed) for field in values.flatten()])
        weight = np.empty(0) if weights is None else weights
        _add_products(self.sums, self._hashes, rows, weight)

    @property
    def _spread(self) -> float:
        """Standard deviation of a squared sum, as a share of the self-join size."""
        return math.sqrt(3.0 ** len(self.edges) - 1.0)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, JoinSize):
            others = question.other
            return self._join(others if isinstance(others, tuple) else (others,))
        if question.p != 2.0:
            raise IncompatibleSynopsis(
                "join_sketch keeps squares", f"asked for the power {question.p:g}", "ask for p=2"
            )
        value = grouping(self.copies, self.delta).median(np.square(self.sums))
        epsilon = self.guarantee.epsilon
        high = value / (1.0 - epsilon) if epsilon < 1.0 else math.inf
        return self._bar(value, value / (1.0 + epsilon), high)

    def squares_at_most(self, delta: float) -> float:
        """A number that the self-join size exceeds with chance `delta` at most."""
        cut = grouping(self.copies, delta)
        rest = 1.0 - self._spread * cut.one_sided_reach
        value = cut.median(np.square(self.sums))
        return value / rest if rest > 0.0 else math.inf

    def _join(self, others: tuple[Any, ...]) -> Estimate:
        streams: list[JoinSketch] = [self, *others]
        n_edges = _checked_join(streams)
        spent = SQUARES_SHARE * self.delta
        cut = grouping(self.copies, self.delta - spent)
        value = cut.median(np.prod([stream.sums for stream in streams], axis=0))
        bounds = [stream.squares_at_most(spent / len(streams)) for stream in streams]
        squares = 0.0 if 0.0 in bounds else math.prod(bounds)
        # With one edge the variance is at most S S' + Q^2; in a tree of n edges the mean square
        # is at most 3^n times the product of the self-join sizes, edge by edge from the leaves.
        own = 1.0 if n_edges == 1 else -1.0
        growth = 1.0 if n_edges == 1 else 3.0**n_edges
        low, high = bar_of_product(
            value, cut.reach, squares=growth * squares, own=own, cap=math.sqrt(squares)
        )
        return self._bar(min(max(value, low), high), low, high)

    def validate(self) -> None:
        """Sums are finite; of whole weights they are all even or all odd."""
        assert np.isfinite(self.sums).all()
        if (self.sums == np.rint(self.sums)).all() and np.abs(self.sums).max() < 2**52:
            assert len(np.unique(self.sums % 2)) == 1


def _checked_join(streams: list[JoinSketch]) -> int:
    """The number of edges of a join; what is no tree of streams is refused."""
    first = streams[0]
    for stream in streams:
        if not isinstance(stream, JoinSketch) or (
            (stream.seed, stream.copies, stream.delta) != (first.seed, first.copies, first.delta)
        ):
            raise IncompatibleSynopsis(
                "streams of a join need join sketches of one size and seed",
                f"{first!r} and {stream!r}",
                "build all with the same copies, delta and seed",
            )
    ends: dict[str, list[int]] = {}
    for place, stream in enumerate(streams):
        for edge in stream.edges:
            ends.setdefault(edge, []).append(place)
    for edge, places in ends.items():
        if len(places) != 2:
            raise IncompatibleSynopsis(
                f"edge {edge!r} must join two streams",
                f"{len(places)} of the {len(streams)} streams have it",
                "name all streams of the join; give an attribute used twice two names",
            )
    root = list(range(len(streams)))
    for one, two in sorted({(places[0], places[1]) for places in ends.values()}):
        ones, twos = root[one], root[two]
        if ones == twos:
            raise IncompatibleSynopsis(
                "the join has a cycle",
                f"edges {', '.join(ends)} among {len(streams)} streams",
                "leave out a predicate, or join exactly",
            )
        root = [ones if found == twos else found for found in root]
    return len(ends)


@compiled
def _add_products(sums, hashes, rows, weights):  # type: ignore[no-untyped-def]
    n_edges, copies, _ = hashes.shape
    for i in range(rows.shape[1]):
        weight = weights[i] if len(weights) else 1.0
        for copy in range(copies):
            coins = np.uint64(0)
            for edge in range(n_edges):
                coins ^= polynomial(rows[edge, i], hashes[edge, copy])
            sums[copy] += -weight if coins & np.uint64(1) else weight
