"""Tally: synopses of the groups of a table, built in parts where the rows are and put together.

A part leaves a worker as one packed value, not as rows; parts are merged group by group. Nothing
here knows Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.kernel.keys import DATASKETCHES_SEED
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.synopses import registry
from streamgauge.synopses.bank import Bank, bank_of
from streamgauge.synopses.questions import HeavyHitters, Question, TopK
from streamgauge.synopses.synopsis import Synopsis

Codes = npt.NDArray[np.int32]
KIND, VERSION = "tally", 1
DENSE = 1 << 20
ANSWER = pa.struct(
    [
        ("item", pa.string()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("confidence", pa.float64()),
    ]
)
SUMMARY = pa.struct([("answers", pa.list_(ANSWER)), ("sketch", pa.binary())])


@dataclass(frozen=True, slots=True)
class Summary:
    """A synopsis of one column, and what to ask of it.

    Parameters
    ----------
    kind, parameters, seed
        The synopsis, by its name in the registry.
    column
        What it summarises.
    questions
        What is answered for each group.
    """

    kind: str
    column: str
    parameters: tuple[tuple[str, Any], ...] = ()
    seed: int = DATASKETCHES_SEED
    questions: tuple[Question, ...] = ()

    def model(self) -> Synopsis:
        """The empty synopsis."""
        return registry()[self.kind](**dict(self.parameters), seed=self.seed)


@dataclass(slots=True)
class Tally:
    """Synopses of every group seen so far.

    Examples
    --------
    >>> from streamgauge.synopses.questions import Quantile
    >>> middle = Summary("exact", "v", questions=(Quantile(0.5),))
    >>> one, two = Tally.of(("g",), {"m": middle}), Tally.of(("g",), {"m": middle})
    >>> one.update(pa.table({"g": ["a", "b"], "v": [1.0, 2.0]}))
    >>> two.update(pa.table({"g": ["b", "b"], "v": [4.0, 6.0]}))
    >>> one.merge(Tally.from_bytes(two.to_bytes(), ("g",), {"m": middle}))
    >>> one.result().column("m").to_pylist()[1]["answers"][0]["value"]
    4.0
    """

    by: tuple[str, ...]
    summaries: dict[str, Summary]
    types: dict[str, pa.DataType] = field(default_factory=dict)
    words: dict[str, Interner] = field(default_factory=dict)
    groups: Combiner = field(default_factory=Combiner)
    banks: dict[str, Bank] = field(default_factory=dict)

    @classmethod
    def of(cls, by: Sequence[str], summaries: dict[str, Summary]) -> Tally:
        """A tally of nothing."""
        return cls(
            tuple(by),
            summaries,
            words={name: Interner() for name in by},
            banks={name: bank_of(s.model(), 0) for name, s in summaries.items()},
        )

    def __len__(self) -> int:
        return len(self.groups.interner)

    def update(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Fold rows."""
        if not rows.num_rows:
            return
        codes = self._encode(rows)
        for name, summary in self.summaries.items():
            bank = self.banks[name]
            bank.resize(len(self))
            bank.update(codes, rows.column(summary.column))

    def _encode(self, rows: pa.Table | pa.RecordBatch) -> Codes:
        if not self.by:
            self.groups.interner.add(())
            return np.zeros(rows.num_rows, np.int32)
        for name in self.by:
            self.types.setdefault(name, rows.schema.field(name).type)
        if len(self.by) == 1 and pa.types.is_integer(rows.schema.field(self.by[0]).type):
            quick = self._encode_numbers(rows.column(self.by[0]))
            if quick is not None:
                return quick
        return self.groups.encode([self.words[name].encode(rows.column(name)) for name in self.by])

    def _encode_numbers(self, column: pa.ChunkedArray | pa.Array) -> Codes | None:
        """Codes of whole numbers that lie close together, by a table; None for others."""
        if column.null_count:
            return None
        numbers = np.asarray(column.to_numpy())
        low, high = int(numbers.min()), int(numbers.max())
        if high - low > DENSE:
            return None
        places = numbers.astype(np.int64) - low
        seen = np.zeros(high - low + 1, np.bool_)
        seen[places] = True
        found = np.flatnonzero(seen)
        table = np.zeros(high - low + 1, np.int32)
        # New numbers take their codes in ascending order within a batch; any order would do.
        table[found] = self.groups.encode(
            [self.words[self.by[0]].encode(pa.array(found + low, column.type))]
        )
        return table[places]

    def merge(self, other: Tally) -> None:
        """Fold another tally of the same summaries."""
        self.types = self.types or other.types
        if not len(other):
            return
        codes = self._encode(other.keys())
        places = codes.astype(np.int64)
        for name, bank in self.banks.items():
            bank.resize(len(self))
            bank.merge(other.banks[name].placed(places, len(self)))

    def keys(self) -> pa.Table:
        """One row for each group: its values of the grouping columns."""
        columns = {}
        for place, name in enumerate(self.by):
            words = self.words[name].values
            codes = [combo[place] for combo in self.groups.interner.values]
            values = [None if code < 0 else words[code] for code in codes]
            columns[name] = pa.array(values, _plain(self.types.get(name, pa.null())))
        if not self.by:
            return pa.table({"": pa.nulls(len(self))})
        return pa.table(columns)

    def to_bytes(self) -> bytes:
        """One packed value."""
        sink = pa.BufferOutputStream()
        keys = self.keys()
        with pa.ipc.new_stream(sink, keys.schema) as writer:
            writer.write_table(keys)
        arrays = {"keys": np.frombuffer(sink.getvalue(), np.uint8)}
        saved: dict[str, list[str]] = {}
        for name, bank in self.banks.items():
            bank.resize(len(self))
            parts = bank.save()
            saved[name] = sorted(parts)
            arrays.update({f"{name}/{part}": parts[part] for part in sorted(parts)})
        return pack(Packed(KIND, VERSION, {"banks": saved}, arrays))

    @classmethod
    def from_bytes(cls, data: bytes, by: Sequence[str], summaries: dict[str, Summary]) -> Tally:
        """Read a packed value."""
        packed = unpack(data, kind=KIND, version=VERSION)
        new = cls.of(by, summaries)
        keys = pa.ipc.open_stream(packed.arrays["keys"].tobytes()).read_all()
        if keys.num_rows:
            new._encode(keys)
        for name, parts in packed.values["banks"].items():
            new.banks[name].restore({part: packed.arrays[f"{name}/{part}"] for part in parts})
        return new

    def result(self, *, sketches: bool = False) -> pa.Table:
        """One row for each group: its keys, and answers and bytes of each summary."""
        columns = {name: self.keys()[name].combine_chunks() for name in self.by}
        for name, summary in self.summaries.items():
            columns[name] = _answers(self.banks[name], summary.questions, sketches=sketches)
        return pa.table(columns)

    def schema(self) -> pa.Schema:
        """Columns of the result."""
        keys = [(name, _plain(self.types[name])) for name in self.by]
        return pa.schema([*keys, *((name, SUMMARY) for name in self.summaries)])


