"""Operators: the shared work of a shard, each with its state and its queries.

Some are fed by the engine with the rows of one stream, tick by tick. The others read the pages of
their streams themselves. Which there are is said by techniques (`plan/technique.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import pyarrow as pa

from streamgauge.engine.memory import Memories
from streamgauge.engine.piece_memory import array_bytes
from streamgauge.engine.pieces import Bench, Given
from streamgauge.engine.row_answers import RowsGiven
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Combiner
from streamgauge.kernel.loading import load
from streamgauge.kernel.wire import Array
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators.emission import GIVEN, Span
from streamgauge.plan.assignment import Change
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Key, Load, Technique
from streamgauge.results.row_blocks import RowBlock
from streamgauge.windows.bank_panes import BankPanes

Arrays = dict[str, Array]
R = TypeVar("R")
T = TypeVar("T")
# Numbers, changes of rows, rows.
Out: TypeAlias = Given | RowsGiven | RowBlock


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest answer of a query in a group, as its operator remembers it.

    `silent` is what silent series add to each side, where that is bounded.
    """

    number: int
    version: int
    group: str
    cell: Sequence[float]
    basis: str = "exact"
    confidence: float = 1.0
    slope: float = 0.0
    share: float = 1.0
    silent: float | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """One part of the state that a query rests on, maybe together with others.

    Parameters
    ----------
    what
        What it is, in words: rows of a stream, groups.
    count
        How many of them there are.
    nbytes
        Bytes that they take in the stored state.
    """

    what: str
    count: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Measures:
    """What an operator says of its work for the receipt of its shard.

    `missed` are deadlines that lack of capacity has made late so far, `overloaded` ticks whose rows
    a budget did not reach, `share` the least part of its work that a query did, `spent` what was
    measured since it was last asked.
    """

    missed: int = 0
    overloaded: int = 0
    share: float = 1.0
    spent: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Past:
    """Kept rows for an operator that lacks them.

    `floor` is the instant after which none is missing, `first` the one before the stream's first
    row, `closed` the one up to which all is answered. `fresh` says that the operator is new; `held`
    is how far back it reached before the change.
    """

    rows: Rows
    floor: int
    first: int
    closed: int
    span: Span
    fresh: bool
    held: int


class Operator:
    """One operator of a shard that a stream feeds: state, and the queries that share it.

    The engine seats the queries, hands over what is kept of the past where `lacks_past` or `extent`
    says that it is needed, and then rows tick by tick.
    """

    __slots__ = ()

    key: Key
    # Whether a new query is answered at the instant reached, from kept rows.
    answers_history: ClassVar[bool] = True

    @property
    def extent(self) -> int:
        """How far back its state reaches; a change that makes it larger needs kept rows."""
        return 0

    @property
    def readable(self) -> bool:
        """Whether its newest answers can be read before its queries are seated."""
        return True

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile these queries."""
        raise NotImplementedError

    def change(
        self, bench: Bench, registry: Registry, queries: Sequence[Standing], change: Change
    ) -> None:
        """Compile what has come and forget what has left; `queries` are all that there are now."""
        self.seat(bench, registry, queries)

    def begin_answers(
        self,
        bench: Bench,
        registry: Registry,
        queries: Sequence[Standing],
        new: Sequence[Standing],
        at: tuple[Rows, Span],
    ) -> list[Given]:
        """Answer new queries at the instant reached; there are no rows, the bench opens these."""
        self.seat(bench, registry, queries)
        given = self.advance(bench, *at)
        self.seat(replace(bench, opening=None), registry, queries)
        return given

    def adopt(self, other: Any) -> None:
        """Take over what another copy of this operator has compiled for the same queries."""
        raise NotImplementedError

    def under(self, key: Any) -> Operator:
        """The same state under the key that it has from now on; see `Key.former`."""
        raise NotImplementedError

    def lacks_past(self) -> bool:
        """Whether some query asks for kept rows that are not in the state."""
        return False

    def take_past(self, bench: Bench, past: Past) -> None:
        """Fold rows of the past; answer nothing."""
        if past.fresh:
            self.fill(bench, past.rows, past.span)

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        raise NotImplementedError

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and answer what is due."""
        raise NotImplementedError

    def ends(self, tick: int) -> list[Given]:
        """Last answers of groups that a change has taken away, as of a tick."""
        return []

    def twin(self) -> Operator | None:
        """A copy of what kept rows cannot tell, for a query that runs beside this operator."""
        return None

    def relocated(self, was: Bench, bench: Bench) -> Operator | None:
        """The part of it that another shard owns after a rescale; None where rows must tell it.

        It was seated at one bench, and numbers of names are those of the other from now on.
        """
        return self

    def join(self, other: Any) -> None:
        """Take in another shard's part, moved here as well."""
        raise NotImplementedError

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Plain values of the state; its arrays are added to `arrays`."""
        raise NotImplementedError

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each query and group."""
        raise NotImplementedError

    def content(self) -> tuple[str, int]:
        """What the state is of, in words, and how many."""
        raise NotImplementedError

    def release(self, least: int) -> None:
        """Let go what has become useless, when it is at least so many groups or names."""

    def fixed(self) -> tuple[str, ...]:
        """Columns of names whose numbers cannot be given to others."""
        return ()

    def combos(self, column: str) -> list[tuple[Combiner, int]]:
        """Where numbers of names of a column are parts of keys."""
        return []

    def numbered(self, column: str) -> list[BankPanes]:
        """Panes whose items are numbers of names of a column."""
        return []

    def forget_numbers(self, column: str) -> None:
        """Names of a column have other numbers from now on."""

    def held_bytes(self) -> int:
        """Bytes of the arrays that it holds, but for those that claim their own memory."""
        return array_bytes(self)

    def measures(self) -> Measures:
        """What it says for the receipt."""
        return Measures()


