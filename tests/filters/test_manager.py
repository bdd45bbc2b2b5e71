"""Who may be how wide: budgets hold at every instant, whatever gets lost on the way."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant, Update
from streamgauge.filters.constraints import Constraints
from streamgauge.filters.manager import Policy, PrecisionManager
from streamgauge.filters.source import SourceFilter
from tests.profile import examples

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def average(n: int, delta: float) -> Constraints:
    return Constraints.of(n, [(np.arange(n), np.full(n, 1.0 / n), delta, "linear")])


def started(n: int, delta: float, policy: Policy | None = None) -> PrecisionManager:
    """All objects were heard once and confirmed their first width."""
    manager = PrecisionManager(average(n, delta), policy=policy)
    for number in range(n):
        assert manager.update(number, 0, 0) is not None
        manager.update(number, SECOND, 1)
    return manager


def test_first_widths_are_uniform_less_the_reserve() -> None:
    manager = started(4, 10.0)
    kept = 1.0 - manager.policy.reserve
    assert manager.held == pytest.approx(np.full(4, 10.0 * kept))


def test_the_reply_carries_the_width_that_is_worth_its_price() -> None:
    # One moves eight times as far as the other: four times the width.
    manager = started(2, 10.0, Policy(excess=100.0, pace=1.0))
    rates = (4.0, 256.0)
    for number in (0, 1):
        manager.update(number, 2 * SECOND, 1, rates[number], 2.0)
    assert manager.adjust(3 * SECOND) == []
    narrow = manager.update(0, 4 * SECOND, 1, 4.0, 2.0)
    assert narrow is not None
    before = manager.update(1, 4 * SECOND, 1, 256.0, 2.0)
    assert before is not None
    assert before.width < 11.0
    assert manager.held[0] > narrow.width
    manager.applied(0, narrow.version)
    assert manager.held[0] == narrow.width
    wide = manager.update(1, 5 * SECOND, before.version, 256.0, 2.0)
    assert wide is not None
    assert wide.width / narrow.width == pytest.approx(4.0, rel=0.05)
    assert manager.held.sum() <= 20.0


def test_nothing_grows_into_what_is_not_confirmed() -> None:
    manager = started(2, 10.0, Policy(reserve=0.0))
    manager.update(0, 2 * SECOND, 1, 1e-6, 2.0)
    manager.update(1, 2 * SECOND, 1, 1e3, 2.0)
    manager.adjust(3 * SECOND)
    shrink = manager.update(0, 4 * SECOND, 1, 1e-6, 2.0)
    assert shrink is None or shrink.width < 1.0
    assert manager.update(1, 4 * SECOND, 1, 1e3, 2.0) is None


def test_a_quiet_object_that_holds_much_is_told_to_shrink() -> None:
    manager = started(3, 10.0)
    for number in (0, 1):
        manager.update(number, 2 * SECOND, 1, 400.0, 2.0)
    manager.update(2, 2 * SECOND, 1, 0.0, 2.0)
    found = manager.adjust(10 * SECOND)
    assert [grant.number for grant in found] == [2]
    assert found[0].width < 1.0
    assert manager.held[2] > 9.0
    manager.applied(2, found[0].version)
    assert manager.held[2] == found[0].width
    assert manager.adjust(20 * SECOND) == []


def test_a_shrink_that_is_not_confirmed_is_sent_again() -> None:
    manager = started(2, 10.0)
    manager.update(0, 2 * SECOND, 1, 400.0, 2.0)
    manager.update(1, 2 * SECOND, 1, 0.0, 2.0)
    first = manager.adjust(10 * SECOND)
    assert len(first) == 1
    assert manager.adjust(20 * SECOND) == []
    again = manager.adjust(50 * SECOND)
    assert manager.adjust(60 * SECOND) == []
    assert [(g.number, g.version, g.width) for g in again] == [
        (g.number, g.version, g.width) for g in first
    ]


def test_unqueried_objects_send_nothing_and_some_send_all() -> None:
    constraints = Constraints.of(3, [([0, 1], None, 4.0, "linear")])
    manager = PrecisionManager(constraints, every=[1])
    assert manager.update(2, 0, 0).width == NOTHING
    assert manager.update(1, 0, 0).width == EVERY_READING
    assert manager.held[1] == 0.0


def test_objects_that_have_a_bound_are_told_to_send_every_reading() -> None:
    manager = started(2, 10.0)
    found = manager.replace_constraints(average(2, 10.0), 2 * SECOND, every=[1])
    assert [(grant.number, grant.width) for grant in found] == [(1, EVERY_READING)]


def test_weaker_constraints_grow_with_replies() -> None:
    manager = started(2, 10.0)
    assert manager.replace_constraints(average(2, 40.0), 2 * SECOND) == []
    for at in range(3, 12):
        for number in (0, 1):
            manager.update(number, at * SECOND, int(manager.newest_versions[number]), 4.0, 2.0)
        manager.adjust(at * SECOND)
    assert manager.held.sum() > 60.0
    assert manager.held.sum() <= 80.0


def test_stronger_constraints_shrink_at_once_or_when_replies_go_out() -> None:
    manager = started(2, 10.0)
    found = manager.replace_constraints(average(2, 4.0), 2 * SECOND)
    assert sorted(grant.number for grant in found) == [0, 1]
    for grant in found:
        manager.applied(grant.number, grant.version)
    assert manager.held.sum() <= 8.0
    patient = started(2, 10.0)
    assert patient.replace_constraints(average(2, 4.0), 2 * SECOND, immediate=False) == []
    before = patient.held.sum()
    for number in (0, 1):
        shrink = patient.update(number, 3 * SECOND, 1, 4.0, 2.0)
        assert shrink is not None
        assert shrink.width < 10.0
        patient.applied(number, shrink.version)
        assert patient.held.sum() <= before
    assert patient.held.sum() <= 8.0


def test_an_object_that_is_asked_for_again_is_narrowed_at_once() -> None:
    manager = PrecisionManager(Constraints.of(2, [([0], None, 4.0, "linear")]))
    free = manager.update(1, 0, 0)
    assert free is not None
    assert free.width == NOTHING
    manager.update(1, SECOND, 1)
    both = Constraints.of(2, [([0, 1], None, 4.0, "linear")])
    found = manager.replace_constraints(both, 2 * SECOND, immediate=False)
    assert [grant.number for grant in found] == [1]
    assert found[0].width <= 2.0
    assert manager.update(0, 2 * SECOND, 0) is None or manager.held[0] == 0.0
    manager.applied(1, found[0].version)
    assert manager.update(0, 3 * SECOND, 0) is not None
    assert manager.held.sum() <= 4.0


def test_objects_come_and_go() -> None:
    manager = started(2, 10.0)
    manager.replace_constraints(average(3, 10.0), 2 * SECOND)
    assert manager.update(2, 3 * SECOND, 0) is not None
    assert manager.held.sum() <= 30.0
    manager.forget([0])
    assert manager.held[0] == 0.0
    back = manager.update(0, 4 * SECOND, 0)
    assert back is None or back.version > 1


def test_a_version_that_never_was_is_refused_and_replaced() -> None:
    manager = started(2, 10.0)
    found = manager.update(0, 2 * SECOND, 77, 9.0, 2.0)
    assert manager.refused == 1
    assert manager.width(0, 77) is None
    assert found is not None
    assert found.version == 78
    assert manager.width(0, 78) == found.width


def test_an_object_with_a_query_of_its_own_gets_all_of_it() -> None:
    demands = [([0], None, 4.0, "linear"), ([1, 2], None, 6.0, "each")]
    manager = PrecisionManager(Constraints.of(3, demands))
    assert [manager.update(number, 0, 0).width for number in range(3)] == [4.0, 6.0, 6.0]
    manager.update(0, SECOND, 1, 5.0, 2.0)
    assert manager.adjust(10 * SECOND) == []
    assert manager.held.tolist() == [4.0, 6.0, 6.0]
    tighter = Constraints.of(3, [([0], None, 1.0, "linear"), ([1, 2], None, 6.0, "each")])
    found = manager.replace_constraints(tighter, 11 * SECOND)
    assert [(grant.number, grant.width) for grant in found] == [(0, 1.0)]


def test_a_source_that_begins_anew_is_not_wrong() -> None:
    manager = started(2, 10.0)
    manager.forget([0])
    found = manager.update(0, 9 * SECOND, 0)
    assert manager.refused == 0
    assert found is not None
    assert found.version == 2


def test_a_manager_that_was_kept_goes_on_as_if_nothing_had_been() -> None:
    manager = started(3, 10.0)
    manager.update(0, 2 * SECOND, 1, 4.0, 2.0)
    manager.adjust(3 * SECOND)
    kept = json.loads(json.dumps(manager.snapshot(), allow_nan=False))
    other = PrecisionManager.restore(kept, average(3, 10.0))
    for at in range(4, 20):
        for number in range(3):
            versions = (int(m.newest_versions[number]) for m in (manager, other))
            args = (number, at * SECOND)
            ours, theirs = (
                m.update(*args, version, float(at * (number + 1)), 2.0)
                for m, version in zip((manager, other), versions, strict=True)
            )
            assert ours == theirs
        assert manager.adjust(at * SECOND) == other.adjust(at * SECOND)
        assert manager.held == pytest.approx(other.held)


def test_a_grant_of_before_a_restart_counts_as_held() -> None:
    manager = started(2, 10.0)
    kept = manager.snapshot()
    grant = Grant(0, 5, 3.0, 9 * SECOND)
    other = PrecisionManager.restore(kept, average(2, 10.0))
    other.note(grant)
    assert other.width(0, 5) == 3.0
    other.applied(0, 5)
    assert other.held[0] == 3.0


class Network:
    """Sources and a manager with messages under way that may be lost, doubled or overtaken."""

    def __init__(self, draw: Any, n: int, constraints: Constraints) -> None:
        self.draw = draw
        self.manager = PrecisionManager(constraints)
        self.source = SourceFilter()
        self.up: list[tuple[int, int, Update | None]] = []
        self.down: list[Grant] = []
        self.at = 0
        for number in range(n):
            self.source.add(number)

    def send(self, update: Update | None) -> None:
        if update is not None:
            self.up.append((update.number, update.version, update))

    def read(self, number: int, value: float) -> None:
        self.send(self.source.offer(number, self.at, value))

    def arrive(self, place: int, double: bool) -> None:
        if not self.up:
            return
        number, version, update = self.up[place % len(self.up)]
        if not double:
            del self.up[place % len(self.up)]
        if update is None:
            self.manager.applied(number, version)
            return
        rate = update.rate if np.isfinite(update.rate) else 1.0
        grant = self.manager.update(number, update.at, version, rate, 2.0, now=self.at)
        self.down += [grant] if grant is not None else []

    def hear(self, place: int, fate: str) -> None:
        if not self.down:
            return
        grant = self.down[place % len(self.down)]
        if fate != "double":
            del self.down[place % len(self.down)]
        if fate != "lost":
            self.send(self.source.grant(grant, self.at))
            self.up += [(number, version, None) for number, version in self.source.applied()]

    def holds(self, constraints: Constraints, n: int) -> None:
        for number in range(n):
            assert self.source.bound(number, self.at)[1] <= self.manager.held[number]
        assert not constraints.violations(self.manager.held)[0].size


places = st.integers(0, 20)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(0, 2), st.floats(-100.0, 100.0)),
        st.tuples(st.just("arrive"), places, st.booleans()),
        st.tuples(st.just("hear"), places, st.sampled_from(["heard", "lost", "double"])),
        st.tuples(st.just("adjust"), places, st.just(None)),
        st.tuples(st.just("lose"), places, st.just(None)),
    ),
    max_size=80,
)


@given(moves)
@settings(max_examples=examples(150), deadline=None)
def test_sources_never_hold_more_than_is_counted_and_budgets_hold(
    history: list[tuple[str, int, Any]],
) -> None:
    constraints = Constraints.of(
        3, [([0, 1, 2], None, 30.0, "linear"), ([0, 1], [1.0, -2.0], 12.0, "linear")]
    )
    net = Network(None, 3, constraints)
    for what, place, more in history:
        net.at += SECOND
        if what == "read":
            net.read(place, more)
        elif what == "arrive":
            net.arrive(place, more)
        elif what == "hear":
            net.hear(place, more)
        elif what == "lose" and net.up:
            # Reports are sent until they are acknowledged; only what is said twice may be lost.
            dropped = net.up[place % len(net.up)]
            if dropped[2] is None:
                net.up.remove(dropped)
        else:
            net.down += net.manager.adjust(net.at)
            for update in net.source.check(net.at):
                net.send(update)
        net.holds(constraints, 3)
