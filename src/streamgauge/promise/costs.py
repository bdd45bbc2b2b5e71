"""Costs: what summarising and probing take, as measured, and what a budget buys at that price."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.time import Duration
from streamgauge.promise.promise import Promise

Ints = npt.NDArray[np.int64]
Kind = Literal["join", "selection", "aggregate"]
KINDS: tuple[Kind, ...] = ("join", "selection", "aggregate")
# More than any tick has to do: no limit, where a number is wanted.
UNLIMITED = 2**62


@dataclass(frozen=True, slots=True)
class Prices:
    """Nanoseconds of one core that one kind of query takes.

    Parameters
    ----------
    insert
        To take a row into the summaries, and to tell what it promises.
    hit
        To probe where the summaries point, with what is found.
    raw
        To probe a row as it comes: look it up in the whole window, or test it.
    """

    insert: float = 300.0
    hit: float = 500.0
    raw: float = 500.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices of each kind of query.

    They are measured while a job runs and written into its journal, so that a replay does the
    same work whatever machine it runs on.

    Examples
    --------
    >>> measured = Costs(join=Prices(insert=250, hit=400, raw=420))
    >>> Costs(**measured.as_dict()) == measured
    True
    """

    join: Prices = Prices()
    selection: Prices = Prices(100.0, 100.0, 50.0)
    aggregate: Prices = Prices(100.0, 100.0, 50.0)

    def __post_init__(self) -> None:
        for kind in KINDS:
            given = getattr(self, kind)
            if isinstance(given, Mapping):
                object.__setattr__(self, kind, Prices(**given))

    def of(self, kind: Kind) -> Prices:
        """Prices of one kind."""
        prices: Prices = getattr(self, kind)
        return prices

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one query may spend at each tick.

    Parameters
    ----------
    probes
        Probes a tick; None: as many as there are.
    insert
        Probes that taking one row into the summaries is worth; 0 where a budget counts probes.
    raw
        Probes that probing one row as it comes is worth.
    spare, turns, turn
        Of `turns` queries that share a capacity, `spare` have one probe more at each tick; which
        ones goes round with the number of the tick, and this is query `turn` of them.

    Examples
    --------
    >>> tenth = Promise("desc", (), cpu=0.1)
    >>> Allowance.of(tenth, Prices(insert=250, hit=500, raw=500), tick=1_000_000)
    Allowance(probes=200000, insert=0.5, raw=1.0, spare=0, turns=1, turn=0)
    >>> third = Allowance.shared(100, turns=3, turn=0)
    >>> [third.at(number) for number in range(4)]
    [34, 33, 33, 34]
    """

    probes: int | None = None
    insert: float = 0.0
    raw: float = 1.0
    spare: int = 0
    turns: int = 1
    turn: int = 0

    @classmethod
    def of(cls, promise: Promise, prices: Prices, tick: Duration) -> Allowance:
        """What a promise allows at measured prices; the tighter of its two budgets."""
        if promise.cpu is None:
            return cls(promise.probes)
        bought = int(promise.cpu * tick * 1000.0 / prices.hit)
        probes = bought if promise.probes is None else min(bought, promise.probes)
        return cls(probes, prices.insert / prices.hit, prices.raw / prices.hit)

    @classmethod
    def shared(cls, capacity: int, *, turns: int, turn: int) -> Allowance:
        """An even share of a capacity, with what does not divide going round."""
        return cls(capacity // turns, spare=capacity % turns, turns=turns, turn=turn)

    def at(self, number: int) -> int | None:
        """Probes at the tick of a number; None: as many as there are."""
        if self.probes is None:
            return None
        return self.probes + int((self.turn - number) % self.turns < self.spare)

    def over(self, numbers: Ints) -> Ints:
        """Probes at each of many ticks; `UNLIMITED` where there is no limit.

        Examples
        --------
        >>> Allowance.shared(5, turns=2, turn=1).over(np.arange(3))
        array([2, 3, 2])
        """
        if self.probes is None:
            return np.full(len(numbers), UNLIMITED)
        turned: Ints = self.probes + ((self.turn - numbers) % self.turns < self.spare)
        return turned


def _stopped() -> int:
    return 0


@dataclass(slots=True)
class Spent:
    """Nanoseconds that one kind of query took, what for, and in how many blocks of work.

    The clock is handed in; without one nothing is measured. What is counted is what a shard owns,
    so that over all shards every row and every probe counts once.

    Examples
    --------
    >>> ticking = iter([10, 25])
    >>> spent = Spent(lambda: next(ticking))
    >>> with spent.inserting(3):
    ...     pass
    >>> spent.insert_ns, spent.inserted
    (15, 3)
    """

    clock: Callable[[], int] = _stopped
    insert_ns: int = 0
    inserted: int = 0
    hit_ns: int = 0
    hits: int = 0
    raw_ns: int = 0
    raws: int = 0
    give_ns: int = 0
    insert_blocks: int = 0
    hit_blocks: int = 0
    raw_blocks: int = 0

    def inserting(self, rows: int) -> Stopwatch:
        """Time what is done within as taking rows into summaries and telling their promise."""
        self.inserted += rows
        self.insert_blocks += rows > 0
        return Stopwatch(self, "insert_ns")

    def probing(self, probes: int) -> Stopwatch:
        """Time what is done within as probes that the summaries point to."""
        self.hits += probes
        self.hit_blocks += probes > 0
        return Stopwatch(self, "hit_ns")

    def probing_raw(self, rows: int) -> Stopwatch:
        """Time what is done within as probes of rows as they come."""
        self.raws += rows
        self.raw_blocks += rows > 0
        return Stopwatch(self, "raw_ns")

    def giving(self) -> Stopwatch:
        """Time what is done within as giving what probes of either way have found."""
        return Stopwatch(self, "give_ns")

    def take(self) -> dict[str, int]:
        """What was spent since it was last asked; counting begins again."""
        taken = {name: getattr(self, name) for name in MEASURED}
        for name in MEASURED:
            setattr(self, name, 0)
        return taken


MEASURED = tuple(item.name for item in fields(Spent) if item.name != "clock")


class Stopwatch:
    """Adds the nanoseconds of a block to what was spent."""

    __slots__ = ("_begun", "_name", "_spent")

    def __init__(self, spent: Spent, name: str) -> None:
        self._spent = spent
        self._name = name
        self._begun = 0

    def __enter__(self) -> Stopwatch:
        self._begun = self._spent.clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        took = self._spent.clock() - self._begun
        setattr(self._spent, self._name, getattr(self._spent, self._name) + took)
