"""The agent's clock against a coordinator whose clock is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.edge.clock import JUMP, Clock
from streamgauge.kernel.time import SECOND

pytestmark = pytest.mark.slow


class World:
    """Two machines: local wall and steady clocks, and the coordinator's, which is ahead."""

    def __init__(self, ahead: int) -> None:
        self.now = 1_000 * SECOND
        self.stepped = 0
        self.ahead = ahead
        self.clock = Clock(lambda: self.now + self.stepped, lambda: self.now)

    def exchange(self, there: int, back: int, busy: int = 0) -> None:
        sent = self.clock.local()
        self.now += there
        received = self.now + self.ahead
        self.now += busy
        answered = self.now + self.ahead
        self.now += back
        self.clock.learn(sent, received, answered)


def test_a_clock_is_not_set_before_a_reply() -> None:
    world = World(5 * SECOND)
    assert not world.clock.is_set
    world.exchange(100, 100)
    assert world.clock.is_set
    assert world.clock.label() == world.now + world.ahead


@given(
    ahead=st.integers(-(10**12), 10**12),
    ways=st.lists(
        st.tuples(st.integers(0, SECOND), st.integers(0, SECOND), st.integers(0, SECOND)),
        min_size=1,
        max_size=40,
    ),
)
def test_the_offset_is_off_by_no_more_than_the_doubt(
    ahead: int, ways: list[tuple[int, int, int]]
) -> None:
    world = World(ahead)
    for there, back, busy in ways:
        world.exchange(there, back, busy)
        assert abs(world.clock.offset - ahead) <= world.clock.doubt + 1


def test_the_quickest_exchange_counts() -> None:
    world = World(7 * SECOND)
    world.exchange(10, 10)
    world.exchange(900_000, 100)
    assert world.clock.offset == 7 * SECOND


def test_a_quick_exchange_of_long_ago_gives_way() -> None:
    world = World(0)
    world.exchange(10, 10)
    # The coordinator's clock drifts by 50 millionths; an hour later this is far more than the way.
    world.now += 3_600 * SECOND
    world.ahead = 180_000
    world.exchange(500, 500)
    assert world.clock.offset == 180_000


@given(st.lists(st.tuples(st.integers(-SECOND, SECOND), st.integers(0, SECOND)), max_size=40))
def test_labels_never_go_back(steps: list[tuple[int, int]]) -> None:
    world = World(0)
    last = 0
    for ahead, wait in steps:
        world.ahead += ahead
        world.exchange(wait // 2, wait // 2)
        label = world.clock.label()
        assert label >= last
        last = label


def test_a_step_of_the_wall_clock_leaves_labels_in_place() -> None:
    world = World(3 * SECOND)
    world.exchange(10, 10)
    before = world.clock.label()
    world.stepped = 3_600 * SECOND
    world.now += SECOND
    assert world.clock.jumped()
    assert world.clock.jumps == 1
    assert not world.clock.is_set, "nothing is vouched for before the next reply"
    assert world.clock.label() == before + SECOND
    world.exchange(10, 10)
    assert world.clock.is_set
    assert abs(world.clock.label() - (world.now + world.ahead)) <= 10


def test_a_reply_to_what_was_sent_before_a_step_teaches_nothing() -> None:
    world = World(3 * SECOND)
    sent = world.clock.local()
    world.stepped = 8 * SECOND
    assert world.clock.jumped()
    world.clock.learn(sent, world.now + world.ahead, world.now + world.ahead)
    assert not world.clock.is_set
    world.exchange(10, 10)
    assert world.clock.label() == world.now + world.ahead


def test_a_small_step_is_none() -> None:
    world = World(0)
    world.stepped = JUMP
    assert not world.clock.jumped()


def test_nonsense_in_replies_teaches_nothing() -> None:
    world = World(0)
    local = world.clock.local()
    world.clock.learn(local + 50, 0, 0)
    world.clock.learn(local - 10**12, 0, 0)
    world.clock.learn(local, 100, 50)
    assert not world.clock.is_set
