"""PredicateIndex: tens of thousands of conditions over one stream, looked up instead of tried.

Each condition is a conjunction. Its factors, such as `price > 10`, are folded into runs of codes,
one set of runs for each column (`cuts.py`), and the queries are held in lists and in bits
(`predicate_lists.py`). What is no factor is evaluated on rows that pass all factors, once for all
queries that share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.operators.cuts import NULL, Codes, Cuts, Runs, met
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr
from streamgauge.operators.factors import Factor, factor_of, fitted, truth_of
from streamgauge.operators.functions import Functions
from streamgauge.operators.predicate_lists import (
    ABOVE,
    BELOW,
    MORE,
    SURE,
    WITHIN,
    Bits,
    Ints,
    Listed,
    Lists,
    Small,
    Terms,
    Words,
    bit_matrix,
    bits_of,
    lists_of,
    matches,
    numbered,
    set_bits,
)
from streamgauge.streams.schema import Schema

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

# Nanoseconds, measured: a list looked up, a query in it, a term beyond the second; a word of bits
# of a column, a bit that is set, and what bits cost before the first.
_LOOK, _PLACE, _TERM = 12.0, 1.0, 15.0
_START, _WORD, _BIT = 80.0, 1.0, 3.0
# Queries that a list of its own must hold for a row before it is worth the look.
_FEW = 8.0
_ROOM = 1 << 16
_NULLS = 0.02


@dataclass(frozen=True, slots=True)
class PredicateIndex:
    """Which of many queries a row matches.

    Parameters
    ----------
    size
        How many queries there are; they are numbered from 0.
    cuts
        The columns that factors are about.
    terms
        What each query asks of them.
    lists, bits
        The queries by code; each one is in one of the two.
    rest
        Conditions that are no factors, each with the queries that have it.

    Examples
    --------
    >>> from streamgauge.operators.expression import column, literal
    >>> high = Expr(">", (column("price"), literal(10)))
    >>> ours = Expr("=", (column("name"), literal("x")))
    >>> index = PredicateIndex.of([(high,), (high, ours), ()])
    >>> rows = pa.table({"price": [9.0, 11.0, 12.0], "name": ["x", "x", "y"]})
    >>> [found.tolist() for found in index.match(rows, {})]
    [[0, 1, 1, 1, 2, 2], [2, 2, 0, 1, 2, 0]]
    """

    size: int
    cuts: tuple[Cuts, ...]
    terms: Terms
    lists: Lists
    bits: Bits
    rest: tuple[tuple[Expr, Small], ...]

    @classmethod
    def of(
        cls,
        conditions: Sequence[tuple[Expr, ...]],
        schema: Schema | None = None,
        sample: pa.Table | None = None,
        *,
        as_bits: bool = False,
    ) -> PredicateIndex:
        """Build the index of conditions, each given as what its ANDs join.

        Parameters
        ----------
        conditions
            The conjuncts of each query; none for a query that takes every row.
        schema
            Types of the columns. Without it whole numbers from 2**53 on are not indexed.
        sample
            Rows from which to learn how many pass a factor. Without it the constants tell: values
            lie evenly between them, or on those that factors ask to be equal to.
        as_bits
            Hold all queries as bits, which is what `bitmap` wants; else as `match` is likely to
            take the least time.
        """
        asked = _split(conditions, schema)
        cuts = _cuts(asked)
        places = {cut.column: place for place, cut in enumerate(cuts)}
        found = [query.terms(places, cuts) for query in asked]
        terms, shares = _arranged(found, cuts, sample)
        alive = np.array([query.possible for query in asked], np.bool_)
        tops = np.array([cut.top for cut in cuts], np.int64)
        shown = np.ones_like(alive) if as_bits else _shown(terms, shares, alive)
        lists = _listed(terms, shares, alive & ~shown, tops)
        bits = bits_of(terms, np.flatnonzero(shown).astype(np.int32), alive, tops)
        # By text: 1, 1.0 and TRUE are equal in Python and not in a query.
        rest: dict[str, tuple[Expr, list[int]]] = {}
        for number, query in enumerate(asked):
            for condition in query.rest if query.possible else ():
                rest.setdefault(str(condition), (condition, []))[1].append(number)
        kept = tuple((condition, np.array(of, np.int32)) for condition, of in rest.values())
        return cls(len(asked), cuts, terms, lists, bits, kept)

    def __len__(self) -> int:
        return self.size

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        factors = [cut.column for cut in self.cuts]
        others = [name for condition, _ in self.rest for name in condition.columns()]
        return tuple(dict.fromkeys(factors + others))

    def match(self, rows: pa.Table, functions: Functions) -> tuple[Ints, Small]:
        """Numbers of rows and of queries that match, by row; within a row in an order of its own.

        The order depends on the queries and the row alone.
        """
        start, queries = self.by_row(rows, functions)
        return numbered(start), queries

    def by_row(self, rows: pa.Table, functions: Functions) -> tuple[Ints, Small]:
        """The same without the numbers of rows: row i has `queries[start[i] : start[i + 1]]`."""
        codes = self._codes(rows)
        start = np.zeros(len(codes) + 1, np.int64)
        queries = np.empty(_ROOM + self.size + 1, np.int32)
        row = 0
        while row < len(codes):
            row = matches(codes, row, self.bits, self.lists, self.terms, queries, start)
            if row < len(codes):
                n = start[row]
                likely = int(1.05 * n * len(codes) / max(1, row)) + self.size + 1
                larger = np.empty(max(likely, len(queries) + self.size), np.int32)
                larger[:n] = queries[:n]
                queries = larger
        queries = queries[: start[-1]]
        for condition, having in self.rest:
            start, queries = self._kept(rows, functions, condition, having, start, queries)
        return start, queries

    def bitmap(self, rows: pa.Table, functions: Functions) -> Words:
        """The same as bits: a row of words for each row, bit q % 64 of word q // 64 for query q."""
        shape = rows.num_rows, -(-self.size // 64)
        if len(self.bits.name) == self.size and not self.rest:
            whole = np.empty(shape, np.uint64)
            bit_matrix(self._codes(rows), self.bits, whole)
            return whole
        out = np.zeros(shape, np.uint64)
        set_bits(*self.match(rows, functions), out)
        return out

    def _codes(self, rows: pa.Table) -> Codes:
        codes = np.zeros((rows.num_rows, max(1, len(self.cuts))), np.int32)
        for place, cut in enumerate(self.cuts):
            codes[:, place] = cut.codes(rows[cut.column])
        return codes

    def _kept(
        self, rows: pa.Table, functions: Functions, condition: Expr, having: Small,
        start: Ints, queries: Small,
    ) -> tuple[Ints, Small]:  # fmt: skip
        """Drop pairs for which a condition that is no factor is not true."""
        among = np.zeros(self.size, np.bool_)
        among[having] = True
        asked, numbers = among[queries], numbered(start)
        tried = np.unique(numbers[asked])
        if not len(tried):
            return start, queries
        holds = np.zeros(rows.num_rows, np.bool_)
        answer = evaluate(condition, rows.take(pa.array(tried)), functions)
        holds[tried] = pc.fill_null(answer.cast(pa.bool_()), False).to_numpy(zero_copy_only=False)
        kept = ~asked | holds[numbers]
        return np.append(0, np.cumsum(kept))[start], queries[kept]


@dataclass(slots=True)
class _Asked:
    """What one query asks, while the index is built: factors, other conditions, hope."""

    factors: list[Factor]
    rest: list[Expr]
    possible: bool = True

    def terms(self, places: dict[str, int], cuts: Sequence[Cuts]) -> dict[int, Runs]:
        """Runs of codes for each column, of all factors on it together."""
        by_column: dict[int, list[Runs]] = {}
        for factor in self.factors:
            place = places[factor.column]
            by_column.setdefault(place, []).append(cuts[place].runs(factor))
        found = {place: met(runs) for place, runs in by_column.items()}
        self.possible &= all(found.values())
        return found if self.possible else {}


def _split(conditions: Sequence[tuple[Expr, ...]], schema: Schema | None) -> list[_Asked]:
    """Factors apart from other conditions; the constants of a column are all of one kind."""
    types = {} if schema is None else dict(schema.columns)
    kinds: dict[str, str] = {}
    asked = []
    for parts in conditions:
        one = _Asked([], [])
        for part in parts:
            truth, factor = truth_of(part), factor_of(part)
            if truth is not None:
                one.possible &= truth
                continue
            factor = None if factor is None else fitted(factor, types.get(factor.column))
            kind = "" if factor is None else kinds.get(factor.column) or factor.kind
            if factor is None or (factor.kind and factor.kind != kind):
                one.rest.append(part)
                continue
            kinds[factor.column] = kind
            one.factors.append(factor)
        asked.append(one)
    return asked


def _cuts(asked: list[_Asked]) -> tuple[Cuts, ...]:
    by_column: dict[str, list[Factor]] = {}
    for query in asked:
        for factor in query.factors:
            by_column.setdefault(factor.column, []).append(factor)
    return tuple(Cuts.of(name, factors) for name, factors in by_column.items())


def _masses(cuts: tuple[Cuts, ...], sample: pa.Table | None) -> list[Floats]:
    """For each column, which share of the rows has a code below this one."""
    masses = []
    for cut in cuts:
        # Who asks for equality has seen such values: they get all, or half if there is an order.
        mass, points = np.zeros(cut.top + 1), np.array(cut.points, np.int64)
        even = 0.5 if cut.ordered and len(points) else float(not len(points))
        mass[1:] = (1.0 - _NULLS) * even / cut.top
        mass[points] += (1.0 - _NULLS) * (1.0 - even) / max(1, len(points))
        mass[NULL] = _NULLS
        if sample is not None and sample.num_rows:
            seen = np.bincount(cut.codes(sample[cut.column]), minlength=len(mass))
            mass = (seen + mass) / (sample.num_rows + 1)
        masses.append(np.append(0.0, np.cumsum(mass)))
    return masses


def _arranged(
    found: list[dict[int, Runs]], cuts: tuple[Cuts, ...], sample: pa.Table | None
) -> tuple[Terms, Floats]:
    """Terms as columns, the most selective of a query first, and their shares of the rows."""
    owner = np.array([q for q, terms in enumerate(found) for _ in terms], np.int64)
    column = np.array([place for terms in found for place in terms], np.int32)
    n_runs = np.array([len(runs) for terms in found for runs in terms.values()], np.int64)
    flat = [run for terms in found for runs in terms.values() for run in runs]
    low, high = np.array(flat, np.int32).reshape(-1, 2).T
    share = np.zeros(len(flat))
    run_column, run_term = np.repeat(column, n_runs), np.repeat(np.arange(len(column)), n_runs)
    for place, mass in enumerate(_masses(cuts, sample)):
        mine = run_column == place
        share[mine] = mass[high[mine] + 1] - mass[low[mine]]
    term_share: Floats = np.bincount(run_term, share, len(column)).astype(np.float64)
    order = np.lexsort((term_share, owner))
    moved = np.empty(len(order), np.int64)
    moved[order] = np.arange(len(order))
    runs = np.argsort(moved[run_term], kind="stable")
    terms = Terms(
        np.searchsorted(owner, np.arange(len(found) + 1)).astype(np.int64),
        column[order],
        np.append(0, np.cumsum(n_runs[order])).astype(np.int64),
        low[runs],
        high[runs],
    )
    return terms, term_share[order]


def _shown(terms: Terms, shares: Floats, alive: Mask) -> Mask:
    """Which queries to hold as bits, so that a row is likely to cost least."""
    asking = np.diff(terms.start) > 0
    owner = np.repeat(np.arange(len(alive)), np.diff(terms.start))
    reached = _reached(terms, shares)
    place = np.arange(len(reached)) - terms.start[owner]
    is_last = place == np.diff(terms.start)[owner] - 1
    tried = _PLACE * (place == 0) + _TERM * ((place > 0) & ~is_last)
    by_list = np.where(asking, np.bincount(owner, tried * reached, len(alive)), _PLACE)
    passed = np.ones(len(alive))
    passed[owner[is_last]] = reached[is_last]

    def cost(shown: Mask) -> float:
        columns = len(np.unique(terms.column[shown[owner]]))
        listed = alive & ~shown
        looks = len(np.unique(terms.column[terms.start[:-1][listed & asking]]))
        by_bits = _START * bool(columns) + _WORD * (1 + columns) * -(-int(shown.sum()) // 64)
        by_bits += _BIT * float(passed[shown & alive].sum())
        return _LOOK * looks + float(by_list[listed].sum()) + by_bits

    columns = len(np.unique(terms.column))
    frequent = alive & (by_list > _WORD * (1 + columns) / 64 + _BIT * passed)
    return min((np.zeros_like(alive), frequent, np.ones_like(alive)), key=cost)


def _reached(terms: Terms, shares: Floats) -> Floats:
    """Share of the rows that pass a term and all terms of its query before it."""
    logs = np.append(0.0, np.cumsum(np.log(np.maximum(shares, 1e-12))))
    begun = np.repeat(logs[terms.start[:-1]], np.diff(terms.start))
    return np.asarray(np.exp(logs[1:] - begun), np.float64)


def _listed(terms: Terms, shares: Floats, listed: Mask, tops: Ints) -> Lists:
    """Lists by the most selective term of each query; one that asks nothing is in every row's."""
    asking = np.diff(terms.start) > 0
    free, having = np.flatnonzero(listed & ~asking), np.flatnonzero(listed & asking)
    first = terms.start[having]
    n_runs = terms.run[first + 1] - terms.run[first]
    ends = np.cumsum(n_runs)
    run = np.arange(n_runs.sum()) + np.repeat(terms.run[first] - ends + n_runs, n_runs)
    columns = (
        np.repeat(terms.column[first], n_runs),
        terms.low[run],
        terms.high[run],
        *(np.repeat(one, n_runs) for one in (having, *_left(terms, shares, having, tops))),
    )
    zeros = np.zeros(len(free), np.int32)
    nothing = (zeros - 1, zeros, zeros, free, zeros + SURE, zeros, zeros, zeros)
    both = zip(nothing, columns, strict=True)
    joined = (np.concatenate([a, np.asarray(b)]).astype(np.int32) for a, b in both)
    return lists_of(Listed(*joined), tops)


def _left(
    terms: Terms, shares: Floats, having: Ints, tops: Ints
) -> tuple[Small, Small, Small, Small]:
    """What is left to ask of each query after its first term, and the ends of its second one."""
    n_terms = terms.start[having + 1] - terms.start[having]
    two = n_terms > 1
    second = terms.start[having[two]] + 1
    begin, end = terms.run[second], terms.run[second + 1] - 1
    column, low, high = terms.column[second], terms.low[begin], terms.high[end]
    form = np.where(low == 1, BELOW, WITHIN)
    form[high == tops[column]] = ABOVE
    form[(begin != end) | (n_terms[two] > 2)] = MORE
    kinds = np.stack([terms.column[second - 1], form, column])
    _, group = np.unique(kinds, axis=1, return_inverse=True)
    group = group.reshape(-1)
    rare = np.bincount(group, shares[second - 1])[group] < _FEW
    form[rare & (form < WITHIN)] = WITHIN
    found = np.zeros((4, len(having)), np.int32)
    found[:, two] = form, column, low, high
    return found[0], found[1], found[2], found[3]
