"""Synopsis: small state that stands for many rows, with a promise it can be held to.

One file holds one synopsis. What all of them share is here: taking columns of any type, leaving
out nulls, refusing weights that void the promise, merging only what fits, and bytes that a later
release can read. A new synopsis says what is its own: how it adds, merges and answers.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.answer import charges_of
from streamgauge.contracts.bars import Sides
from streamgauge.contracts.contract import Contract
from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.kernel.keys import Column, Items, items, keys, numbers
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.synopses.questions import Question

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Values = dict[str, Any]
Arrays = dict[str, Array]

# What one synopsis takes at most where no memory is stated: there is one for each group and pane.
MOST_BYTES = 256 * 2**20

Takes = Literal["numbers", "keys", "items"]
Weights = Literal["none", "positive", "strict", "any"]
Merging = Literal["exact", "sampling", "error", "none"]


@dataclass(frozen=True, slots=True)
class Need:
    """What a synopsis is wanted for.

    Parameters
    ----------
    question
        What will be asked.
    contract
        What is owed.
    deletions
        Whether rows can be taken back (negative weights).
    merge
        Whether parts built apart must be put together.
    window
        Length of a sliding window in microseconds, when the synopsis must expire rows itself.
    memory
        Bytes it may take, or None.
    universe
        Smallest and largest whole number among the items, when known.
    rows
        Rows expected, when known.
    groups
        Groups that each need one; with more than one, synopses with a bank of their own go first.
    """

    question: Question
    contract: Contract
    deletions: bool = False
    merge: bool = True
    window: int | None = None
    memory: int | None = None
    universe: tuple[int, int] | None = None
    rows: int | None = None
    groups: int = 1

    def afford(self, name: str, nbytes: float) -> None:
        """Raise ContractUnsatisfiable for a size beyond the memory, before anything is built."""
        allowed = MOST_BYTES if self.memory is None else self.memory
        if nbytes > allowed:
            raise ContractUnsatisfiable(
                f"{name} needs more memory for this contract",
                f"{self.contract}, got {nbytes:,.0f} bytes, expected at most {allowed:,}",
                "widen the contract, or lower its confidence",
            )

    @property
    def most(self) -> float | None:
        """The largest answer there can be: a count is bounded by rows, a value by its universe."""
        if self.question.unit == "ordered":
            return None if self.universe is None else float(max(map(abs, self.universe)))
        known = [] if self.rows is None else [self.rows]
        if self.universe is not None and self.question.unit == "different rows":
            known.append(self.universe[1] - self.universe[0] + 1)
        return float(min(known)) if known else None


@dataclass(frozen=True, slots=True)
class Trial:
    """Rows and a question about them, fixed before the rows are summarised.

    `times` are whole numbers in ascending order, for synopses that expire; `now` is when the
    question is asked.
    """

    items: Array
    question: Question
    weights: Floats | None = None
    times: Ints | None = None
    now: int | None = None


class Synopsis(ABC):
    """Small state standing for a column of items.

    Class attributes say what it can do; the planner and the checks read them.

    Attributes
    ----------
    name
        Key of the registry and tag of its bytes.
    wire
        Version of its bytes; a change of the format raises it.
    answers
        Kinds of question it answers.
    takes
        numbers (floats), keys (64-bit hashes of any type), items (the values themselves).
    weights
        none; positive; strict (negative ones take back what was put in); any.
    merging
        exact (the same state as one pass), sampling (the same law), error (bars still hold),
        none (order of rows matters, so parts cannot be put together).
    bank_kind
        Its own Bank, where one array holds all groups; None for the one of any synopsis.
    exempt
        Named streams on which an assumption of its guarantee fails, with the reason.
    repeatable
        Whether the same rows and seed give the same bytes; the engine takes no others.
    exactly
        Kinds of question whose answers have no error.
    fields
        Attributes that its bytes hold, columns and plain values; those of its bases come after.
    small
        Arguments of the specimen, in their order.
    joined_by
        What merges each column of `fields` with another's, as np.add; None where `_merge` does.
    """

    name: ClassVar[str]
    wire: ClassVar[int] = 1
    answers: ClassVar[tuple[type[Question], ...]] = ()
    takes: ClassVar[Takes] = "numbers"
    weights: ClassVar[Weights] = "positive"
    merging: ClassVar[Merging] = "exact"
    bank_kind: ClassVar[type | None] = None
    exempt: ClassVar[dict[str, str]] = {}
    repeatable: ClassVar[bool] = True
    exactly: ClassVar[tuple[type[Question], ...]] = ()
    fields: ClassVar[tuple[str, ...]] = ()
    joined_by: ClassVar[np.ufunc | None] = None
    small: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self.rows = 0
        self.mass = 0.0
        self.skipped = 0

    # What a synopsis says of itself.

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The law its bars follow, at its present size."""

    def guarantee_for(self, need: Need) -> Guarantee:
        """The law of the answers to one need; `guarantee` where all answers have the same."""
        return EXACT if isinstance(need.question, self.exactly) else self.guarantee

    @property
    def parameters(self) -> Values:
        """Arguments of the constructor but the seed; equal ones are needed to merge."""
        return {name: getattr(self, name) for name in arguments_of(type(self))}

    @abstractmethod
    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        """Fold a column, as `takes` says, without nulls and never empty."""

    @abstractmethod
    def _answer(self, question: Any) -> Any:
        """Answer a question of a kind in `answers`."""

    def _save(self) -> tuple[Values, Arrays]:
        """State besides the parameters, seed and counts of rows."""
        held = {name: getattr(self, name) for name in _fields(type(self))}
        arrays = {name: part for name, part in held.items() if isinstance(part, np.ndarray)}
        return {name: part for name, part in held.items() if name not in arrays}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""
        held = values | arrays
        for name in _fields(type(self)):
            setattr(self, name, held[name])

    def _merge(self, other: Self) -> None:
        """Fold another of equal parameters and seed."""
        assert self.joined_by is not None, f"{self.name} says how it is joined, or has a _merge"
        for name in _fields(type(self)):
            mine = getattr(self, name)
            self.joined_by(mine, getattr(other, name), out=mine)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The smallest one that holds the contract, or ContractUnsatisfiable."""
        raise NotImplementedError

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A small one for the checks, failing with a chance near 0.05 where it may fail."""
        return cls(*cls.small, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The rows that make its proof nearly an equality, for its specimen."""
        raise NotImplementedError

    def validate(self) -> None:
        """Assert the invariants of the state; counts that all have are checked here."""
        assert self.skipped >= 0

    # What all of them share.

    def update(
        self, column: Column, weights: Column | None = None, times: Column | None = None
    ) -> None:
        """Fold a column of items; nulls and NaN are left out and counted in `skipped`."""
        given = items(column)
        weight = self._checked_weights(weights, len(given) + given.skipped, given)
        instants = self._checked_times(times, len(given) + given.skipped, given)
        # The column is made ready before anything is counted: a refused one leaves no trace.
        ready = self._ready(given)
        counts = self.rows, self.mass, self.skipped
        self.skipped += given.skipped
        if not len(given):
            return
        self.rows += len(given)
        self.mass += float(len(given)) if weight is None else float(weight.sum())
        try:
            self._add(ready, weight, instants)
        except BindError:
            self.rows, self.mass, self.skipped = counts
            raise

    def _ready(self, given: Items) -> Any:
        """The column as `takes` says."""
        if self.takes == "numbers":
            return numbers(given)
        return keys(given, seed=self.seed) if self.takes == "keys" else given

    def merge(self, other: Self) -> None:
        """Fold another synopsis of the same kind, size and seed."""
        self._check_fits(other)
        if self.merging == "none":
            raise IncompatibleSynopsis(
                f"{self.name} cannot be merged",
                "its state depends on the order of the rows",
                "build it in one place, or choose a synopsis whose merging is not none",
            )
        self._merge(other)
        self._take_counts(other, 1)

    def query(self, question: Question) -> Any:
        """Answer a question: an Estimate, or a tuple of Heavy for top lists."""
        if not isinstance(question, self.answers):
            known = ", ".join(kind.__name__ for kind in self.answers)
            raise IncompatibleSynopsis(
                f"{self.name} cannot answer {type(question).__name__}",
                f"it answers {known}",
                "choose another synopsis, or ask streamgauge.synopses.choose(...)",
            )
        return self._answer(question)

    def to_bytes(self) -> bytes:
        """Bytes that `from_bytes` of this and later releases reads."""
        values, arrays = self._save()
        counts = [self.rows, self.mass, self.skipped]
        head = {"seed": self.seed, "parameters": self.parameters, "counts": counts, "own": values}
        return pack(Packed(self.name, self.wire, head, arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read bytes; damaged, foreign or newer ones raise StateTooOld."""
        packed = unpack(data, kind=cls.name, version=cls.wire)
        new = cls(**packed.values["parameters"], seed=packed.values["seed"])
        new.rows, new.mass, new.skipped = packed.values["counts"]
        new._load(packed.values["own"], packed.arrays)
        return new

    def copy(self) -> Self:
        """A copy that shares nothing."""
        return type(self).from_bytes(self.to_bytes())

    def empty(self) -> Self:
        """An empty one of the same parameters and seed."""
        return type(self)(**self.parameters, seed=self.seed)

    @property
    def nbytes(self) -> int:
        """Bytes of its state."""
        return sum(array.nbytes for array in self._save()[1].values())

    def _bar(self, value: float, low: float, high: float, delta: float | None = None) -> Estimate:
        """An estimate of this synopsis, charged with its own width."""
        chance = self.guarantee.delta if delta is None else delta
        charges = charges_of([Sides(self.name, value - low, high - value, chance)])
        return Estimate(value, low, high, 1.0 - chance, self.name, charges)

    def _checked_times(self, times: Column | None, size: int, given: Items) -> Ints | None:
        if times is None:
            return None
        instants = np.asarray(times, np.int64)
        if instants.shape != (size,):
            raise BindError(
                "times must match the items",
                f"{size} items, times of shape {instants.shape}",
                "give one time per item",
            )
        return given.align(instants)

    def _checked_weights(self, weights: Column | None, size: int, given: Any) -> Floats | None:
        if weights is None:
            return None
        column = np.asarray(weights, np.float64)
        if column.shape != (size,):
            raise BindError(
                "weights must match the items",
                f"{size} items, weights of shape {column.shape}",
                "give one weight per item",
            )
        kept: Floats = given.align(column)
        refused = {
            "none": ~(kept == 1.0),
            "positive": ~((kept > 0.0) & np.isfinite(kept)),
        }.get(self.weights, ~np.isfinite(kept))
        if refused.any():
            wrong = float(kept[refused][0])
            rule = {"none": "no weights", "positive": "weights above 0"}.get(
                self.weights, "finite weights"
            )
            raise BindError(
                f"{self.name} takes {rule}",
                f"{int(refused.sum())} of {len(kept)} weights are not, the first is {wrong}",
                "leave those rows out, or choose a synopsis that takes deletions",
            )
        return kept

    def _check_fits(self, other: Synopsis) -> None:
        if type(other) is not type(self):
            raise IncompatibleSynopsis(
                f"{self.name} does not fit {getattr(other, 'name', type(other).__name__)}",
                "two synopses of different kinds",
                "merge synopses of one kind, size and seed",
            )
        if other.seed != self.seed or other.parameters != self.parameters:
            raise IncompatibleSynopsis(
                f"two {self.name} of different size or seed",
                f"{self.parameters} seed {self.seed} and {other.parameters} seed {other.seed}",
                "build both with the same parameters and seed",
            )

    def _take_counts(self, other: Synopsis, sign: int) -> None:
        self.rows += sign * other.rows
        self.mass += sign * other.mass
        self.skipped += sign * other.skipped

    def __repr__(self) -> str:
        given = {**self.parameters, "seed": self.seed}
        inside = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"{type(self).__name__}({inside})"


@functools.cache
def arguments_of(kind: type) -> tuple[str, ...]:
    """Arguments of the constructor of a class but the seed."""
    return tuple(name for name in inspect.signature(kind).parameters if name != "seed")


@functools.cache
def _fields(kind: type[Synopsis]) -> tuple[str, ...]:
    """Names of the state of a kind, its own before those of its bases."""
    parts = (vars(part).get("fields", ()) for part in kind.__mro__)
    return tuple(dict.fromkeys(itertools.chain.from_iterable(parts)))


class Subtractable:
    """A synopsis of which a part can be taken away again: linear state."""

    def subtract(self: Any, other: Any) -> None:
        """Take away another of the same kind, size and seed."""
        self._check_fits(other)
        self._subtract(other)
        self._take_counts(other, -1)

    def _subtract(self: Any, other: Any) -> None:
        """Undo `_merge`, where all columns are added."""
        assert self.joined_by is np.add, f"{self.name} has a _subtract of its own"
        for name in _fields(self.__class__):
            mine = getattr(self, name)
            np.subtract(mine, getattr(other, name), out=mine)


class Expiring(ABC):
    """A synopsis that forgets by itself: a window or a decay inside its state.

    `update` must be given `times`, whole numbers that do not fall; row windows use row numbers.
    """

    @abstractmethod
    def advance(self, now: int) -> None:
        """Move the clock; what is too old goes."""

    @abstractmethod
    def weights_at(self, times: Ints, now: int) -> Floats:
        """How much rows of these times count now: 1 or 0 in a window, less with age in a decay."""


class Coarsening(ABC):
    """A synopsis that can give memory back for a wider bar."""

    @abstractmethod
    def coarsened(self) -> Any:
        """A smaller one of the same rows, with a weaker guarantee."""


class Enumerable(ABC):
    """A synopsis that can name the items it holds."""

    @abstractmethod
    def candidates(self) -> list[Any]:
        """Items held, those of largest weight first."""
