"""HllBank: one table of registers for all groups of a GROUP BY, filled in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.keys import Column, items
from streamgauge.synopses.bank import Bank, Bars
from streamgauge.synopses.distinct import register_law
from streamgauge.synopses.distinct.coupons import (
    Hashes,
    Registers,
    fold,
    register_sums,
    slots_of,
    unite,
)
from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Array, Synopsis

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_HARMONIC = -np.ldexp(1.0, -np.arange(register_law.LEVELS + 1))


def hll_bars(registers: Registers, held: Ints, delta: float) -> register_law.Bars:
    """Estimates of HyperLogLogs, one for each row of a table; exact where so few items are held."""
    occupied = np.empty(len(registers), np.int64)
    totals = np.empty(len(registers))
    register_sums(registers, _HARMONIC, occupied, totals)
    found = register_law.register_law("hll", registers.shape[1], delta).bars(occupied, totals)
    return register_law.Bars(*(np.where(held >= 0, held, column) for column in found))


class HllBank(Bank):
    """Registers of all groups in one table; takes `1.25 * 2 ** lg_k` bytes a group from the start.

    The quarter is for the items of groups that hold few of them, which are counted exactly.

    Parameters
    ----------
    model
        An Hll; all groups have its size and seed.
    n_groups
        Groups.

    Examples
    --------
    >>> from streamgauge.synopses.distinct.hll import Hll
    >>> from streamgauge.synopses.questions import Distinct
    >>> bank = HllBank(Hll(10), 2)
    >>> bank.update(np.array([0, 1, 0, -1], np.int32), [7, 7, 8, 9])
    >>> bank.bars(Distinct()).high
    array([2., 1.])
    """

    def __init__(self, model: Any, n_groups: int) -> None:
        self.model = model
        self.n_groups = 0
        self.registers: Registers = np.zeros((0, 1 << model.lg_k), np.uint8)
        self.rows: Ints = np.zeros(0, np.int64)
        self.few: Hashes = np.zeros((0, slots_of(1 << model.lg_k)), np.uint64)
        self.held: Ints = np.zeros(0, np.int64)
        self.resize(n_groups)

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        more = n_groups - self.n_groups
        if more <= 0:
            return
        width = self.registers.shape[1]
        self.registers = np.concatenate([self.registers, np.zeros((more, width), np.uint8)])
        self.rows = np.concatenate([self.rows, np.zeros(more, np.int64)])
        slots = self.few.shape[1]
        self.few = np.concatenate([self.few, np.zeros((more, slots), np.uint64)])
        self.held = np.concatenate([self.held, np.zeros(more, np.int64)])
        self.n_groups = n_groups

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Hash the rows and raise the registers of their groups."""
        given = items(column)
        self.model._checked_weights(weights, len(given) + given.skipped, given)
        codes = given.align(np.ascontiguousarray(groups, np.int32))
        if codes is None or not len(given):
            return
        rows = np.zeros(self.n_groups + 1, np.int64)
        held = self.held if (self.held >= 0).any() else self.held[:0]
        fold(self.registers, given, self.model.seed, codes, rows, self.few, held)
        self.rows += rows[1:]

    def merge(self, other: HllBank) -> None:
        """The larger of two registers."""
        self.resize(other.n_groups)
        mine = self.registers[: other.n_groups]
        np.maximum(mine, other.registers, out=mine)
        self.rows[: other.n_groups] += other.rows
        unite(self.few, self.held, other.few, other.held)

    def subtract(self, other: HllBank) -> None:
        """Not for registers: what was covered is lost."""
        raise AssertionError("hll is not linear")

    def clear(self) -> None:
        """Make every group empty."""
        self.registers[:] = 0
        self.rows[:] = 0
        self.few[:] = 0
        self.held[:] = 0

    def bars(self, question: Question) -> Bars:
        """Estimates of every group."""
        found = hll_bars(self.registers, self.held, self.model.delta)
        return Bars(found.value, found.low, found.high, 1.0 - self.model.delta)

    def synopsis(self, group: int) -> Synopsis:
        """The Hll of one group."""
        new: Any = self.model.empty()
        new.registers = self.registers[group].copy()
        new.few, new.held = self.few[[group]], self.held[[group]]
        new.rows = int(self.rows[group])
        new.mass = float(new.rows)
        return new  # type: ignore[no-any-return]

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        return [
            self.synopsis(group).to_bytes() if self.rows[group] else b""
            for group in range(self.n_groups)
        ]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        self.n_groups = 0
        self.registers = self.registers[:0]
        self.rows = self.rows[:0]
        self.few, self.held = self.few[:0], self.held[:0]
        self.resize(len(data))
        for group, part in enumerate(data):
            if part:
                held = type(self.model).from_bytes(part)
                self.registers[group] = held.registers
                self.rows[group] = held.rows
                self.few[group], self.held[group] = held.few[0], held.held[0]

    def placed(self, places: Ints, n_groups: int) -> HllBank:
        """Registers moved to other rows."""
        moved = HllBank(self.model, n_groups)
        moved.registers[places] = self.registers
        moved.rows[places] = self.rows
        moved.few[places], moved.held[places] = self.few, self.held
        return moved

    def chosen(self, groups: Ints) -> HllBank:
        """Registers of some groups."""
        new = HllBank(self.model, 0)
        new.restore({name: table[groups] for name, table in self.save().items()})
        return new

    def save(self) -> dict[str, Array]:
        """The tables themselves."""
        return {
            "registers": self.registers, "rows": self.rows, "few": self.few, "held": self.held,
        }  # fmt: skip

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take the tables as saved; those of earlier releases counted texts by their codes."""
        if "few" not in arrays:
            raise StateTooOld(
                "the state of a distinct count is of an earlier release",
                f"{len(arrays['rows'])} groups, counted by codes of values and not by the values",
                "drop the query with the earlier release and register it again with this one",
            )
        self.few, self.held = arrays["few"], arrays["held"]
        self.registers = arrays["registers"]
        self.rows = arrays["rows"]
        self.n_groups = len(self.rows)
