"""Passing names: names of rows that are in hand, forgotten with them.

A column that is only hashed or compared needs its names while its rows are read. They are numbered
in columns, and one name may have several numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.columns import Codes, Interner

TEXT = pa.large_string()


class PassingNames(Interner):
    """Numbers for texts that are not remembered.

    Examples
    --------
    >>> names = PassingNames()
    >>> names.encode(pa.array(["b", "a", None, "b"]))
    array([ 0,  1, -1,  0], dtype=int32)
    >>> names.encode(pa.array(["b"])), names.listed()
    (array([2], dtype=int32), ['b', 'a', 'b'])
    >>> names.narrow(np.array([2, -1], np.int32)), names.listed()
    (array([ 0, -1], dtype=int32), ['b'])
    """

    def __init__(self, values: Sequence[str] = ()) -> None:
        super().__init__()
        self.texts: pa.Array = pa.array(values, TEXT)

    def __len__(self) -> int:
        return len(self.texts)

    def encode(self, column: pa.ChunkedArray | pa.Array) -> Codes:
        """Numbers of a column's values, all of them new; -1 for null."""
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        texts, coded, known = [self.texts], [np.empty(0, np.int32)], len(self.texts)
        for chunk in chunks:
            names, codes = _coded(chunk)
            coded.append(np.where(codes < 0, np.int32(-1), codes + np.int32(known)))
            texts.append(names)
            known += len(names)
        self._take(pa.concat_arrays(texts))
        return np.concatenate(coded)

    def narrow(self, used: Codes) -> Codes:
        """Forget all names but those of a column of numbers; return the column anew."""
        kept = np.unique(used)
        kept = kept[kept >= 0]
        self._take(self.texts.take(pa.array(kept)))
        return np.where(used < 0, -1, np.searchsorted(kept, used)).astype(np.int32)

    def _take(self, texts: pa.Array) -> None:
        self.texts = texts
        self.values = []

    def listed(self) -> list[str]:
        """The names as a list."""
        if len(self.values) < len(self.texts):
            self.values = self.texts.to_pylist()
        return self.values


def _coded(chunk: pa.Array) -> tuple[pa.Array, Codes]:
    """Names of a column, none that is not used, and the place of each value among them."""
    if not pa.types.is_dictionary(chunk.type):
        chunk = pc.dictionary_encode(chunk)
    codes = np.asarray(pc.fill_null(chunk.indices.cast(pa.int32()), -1).to_numpy(), np.int32)
    names = chunk.dictionary.cast(TEXT)
    if len(names) > len(codes):
        used = np.unique(codes)
        used = used[used >= 0]
        codes = np.where(codes < 0, -1, np.searchsorted(used, codes)).astype(np.int32)
        names = names.take(pa.array(used))
    return names, codes
