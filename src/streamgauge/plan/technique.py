"""Techniques: the ways of answering queries, each a folder of `work/` and a line in `TECHNIQUES`.

A technique offers to answer queries (`plan/bidding.py` takes an offer), says what they must agree
in to share an operator, which columns the operator reads, and what EXPLAIN prints. Its operators
are in a module of their own, which is loaded when one is needed. Nothing else names a technique.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.loading import load
from streamgauge.plan.distribution import Distribution, Replicated

if TYPE_CHECKING:
    from streamgauge.contracts.contract import Contract
    from streamgauge.plan.offer import Bid, Statistics
    from streamgauge.plan.query import Query
    from streamgauge.plan.registry import Registry, Standing
    from streamgauge.plan.view import View
    from streamgauge.streams.schema import Schema
    from streamgauge.streams.stream import Stream

# In the order in which they are asked for offers, and in which they answer.
TECHNIQUES = (
    "streamgauge.work.latest.technique",
    "streamgauge.work.deferral.technique",
    "streamgauge.work.bounds.technique",
    "streamgauge.work.windows.technique",
    "streamgauge.work.summaries.technique",
    "streamgauge.work.rings.technique",
    "streamgauge.work.decay.technique",
    "streamgauge.work.across.technique",
    "streamgauge.work.promise.aggregates_technique",
    "streamgauge.work.selections.technique",
    "streamgauge.work.relations.technique",
    "streamgauge.work.relations.partitioned",
    "streamgauge.work.promise.joins_technique",
    "streamgauge.work.promise.selections_technique",
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that an operator reads: those it takes as numbers, and those it takes as names."""

    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Key:
    """What queries must agree in to share an operator; its text names the operator's state.

    `technique` names the technique it is of. `distribution` says how rows reach the operator,
    `keyed` whether it tells the series of a stream apart, `merges` whether it can take rows that
    somebody else has added up.
    """

    __slots__ = ()

    technique: ClassVar[str] = ""

    @property
    def distribution(self) -> Distribution:
        """How rows reach the operator."""
        return Replicated("its technique does not say which rows a shard needs")

    @property
    def keyed(self) -> bool:
        """Whether series are told apart."""
        return False

    @property
    def merges(self) -> bool:
        """Whether counts, sums and extremes of rows serve as well as the rows."""
        return False

    def text(self) -> str:
        """Name of the state."""
        raise NotImplementedError

    def former(self) -> str:
        """The name under which an earlier release kept the state; empty: it was this one."""
        return ""

    def reads(self, schema: Schema, queries: Sequence[Standing]) -> Columns:
        """The columns that are read of a stream."""
        return Columns()

    def series_of(self, standing: Standing) -> tuple[str, ...] | None:
        """The series whose rows a query needs, where shards subscribe to series; None: all."""
        return None

    def shard_of(self, standing: Standing, shards: int) -> int:
        """The shard that answers a query, where shards subscribe to series."""
        return standing.id % shards

    def lives_on(self, shard: int, shards: int) -> bool:
        """Whether a shard has a part in the work."""
        return True

    def lasting(self, schema: Schema) -> tuple[str, ...]:
        """Columns of names whose numbers are in the state."""
        return ()

    def fixed(self, queries: Sequence[Standing]) -> tuple[str, ...]:
        """Columns of names that stay as long as the operator."""
        return ()


@dataclass(frozen=True, slots=True)
class NamedKey(Key):
    """The key of an operator that reads its streams itself."""

    name: str

    def text(self) -> str:
        """Name of the state."""
        return self.name


