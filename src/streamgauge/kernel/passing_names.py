"""Passing names: names of rows that are in hand, forgotten with them.

A column that is only hashed or compared needs its names while its rows are read. They are numbered
in columns, and one name may have several numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamgauge.kernel.coded import CodedColumn
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

    def encode(self, column: pa.ChunkedArray | pa.Array | CodedColumn) -> Codes:
        """Numbers of a column's values, all of them new; -1 for null."""
        coded = column if isinstance(column, CodedColumn) else CodedColumn.of(column)
        names, codes = _used(coded)
        known = np.int32(len(self.texts))
        self._take(pa.concat_arrays([self.texts, names]))
        return np.where(codes < 0, np.int32(-1), codes + known)

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


def _used(column: CodedColumn) -> tuple[pa.Array, Codes]:
    """Names of a column, none of many that is not used, and the place of each row's among them."""
    codes, names = column.codes, column.values.cast(TEXT)
    if len(names) > len(codes):
        used = np.unique(codes)
        used = used[used >= 0]
        codes = np.where(codes < 0, -1, np.searchsorted(used, codes)).astype(np.int32)
        names = names.take(pa.array(used))
    return names, codes
