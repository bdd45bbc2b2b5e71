"""Frequent items of Apache DataSketches, with our questions and its bytes.

Use it to exchange state with DataSketches, Spark or Druid; `space_saving` is faster here and does
not depend on how rows are cut into batches.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Self

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, StateTooOld
from streamgauge.kernel.keys import Items, items
from streamgauge.synopses.frequencies.listed import check_memory, counters_owed, heavy_threshold
from streamgauge.synopses.questions import Count, Frequency, Heavy, HeavyHitters, TopK
from streamgauge.synopses.synopsis import (
    Arrays,
    Enumerable,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)

_PREAMBLE = 32
_OFFSET = struct.Struct("<Q")
_KINDS = ("integer", "float", "text")


class FrequentItems(Synopsis, Enumerable):
    """DataSketches frequent items: bars that cannot fail, 3.5 counts in a map of `2 ** lg_k`.

    Parameters
    ----------
    lg_k
        Binary logarithm of the size of its map, 3 to 26; three quarters of it are used.
    seed
        Not used by DataSketches; parts to be merged need the same.

    Examples
    --------
    >>> items = FrequentItems(lg_k=5)
    >>> items.update(["a", "b", "a"])
    >>> print(items.query(Frequency("a")))
    2 in [2, 2], frequent_items
    >>> again = FrequentItems.from_datasketches(items.to_datasketches(), lg_k=5, kind="text")
    >>> [found.item for found in again.query(TopK(1))]
    ['a']

    References
    ----------
    ABLRSTZ17: docs/reference/synopses/frequencies.md
    """

    name = "frequent_items"
    answers = (Frequency, HeavyHitters, TopK, Count)
    takes = "items"
    weights = "positive"
    merging = "error"
    exempt: ClassVar[dict[str, str]] = dict.fromkeys(
        ("all_distinct", "ascending", "descending", "zoom_in"),
        "where all items are alike DataSketches may hold none, and a top list is empty",
    )
    small = (5,)

    def __init__(self, lg_k: int, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 3 <= lg_k <= 26:
            raise BindError(
                "frequent_items needs a map of 2^3 to 2^26", f"lg_k={lg_k}", "write lg_k=10"
            )
        self.lg_k = lg_k
        self.kind: str | None = None
        self.sketch: Any = None

    @property
    def guarantee(self) -> Guarantee:
        """No bar is wider than `epsilon` of the weight; bars cannot fail."""
        epsilon = datasketches.frequent_items_sketch.get_epsilon_for_lg_size(self.lg_k)
        return Guarantee("additive", epsilon, 0.0, cite="ABLRSTZ17")

    @property
    def unlisted(self) -> float:
        """The most that an item which is not held can weigh."""
        return 0.0 if self.sketch is None else float(_OFFSET.unpack_from(self._bytes(), 24)[0])

    @property
    def nbytes(self) -> int:
        """Bytes of its map, an item and a count to each place in use, as it writes them."""
        return 0 if self.sketch is None else len(self._bytes())

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The smallest map whose bound is within the contract."""
        counters = counters_owed(need, cls.name)
        lg_k = max(3, int(np.ceil(np.log2(3.5 * (counters + 1)))))
        sized = cls(lg_k, seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """One item more than the map takes, again and again."""
        rounds = np.tile(np.arange(25, dtype=np.int64) + seed, 30)
        return Trial(rounds, Frequency(seed))

    def to_datasketches(self) -> bytes:
        """Bytes that DataSketches of any language reads; empty when there were no rows."""
        return b"" if self.sketch is None else self._bytes()

    @classmethod
    def from_datasketches(cls, data: bytes, *, lg_k: int, kind: str, seed: int = 0) -> Self:
        """Read bytes of DataSketches whose items are of a kind: integer, float or text."""
        if kind not in _KINDS:
            raise BindError(
                "unknown kind of items", f"{kind!r}, known are {_KINDS}", 'write kind="text"'
            )
        new = cls(lg_k, seed=seed)
        if not data:
            return new
        try:
            new.sketch = _sketch_class(kind).deserialize(data, *_serde(kind))
        except (RuntimeError, ValueError, IndexError) as error:
            raise StateTooOld(
                "these are no frequent items of DataSketches", str(error), "check kind and bytes"
            ) from error
        new.kind = kind
        new.mass = float(new.sketch.total_weight)
        new.rows = int(new.mass)
        return new

    def candidates(self) -> list[Any]:
        """Items held, those of largest weight first."""
        return [row[0] for row in self._rows()]

    def _bytes(self) -> bytes:
        return bytes(self.sketch.serialize(*_serde(self.kind or "")))

    def _rows(self) -> list[tuple[Any, float, float, float]]:
        if self.sketch is None or self.sketch.is_empty():
            return []
        kind = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES
        rows = self.sketch.get_frequent_items(kind, 0)
        return sorted(rows, key=lambda row: (-row[3], row[0]))

    def _ready(self, given: Items) -> Items:
        kind = _kind_of(given)
        if len(given) and self.kind not in (None, kind):
            raise BindError(
                "the items change their type",
                f"{self.kind} before, {kind} now",
                "give columns of one type, or one synopsis to each",
            )
        return given

    def _checked_weights(self, weights: Any, size: int, given: Any) -> Floats | None:
        kept = super()._checked_weights(weights, size, given)
        if kept is not None and (kept != np.floor(kept)).any():
            raise BindError(
                "frequent_items takes whole weights",
                f"{int((kept != np.floor(kept)).sum())} of {len(kept)} are not",
                "use space_saving, which takes any weights above 0",
            )
        return kept

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        names, totals = _totals(column, weights)
        kind = _kind_of(column)
        if self.sketch is None:
            self.kind, self.sketch = kind, _sketch_class(kind)(self.lg_k)
        for item, weight in zip(names, totals, strict=True):
            self.sketch.update(item, weight)

    def _merge(self, other: Self) -> None:
        if other.sketch is None:
            return
        if self.sketch is None:
            self.kind = other.kind
            self.sketch = _sketch_class(other.kind or "")(self.lg_k)
        self.sketch.merge(other.sketch)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, Frequency):
            return self._frequency(question.item)
        rows = self._rows()
        if isinstance(question, TopK):
            rows = rows[: question.k]
        else:
            threshold = heavy_threshold(self, question.share)
            rows = [row for row in rows if row[3] >= threshold]
        return tuple(Heavy(row[0], self._bar(row[2], row[2], row[3])) for row in rows)

    def _frequency(self, item: Any) -> Any:
        given = items([item])
        if self.sketch is None or not len(given):
            return self._bar(0.0, 0.0, 0.0)
        if _kind_of(given) != self.kind:
            return self._bar(0.0, 0.0, 0.0)
        name = given.values.to_pylist()[0]
        low = float(self.sketch.get_lower_bound(name))
        return self._bar(low, low, float(self.sketch.get_upper_bound(name)))

    def _save(self) -> tuple[Values, Arrays]:
        if self.sketch is None:
            return {"kind": None}, {}
        return {"kind": self.kind}, {"sketch": np.frombuffer(self._sorted_bytes(), np.uint8)}

    def _sorted_bytes(self) -> bytes:
        """Its bytes with the items in order, so that equal state gives equal bytes."""
        data = self._bytes()
        if self.sketch.is_empty():
            return data
        rows = sorted((row[0], int(row[2])) for row in self._rows())
        if not rows:
            return data
        head = data[:_PREAMBLE]
        weights = np.array([weight for _, weight in rows], "<u8").tobytes()
        return head + weights + _written([item for item, _ in rows], self.kind or "")

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.kind = values["kind"]
        if self.kind is not None:
            reader = _sketch_class(self.kind)
            self.sketch = reader.deserialize(arrays["sketch"].tobytes(), *_serde(self.kind))

    def validate(self) -> None:
        """DataSketches counted the same weight."""
        assert self.sketch is None or float(self.sketch.total_weight) == self.mass


