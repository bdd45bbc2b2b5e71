"""Held: what is kept of groups whose rows only ever come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.operators.codes import concatenated

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partial:
    """Whole numbers of each group: what an aggregate needs of the rows so far.

    Exact sums have many limbs of which few are used, so only columns that are not all 0 are here.

    Examples
    --------
    >>> partial = Partial.of(np.array([[0, 7, 0], [0, 8, 0]]))
    >>> partial.columns, partial.lines.shape, partial.whole(np.array([1]))
    (array([1]), (2, 1), array([[0, 8, 0]]))
    """

    width: int
    columns: Ints
    lines: Ints

    @classmethod
    def of(cls, whole: Ints) -> Partial:
        """Keep the columns that are used."""
        columns = np.flatnonzero(whole.any(axis=0))
        return cls(whole.shape[1], columns, np.ascontiguousarray(whole[:, columns]))

    def whole(self, groups: Ints) -> Ints:
        """Lines of some groups, in full."""
        lines = np.zeros((len(groups), self.width), np.int64)
        lines[:, self.columns] = self.lines[groups]
        return lines

    def changed(self, groups: Ints, lines: Ints, fresh: Ints) -> Partial:
        """Other lines for some groups, and lines of new ones at the end."""
        found = np.flatnonzero(np.concatenate((lines, fresh)).any(axis=0))
        columns = np.union1d(self.columns, found)
        whole = np.zeros((len(self.lines) + len(fresh), len(columns)), np.int64)
        whole[: len(self.lines), np.searchsorted(columns, self.columns)] = self.lines
        whole[groups] = lines[:, columns]
        whole[len(self.lines) :] = fresh[:, columns]
        return Partial(self.width, columns, whole)


@dataclass(frozen=True, slots=True)
class Held:
    """The groups so far, each with the little that its aggregates need.

    Parameters
    ----------
    keys
        Columns of the groups' keys.
    rows
        How many rows each group has.
    partials
        For each aggregate its whole numbers.
    values
        For each aggregate the columns it keeps of the rows it chose: a smallest value, a last one.
    """

    keys: tuple[pa.Array, ...]
    rows: Ints
    partials: tuple[Partial, ...]
    values: tuple[tuple[pa.Array, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrays(self) -> tuple[pa.Table, dict[str, Ints]]:
        """A table of keys and values, and whole numbers by name."""
        columns = {f"key {i}": column for i, column in enumerate(self.keys)}
        arrays = {"rows": self.rows}
        for i, (partial, kept) in enumerate(zip(self.partials, self.values, strict=True)):
            columns |= {f"value {i} {j}": column for j, column in enumerate(kept)}
            arrays[f"width {i}"] = np.array([partial.width], np.int64)
            arrays[f"columns {i}"] = partial.columns
            arrays[f"lines {i}"] = partial.lines.reshape(-1)
        return pa.table(columns), arrays

    @classmethod
    def from_arrays(cls, table: pa.Table, arrays: dict[str, Ints]) -> Held:
        """Read what `to_arrays` gave."""
        rows = arrays["rows"]
        n = sum(name.startswith("width ") for name in arrays)
        partials = []
        for i in range(n):
            columns = arrays[f"columns {i}"]
            lines = arrays[f"lines {i}"].reshape(len(rows), len(columns))
            partials.append(Partial(int(arrays[f"width {i}"][0]), columns, lines))
        values = tuple(_named(table, f"value {i} ") for i in range(n))
        return cls(_named(table, "key "), rows, tuple(partials), values)


def changed(column: pa.Array, groups: Ints, chosen: pa.Array, fresh: pa.Array) -> pa.Array:
    """A column with other values for some groups, and those of new ones at the end."""
    places = np.arange(len(column) + len(fresh))
    places[len(column) :] += len(chosen)
    places[groups] = len(column) + np.arange(len(groups))
    return concatenated([column, chosen, fresh]).take(pa.array(places))


def _named(table: pa.Table, prefix: str) -> tuple[pa.Array, ...]:
    names: Sequence[str] = [name for name in table.column_names if name.startswith(prefix)]
    return tuple(concatenated([table.column(name)]) for name in names)
