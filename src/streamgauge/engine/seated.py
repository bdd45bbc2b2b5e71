"""Seated operators: those whose queries are compiled to columns, an entry for each that is checked.

A change compiles the queries that come, and moves the entries of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streamgauge.engine.operator import Operator
from streamgauge.engine.pieces import Bench, Given, Seats
from streamgauge.engine.rows import Rows
from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import Span
from streamgauge.plan.assignment import Change
from streamgauge.plan.registry import Registry, Standing


class Seated(Operator):
    """An operator whose queries have seats, and columns in the order of the seats."""

    seats: Seats
    compiled: Any

    @property
    def n_groups(self) -> int:
        """Groups that queries have a memory about."""
        return 1

    def mine(self, bench: Bench) -> Callable[[Standing], bool]:
        """Which queries this shard answers."""
        return lambda standing: True

    def order(self, bench: Bench, registry: Registry) -> Callable[[Standing], Any]:
        """By what queries are seated, before their numbers."""
        return lambda standing: 0

    def compile(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> Any:
        """Columns of some queries."""
        raise NotImplementedError

    def make_room(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Keep as much as some queries need."""

    def forget_others(self) -> None:
        """Let go what was kept for queries that have left."""

    def moved(self, moves: Moves, compiled: Any, fresh: Any) -> Any:
        """What is compiled, with the queries that have come."""
        return moves.columns(compiled, fresh)

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries."""
        mine = list(filter(self.mine(bench), queries))
        self.seats.arrange(bench, mine, self.n_groups, self.order(bench, registry))
        self.forget_others()
        self.compiled = self.compile(bench, registry, self.seats.active)
        if mine:
            self.make_room(bench, registry, mine)

    def change(
        self, bench: Bench, registry: Registry, queries: Sequence[Standing], change: Change
    ) -> None:
        """Compile what has come and forget what has left."""
        mine = change.among(self.mine(bench))
        moves = self.seats.change(bench, mine, self.n_groups, self.order(bench, registry))
        self.forget_others()
        come = [self.seats.active[place] for place in moves.come.tolist()]
        self.compiled = self.moved(moves, self.compiled, self.compile(bench, registry, come))
        if mine.added:
            self.make_room(bench, registry, mine.added)

    def begin_answers(
        self,
        bench: Bench,
        registry: Registry,
        queries: Sequence[Standing],
        new: Sequence[Standing],
        at: tuple[Rows, Span],
    ) -> list[Given]:
        """Answer new queries at the instant reached, from what is kept."""
        mine, checked = self.mine(bench), (self.seats, self.compiled)
        asked = [one for one in new if mine(one) and bench.active(one)]
        self.seats = self.seats.only(asked, self.order(bench, registry))
        self.compiled = self.compile(bench, registry, self.seats.active)
        given = self.advance(bench, *at)
        self.seats, self.compiled = checked
        return given

    def adopt(self, other: Any) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled = other.compiled