def _sketch_class(kind: str) -> Any:
    # Text has a class of its own: the general one hashes text differently in every process.
    text = kind == "text"
    return datasketches.frequent_strings_sketch if text else datasketches.frequent_items_sketch


def _serde(kind: str) -> tuple[Any, ...]:
    made = {"integer": datasketches.PyLongsSerDe, "float": datasketches.PyDoublesSerDe}
    return (made[kind](),) if kind in made else ()


def _written(names: list[Any], kind: str) -> bytes:
    if kind == "text":
        texts = [name.encode() for name in names]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    return np.array(names, "<i8" if kind == "integer" else "<f8").tobytes()


def _kind_of(given: Items) -> str:
    kind = given.values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    raise BindError(
        "frequent_items takes whole numbers, floats and text",
        f"the column has type {kind}",
        "cast the column to text, or use space_saving",
    )


def _totals(given: Items, weights: Floats | None) -> tuple[list[Any], list[int]]:
    """Distinct items in order of appearance, and the weight of each."""
    values = given.values
    coded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    codes = np.asarray(coded.indices.to_numpy(), np.int64)
    weight = np.ones(len(codes)) if weights is None else weights
    totals = np.bincount(codes, weights=weight, minlength=len(coded.dictionary))
    used = np.flatnonzero(totals > 0.0)
    return coded.dictionary.take(used).to_pylist(), totals[used].astype(np.int64).tolist()
