"""Vocabulary: items as 64-bit words, and words back as the items that were given.

Whole numbers, floats, times and booleans are their own eight bytes, so nothing need be kept of
them. Text goes by its 64-bit hash, and the text of the words that are still held is kept beside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.keys import Items, items, keys

Words = npt.NDArray[np.uint64]
Arrays = dict[str, npt.NDArray[Any]]
_EMPTY: Words = np.empty(0, np.uint64)


class Vocabulary:
    """The type of a column of items, and the texts among them that may still be asked for.

    Parameters
    ----------
    seed
        Seed of the hash of texts.
    room
        Texts kept beyond those held before the others are forgotten.

    Examples
    --------
    >>> vocabulary = Vocabulary(seed=1, room=100)
    >>> words = vocabulary.words(items(["a", "b", "a"]))
    >>> vocabulary.items(words[:2])
    ['a', 'b']
    """

    def __init__(self, *, seed: int, room: int) -> None:
        self.seed = seed
        self.room = room
        self.kind: pa.DataType | None = None
        self.known = _EMPTY
        self.texts: pa.Array | None = None

    @property
    def textual(self) -> bool:
        """Whether the items are text or bytes."""
        return self.kind is not None and _textual(self.kind)

    @property
    def nbytes(self) -> int:
        """Bytes of the kept texts."""
        return self.known.nbytes + (0 if self.texts is None else int(self.texts.nbytes))

    def words(self, given: Items) -> Words:
        """Words of a column; its type must be that of the columns before."""
        values = _plain(given.values)
        kind = _kind_of(values)
        if self.kind is None:
            self.kind = kind
        elif kind != self.kind:
            values = self._fitted(values)
        if not self.textual:
            return _bits(values)
        words = keys(Items(values, None, 0), seed=self.seed)
        self._learn(values, words)
        return words

    def word(self, item: Any) -> np.uint64 | None:
        """Word of one item, or None when no such item can have been seen."""
        given = items([item])
        if not len(given):
            raise BindError(
                "nulls and NaN are not counted as items",
                f"asked for {item!r}",
                "ask for an item; the rows left out are in `skipped`",
            )
        values = _plain(given.values)
        if self.kind is None:
            return None
        try:
            fitted = values if _kind_of(values) == self.kind else self._fitted(values)
        except BindError:
            return None
        if self.textual:
            return np.uint64(keys(Items(fitted, None, 0), seed=self.seed)[0])
        return np.uint64(_bits(fitted)[0])

    def items(self, words: Words) -> list[Any]:
        """The items of words, as Python values of the type that was given."""
        if self.kind is None or not len(words):
            return []
        if self.textual:
            assert self.texts is not None
            column = self.texts.take(np.searchsorted(self.known, words))
        elif pa.types.is_floating(self.kind):
            column = pa.array(words.view(np.float64))
        elif pa.types.is_uint64(self.kind):
            column = pa.array(words)
        else:
            column = pa.array(words.view(np.int64))
            if pa.types.is_date32(self.kind) or pa.types.is_time32(self.kind):
                column = column.cast(pa.int32())
            column = column.cast(self.kind)
        found: list[Any] = column.to_pylist()
        return found

    def keep(self, words: Words) -> None:
        """Forget the texts of all but these words, when many have gathered."""
        if self.textual and len(self.known) > 2 * len(words) + self.room:
            self._narrow(words)

    def join(self, other: Vocabulary) -> None:
        """Know what another knows."""
        if other.kind is None:
            return
        if self.kind is None:
            self.kind, self.known, self.texts = other.kind, other.known, other.texts
        elif self.kind != other.kind:
            raise _mismatch(self.kind, other.kind)
        elif self.textual:
            self._insert(other.known, other.texts)

    def save(self, words: Words) -> Arrays:
        """Arrays that hold the type and the texts of some words."""
        if self.kind is None:
            return {}
        schema = pa.schema([("item", self.kind)]).serialize()
        arrays: Arrays = {"kind": np.frombuffer(schema, np.uint8)}
        if self.textual:
            held = np.unique(words)
            texts = self._texts_of(held)
            data = [text.encode() if isinstance(text, str) else text for text in texts.to_pylist()]
            arrays["known"] = held
            arrays["ends"] = np.cumsum([0, *map(len, data)], dtype=np.int64)
            arrays["texts"] = np.frombuffer(b"".join(data), np.uint8)
        return arrays

    def load(self, arrays: Arrays) -> None:
        """Take arrays as saved."""
        if "kind" not in arrays:
            return
        self.kind = pa.ipc.read_schema(pa.py_buffer(arrays["kind"].tobytes())).field(0).type
        if self.textual:
            self.known = arrays["known"]
            buffers = [None, pa.py_buffer(arrays["ends"]), pa.py_buffer(arrays["texts"])]
            self.texts = pa.Array.from_buffers(self.kind, len(self.known), buffers)

    def _learn(self, values: pa.Array, words: Words) -> None:
        distinct, first = np.unique(words, return_index=True)
        self._insert(distinct, values.take(first))

    def _insert(self, distinct: Words, texts: pa.Array) -> None:
        if self.texts is None:
            self.known, self.texts = distinct, texts
            return
        fresh = np.flatnonzero(~np.isin(distinct, self.known, assume_unique=True))
        if len(fresh):
            known = np.concatenate([self.known, distinct[fresh]])
            order = np.argsort(known, kind="stable")
            self.known = known[order]
            self.texts = pa.concat_arrays([self.texts, texts.take(fresh)]).take(order)

    def _narrow(self, words: Words) -> None:
        held = np.unique(words)
        self.known, self.texts = held, self._texts_of(held)

    def _texts_of(self, held: Words) -> pa.Array:
        assert self.texts is not None
        return self.texts.take(np.searchsorted(self.known, held))

    def _fitted(self, values: pa.Array) -> pa.Array:
        """Numbers of one type as the other, where nothing is lost."""
        assert self.kind is not None
        given = _kind_of(values)
        if not (_numeric(given) and _numeric(self.kind)):
            raise _mismatch(self.kind, given)
        try:
            return values.cast(self.kind)
        except pa.ArrowInvalid as error:
            raise _mismatch(self.kind, given) from error


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _textual(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _kind_of(values: pa.Array) -> pa.DataType:
    kind = values.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return pa.int64()
    known = (
        _textual(kind) or _numeric(kind) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind)
    )
    if not known:
        raise BindError(
            f"values of type {kind} cannot be items",
            "items are numbers, text, bytes, times or booleans",
            "cast the column to text first",
        )
    return kind


def _bits(values: pa.Array) -> Words:
    kind = values.type
    if pa.types.is_floating(kind):
        floats = np.asarray(values.to_numpy(), np.float64) + 0.0  # -0.0 becomes 0.0
        return floats.view(np.uint64)
    if pa.types.is_uint64(kind):
        return np.asarray(values.to_numpy(), np.uint64)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    return np.asarray(pc.cast(values, pa.int64()).to_numpy(), np.int64).view(np.uint64)


def _mismatch(kind: pa.DataType, given: pa.DataType) -> BindError:
    return BindError(
        "the items change their type",
        f"{kind} before, {given} now",
        "give columns of one type, or one synopsis to each",
    )