def foreign_bytes(synopsis: Any) -> bytes:
    """Bytes as Apache DataSketches writes them where there is such a sketch, else our own."""
    data: bytes = (
        synopsis.to_datasketches() if hasattr(synopsis, "to_datasketches") else synopsis.to_bytes()
    )
    return data


def _answers(bank: Bank, questions: Sequence[Question], *, sketches: bool) -> pa.StructArray:
    n = bank.n_groups
    cells: list[list[dict[str, Any]]] = [[] for _ in range(n)]
    for question in questions:
        if isinstance(question, TopK | HeavyHitters):
            for group, found in enumerate(bank.tops(question)):
                cells[group] += [
                    _cell(w.value, w.low, w.high, w.confidence, str(item)) for item, w in found
                ]
            continue
        bars = bank.bars(question)
        columns = (bars.value.tolist(), bars.low.tolist(), bars.high.tolist())
        for group, (value, low, high) in enumerate(zip(*columns, strict=True)):
            cells[group].append(_cell(value, low, high, bars.confidence, None))
    data = [foreign_bytes(bank.synopsis(g)) if sketches else None for g in range(n)]
    return pa.StructArray.from_arrays(
        [pa.array(cells, pa.list_(ANSWER)), pa.array(data, pa.binary())], fields=list(SUMMARY)
    )


def _cell(value: float, low: float, high: float, sure: float, item: str | None) -> dict[str, Any]:
    return {"item": item, "value": value, "low": low, "high": high, "confidence": sure}


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