@dataclass(frozen=True, slots=True)
class PlannedCharge:
    """A cause that can widen an answer, and its share of the error that is owed.

    `within` is its share of the width, in the units of the contract; None: it has none, and widens
    an answer beyond what is owed. `instead` names the cause in whose place it may stand.
    """

    by: str
    delta: float = 0.0
    within: float | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What EXPLAIN prints of a query: lines of depth, text and note, then lines below them."""

    tree: list[tuple[int, str, str]]
    closing: list[str]


@dataclass(frozen=True, slots=True)
class Load:
    """What a query asks of the engine, for a model of its cost.

    Parameters
    ----------
    kind
        latest, watched, deferred, window, summary or selection.
    cells, members, groups
        How many cells it is, of how many series each where that counts, and its groups.
    window, slide
        Microseconds of its window and between two checks.
    """

    kind: str
    cells: int = 1
    members: int = 0
    groups: int = 1
    window: float = 0.0
    slide: float = 0.0


class Technique:
    """A way of answering queries.

    `name` stands in the journal with each query whose offer was taken, so it never changes.
    `operators` is the module of its operators. With `fed` the engine hands them the rows of one
    stream; otherwise they read the pages of their streams. With `rows` it answers views, otherwise
    queries of numbers. With `budgeted` it may leave rows out, and is asked about queries with a
    work budget alone. With `over_time` its contract is owed over the ticks with rows, not to each
    answer; with `of_bounds` the width of an answer follows from bounds that sources keep, which
    follow from the contracts. `reports` are functions over a data directory, by name, as
    "module:function"; `meter` names a class that turns what the operators measured into records of
    the journal.
    """

    name: ClassVar[str]
    operators: ClassVar[str]
    fed: ClassVar[bool] = True
    rows: ClassVar[bool] = False
    budgeted: ClassVar[bool] = False
    over_time: ClassVar[bool] = False
    of_bounds: ClassVar[bool] = False
    reports: ClassVar[Mapping[str, str]] = {}
    meter: ClassVar[str] = ""

    def offer(self, asked: Any, statistics: Statistics) -> Bid:
        """What it would do for a query or view whose columns and window are known to fit."""
        raise NotImplementedError

    def owed(self, query: Query) -> Contract:
        """The contract of a query as the law of an offer is to hold it: for each answer."""
        return query.contract.at_once()

    def key(self, registry: Registry, standing: Standing) -> Key:
        """The operator that a query belongs to."""
        raise NotImplementedError

    def kept(self, stream: Stream) -> tuple[Key, ...]:
        """Operators that a stream has even if no query needs them."""
        return ()

    def owns(self, text: str) -> bool:
        """Whether stored state of that name is of one of its operators."""
        return False

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """Whether a shard has a part in a query, where operators read pages themselves."""
        return True

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """The columns that a query takes of streams, by their names, where none is fed to it.

        Of `numbers` each value that is none is noted; `words` are all others.
        """
        return {}

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """How the rows of each stream reach the operator of a query."""
        return {standing.query.stream: self.key(registry, standing).distribution}

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The causes by which the technique itself can widen the answers of a query."""
        return ()

    def exact(self, registry: Registry, standing: Standing) -> bool:
        """Whether the technique itself widens no answer of a query."""
        return not self.charges(registry, standing)

    def confidence(self, registry: Registry, standing: Standing) -> float:
        """How surely the interval of each answer holds the value."""
        charges = self.charges(registry, standing)
        return 1.0 - max((charge.delta for charge in charges), default=0.0)

    def awaits(self, standing: Standing) -> str:
        """What a query waits for that nothing keeps from answering; empty: its next check."""
        return ""

    def sees_silence(self, registry: Registry, standing: Standing) -> bool:
        """Whether a silent series makes the answers of a query uncertain."""
        return False

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The plan of a query of numbers."""
        raise NotImplementedError

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Where the work of a query of rows is done, as lines of EXPLAIN."""
        return []


@lru_cache(maxsize=1)
def _loaded(names: tuple[str, ...]) -> dict[str, Technique]:
    found = [load(f"{name}:TECHNIQUE") for name in names]
    return {known.name: known for known in found}


@lru_cache(maxsize=8)
def _able(names: tuple[str, ...], rows: bool, budgeted: bool) -> tuple[Technique, ...]:
    every = _loaded(names).values()
    return tuple(one for one in every if (one.rows, one.budgeted) == (rows, budgeted))


def techniques() -> tuple[Technique, ...]:
    """All techniques, in order."""
    return tuple(_loaded(TECHNIQUES).values())


def techniques_for(*, rows: bool, budgeted: bool) -> tuple[Technique, ...]:
    """Those that are asked about views or queries of numbers, with or without a work budget."""
    return _able(TECHNIQUES, rows, budgeted)


def technique_of(standing: Standing) -> Technique:
    """The technique that answers a query: the one whose offer was taken."""
    known = _loaded(TECHNIQUES).get(standing.technique)
    if known is None:
        raise BindError(
            f"no technique answers query {standing.name!r}",
            f"{standing.technique!r} was to; known are {', '.join(_loaded(TECHNIQUES))}",
            "run the release that registered it",
        )
    return known


def technique(name: str) -> Technique:
    """A technique by name."""
    return _loaded(TECHNIQUES)[name]


def technique_of_state(text: str) -> Technique:
    """The technique whose operator has stored its state under a name."""
    return next(known for known in techniques() if known.owns(text))


def has_report(standing: Standing, name: str) -> bool:
    """Whether a report tells of a query."""
    return name in technique_of(standing).reports


def report(name: str) -> Any:
    """A function over a data directory that some technique offers, by name."""
    return next(load(t.reports[name]) for t in techniques() if name in t.reports)