def remembered(memory: Memories, groups: Sequence[str], *sworn: Any) -> Iterator[Newest]:
    """Newest answers of all queries and groups of a memory."""
    for row, (number, version) in enumerate(memory.who):
        cells = memory.cells[row, : len(groups)]
        for place in np.flatnonzero(cells[:, GIVEN]).tolist():
            yield Newest(number, version, groups[place], cells[place].tolist(), *sworn)


# The streams of a shard, by name, with how far each has come (`progress.StreamRun`).
Runs: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Site:
    """Where operators are: the data directory and the shard; what one planning has found so far."""

    home: Home
    shard: int
    found: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, find: Callable[[], T]) -> T:
        """What several operators need, worked out once."""
        if name not in self.found:
            self.found[name] = find()
        return cast(T, self.found[name])


class PageOperator:
    """An operator that reads the pages of its streams itself."""

    __slots__ = ()

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile these queries; forget the state of others."""
        raise NotImplementedError

    def adopt(self, other: Any) -> None:
        """Take over what another copy of this operator has compiled for the same queries."""
        raise NotImplementedError

    def reprice(self, site: Site, registry: Registry) -> None:
        """Go by new prices of work, which change what queries may spend and nothing else."""

    def seat(self, runs: Runs, epoch: int) -> None:
        """Let the changes of an epoch take effect: begin what is new, from kept rows."""

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; the answers up to where the streams are closed."""
        raise NotImplementedError

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Plain values of the state; its arrays are added to `arrays`."""
        raise NotImplementedError

    def join(self, other: Any, site: Site, registry: Registry) -> None:
        """Take in what another shard had of the same operator, after a rescale."""
        raise NotImplementedError

    def settle(self, site: Site) -> None:
        """Let go what other shards have after a rescale; after compiling."""

    def latest_answers(self) -> Iterator[tuple[Newest, int]]:
        """The newest answer of each query of numbers, and its tick; after compiling."""
        yield from ()

    def kept(self, standing: Standing) -> list[Kept]:
        """What the state holds for a query; after compiling."""
        return []

    def rows_now(self, standing: Standing) -> pa.Table:
        """The rows that a view holds; after compiling."""
        raise NotImplementedError

    def covered(self, standing: Standing) -> tuple[float, int | None]:
        """Share of the windows of a view that is kept, and when all will be; None: unknown."""
        return 1.0, None

    def figures(self, standing: Standing) -> Any:
        """What a query has done so far, where that is counted; None where it is not."""
        return None

    def measures(self) -> Measures:
        """What it says for the receipt."""
        return Measures()

    def nbytes(self) -> int:
        """Bytes of the stored state."""
        arrays: Arrays = {}
        self.pack("", arrays)
        return sum(array.nbytes for array in arrays.values())


class CompiledOperator(PageOperator, Generic[R]):
    """An operator that reads pages, whose queries are compiled to a run that works on its state."""

    state: Any
    run: R | None

    @property
    def compiled(self) -> R:
        """The queries as they were compiled."""
        assert self.run is not None, "used before it was compiled"
        return self.run

    def adopt(self, other: Any) -> None:
        """Take over what another copy has compiled."""
        self.run = replace(other.compiled, state=self.state)

    def seat(self, runs: Runs, epoch: int) -> None:
        """Begin what is new."""
        run: Any = self.compiled
        run.seat(runs, epoch)


class FedModule(Protocol):
    """A module of operators that a stream feeds."""

    def opened(
        self, key: Key, bench: Bench, registry: Registry, queries: Sequence[Standing]
    ) -> Operator:
        """A new operator."""

    def restored(
        self, prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
    ) -> Operator:
        """An operator from its stored state."""

    def load_of(
        self, registry: Registry, standing: Standing, held: Sequence[Operator], series: int
    ) -> Load:
        """What a query asks, given its operators on all shards and the number of series."""


class PageModule(Protocol):
    """A module of operators that read pages themselves."""

    def opened(self) -> PageOperator:
        """A new operator."""

    def restored(self, prefix: str, values: dict[str, Any], arrays: Arrays) -> PageOperator:
        """An operator from its stored state."""

    def restored_all(self, values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
        """All operators of a shard, by key, from state of version 4 or before."""


def fed_module(technique: Technique) -> FedModule:
    """The operators of a technique that streams feed."""
    return cast(FedModule, load(technique.operators))


def page_module(technique: Technique) -> PageModule:
    """The operators of a technique that read pages."""
    return cast(PageModule, load(technique.operators))


def upgraded(key: Key, held: Mapping[str, Operator]) -> Operator | None:
    """The operator of a key from state that an earlier release kept under another name."""
    old = held.get(key.former())
    return None if old is None else old.under(key)


def together(spent: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """What several operators or shards measured, as one.

    Examples
    --------
    >>> together([{"join.hits": 2}, {"join.hits": 3, "join.hit_ns": 900}])
    {'join.hit_ns': 900, 'join.hits': 5}
    """
    total: dict[str, int] = {}
    for part in spent:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items()))
