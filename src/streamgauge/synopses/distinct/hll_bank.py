"""HllBank: the HyperLogLogs of all groups of a GROUP BY; groups of few items take few bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.keys import Column, items
from streamgauge.kernel.memory import claimed
from streamgauge.synopses.bank import Bank, Bars
from streamgauge.synopses.distinct import register_law
from streamgauge.synopses.distinct.coupon_sets import (
    HELD,
    LACKING,
    ROWS,
    SLOTS,
    START,
    CouponSets,
    coupons_held,
    fill_registers,
    no_sets,
    raise_rows,
    repacked,
    slots_for,
    take,
    widened,
    with_rows,
)
from streamgauge.synopses.distinct.coupons import (
    Hashes,
    Registers,
    coupons_of,
    register_sums,
    registers_of,
    slots_of,
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
    """HyperLogLogs of all groups; one of few items holds those, which are counted exactly.

    A group takes 40 bytes and up to 22 for each of its first items, and `2 ** lg_k` bytes once its
    items would take a quarter of that.

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

    starts_small = True

    def __init__(self, model: Any, n_groups: int) -> None:
        self.model = model
        self.n_groups = 0
        self.most = slots_of(1 << model.lg_k)
        self.rows: Ints = np.zeros(0, np.int64)
        self.sets: CouponSets = no_sets(1 << model.lg_k)
        self._claim = claimed()
        self.resize(n_groups)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.rows.nbytes + sum(array.nbytes for array in self.sets)

    @property
    def held(self) -> Ints:
        """Items of each group that are counted exactly; -1 where there are too many."""
        return self.sets.heads[:, HELD]

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        more = n_groups - self.n_groups
        if more <= 0:
            return
        self._claim.ask(self.nbytes + more * (8 + 4 + 24))
        self.rows = np.concatenate([self.rows, np.zeros(more, np.int64)])
        self.sets = widened(self.sets, n_groups)
        self.n_groups = n_groups

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Hash the rows and give the coupons to their groups."""
        given = items(column)
        self.model._checked_weights(weights, len(given) + given.skipped, given)
        codes = given.align(np.ascontiguousarray(groups, np.int32))
        if codes is None or not len(given):
            return
        self._take(codes, coupons_of(given, self.model.seed))
        self.rows += np.bincount(codes + 1, minlength=self.n_groups + 1)[1:]

    def _take(self, codes: Codes, coupons: Hashes) -> None:
        row = take(self.sets, self.most, codes, coupons, 0)
        while row < len(coupons):
            lacking = int(self.sets.used[LACKING])
            if lacking:
                self._widen_arena(lacking)
            else:
                self._add_rows(1)
            row = take(self.sets, self.most, codes, coupons, row)

    def _widen_arena(self, lacking: int) -> None:
        live = int(self.sets.heads[:, SLOTS].sum())
        self._claim.ask(self.nbytes + 8 * (live + live // 2 + lacking))
        self.sets = repacked(self.sets, lacking)
        self._claim.ask(self.nbytes)

    def _add_rows(self, rows: int) -> None:
        """Room for so many rows of registers beside those in use, and a share more."""
        used, room = int(self.sets.used[ROWS]), len(self.sets.registers)
        if used + rows <= room:
            return
        grown = max(used + rows, min(used + used // 4, self.n_groups))
        # Both tables are there while one is copied into the other.
        self._claim.ask(self.nbytes + grown * self.sets.registers.shape[1])
        self.sets = with_rows(self.sets, grown)
        self._claim.ask(self.nbytes)

    def merge(self, other: HllBank) -> None:
        """The larger of two registers, and the items of both sets."""
        self.resize(other.n_groups)
        place = other.sets.place
        turned = np.flatnonzero((place >= 0) & (self.sets.place[: len(place)] < 0))
        self._add_rows(len(turned))
        for group in turned.tolist():
            fill_registers(self.sets, group)
        raise_rows(self.sets, other.sets.registers, place)
        self._take(*coupons_held(other.sets))
        self.rows[: other.n_groups] += other.rows

    def subtract(self, other: HllBank) -> None:
        """Not for registers: what was covered is lost."""
        raise AssertionError("hll is not linear")

    def clear(self) -> None:
        """Make every group empty."""
        self.sets = widened(no_sets(1 << self.model.lg_k), self.n_groups)
        self.rows[:] = 0
        self._claim.ask(self.nbytes)

    def bars(self, question: Question) -> Bars:
        """Estimates of every group."""
        held = self.held
        there = held < 0
        used = int(self.sets.used[ROWS])
        found = hll_bars(self.sets.registers[:used], np.full(used, -1), self.model.delta)
        value, low, high = (held.astype(np.float64) for _ in found)
        for column, of_rows in zip((value, low, high), found, strict=True):
            column[there] = of_rows[self.sets.place[there]]
        return Bars(value, low, high, 1.0 - self.model.delta)

    def registers(self, group: int) -> Registers:
        """Registers of a group, its own copy."""
        place = int(self.sets.place[group])
        if place >= 0:
            found: Registers = self.sets.registers[place].copy()
            return found
        return registers_of(self._coupons(group), 1 << self.model.lg_k)

    def _coupons(self, group: int) -> Hashes:
        start, slots, _ = self.sets.heads[group].tolist()
        found = self.sets.arena[start : start + slots]
        return found[found > 0]

    def synopsis(self, group: int) -> Synopsis:
        """The Hll of one group."""
        return self.model.filled(  # type: ignore[no-any-return]
            self.registers(group),
            self._coupons(group),
            int(self.held[group]),
            int(self.rows[group]),
        )

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        return [
            self.synopsis(group).to_bytes() if self.rows[group] else b""
            for group in range(self.n_groups)
        ]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        self._begin(len(data))
        for group, part in enumerate(data):
            if part:
                held = type(self.model).from_bytes(part)
                self.rows[group] = held.rows
                coupons = held.few[held.few > 0]
                if held.held[0] < 0:
                    self._add_registers(np.array([group]), held.registers[None, :])
                self._take(np.full(len(coupons), group, np.int32), coupons)

    def _begin(self, n_groups: int) -> None:
        self.n_groups = 0
        self.rows = np.zeros(0, np.int64)
        self.sets = no_sets(1 << self.model.lg_k)
        self.resize(n_groups)

    def _add_registers(self, groups: Ints, registers: Registers) -> None:
        """Give registers to groups that are empty."""
        self._add_rows(len(groups))
        first = int(self.sets.used[ROWS])
        for group in groups.tolist():
            fill_registers(self.sets, group)
        self.sets.registers[first : first + len(groups)] = registers

    def placed(self, places: Ints, n_groups: int) -> HllBank:
        """Sketches moved to other groups."""
        moved = HllBank(self.model, n_groups)
        moved._claim.ask(moved.nbytes + self.nbytes)
        moved.rows[places] = self.rows
        place, heads = moved.sets.place, moved.sets.heads
        place[places], heads[places] = self.sets.place, self.sets.heads
        arena, registers = self.sets.arena.copy(), self.sets.registers.copy()
        moved.sets = CouponSets(registers, place, arena, heads, self.sets.used.copy())
        return moved

    def chosen(self, groups: Ints) -> HllBank:
        """Items and registers of some groups."""
        held = self.held[groups]
        counts, lengths = np.maximum(self.held, 0), np.maximum(held, 0)
        starts = (np.cumsum(counts) - counts)[groups] - (np.cumsum(lengths) - lengths)
        places = np.repeat(starts, lengths) + np.arange(int(lengths.sum()))
        new = HllBank(self.model, 0)
        new.restore(
            {
                "rows": self.rows[groups],
                "held": held,
                "coupons": coupons_held(self.sets)[1][places],
                "registers": self.sets.registers[self.sets.place[groups[held < 0]]],
            }
        )
        return new

    def save(self) -> dict[str, Array]:
        """Rows and items of each group, the items themselves, and registers of the others."""
        there = np.flatnonzero(self.sets.place >= 0)
        return {
            "rows": self.rows,
            "held": self.held.copy(),
            "coupons": coupons_held(self.sets)[1],
            "registers": self.sets.registers[self.sets.place[there]],
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take state as saved; that of earlier releases has registers for every group."""
        held, registers = arrays.get("held"), arrays["registers"]
        if held is None:
            raise StateTooOld(
                "the state of a distinct count is of an earlier release",
                f"{len(arrays['rows'])} groups, counted by codes of values and not by the values",
                "drop the query with the earlier release and register it again with this one",
            )
        if "few" in arrays:
            few, registers = arrays["few"], registers[held < 0]
            coupons = few[few > 0]
        else:
            coupons = arrays["coupons"]
        self._begin(len(held))
        self.rows = arrays["rows"]
        self._add_registers(np.flatnonzero(held < 0), registers)
        self._open_sets(np.maximum(held, 0))
        self._take(np.repeat(np.arange(len(held), dtype=np.int32), np.maximum(held, 0)), coupons)

    def _open_sets(self, expected: Ints) -> None:
        """Sets with room for the items that each group is about to get."""
        slots = slots_for(expected)
        ends = np.cumsum(slots)
        whole = int(slots.sum())
        self._claim.ask(self.nbytes + 8 * whole)
        heads = self.sets.heads
        heads[:, START], heads[:, SLOTS] = ends - slots, slots
        heads[self.sets.place >= 0, HELD] = -1
        used = np.array([whole, self.sets.used[ROWS], 0])
        self.sets = self.sets._replace(arena=np.zeros(whole, np.uint64), used=used)
