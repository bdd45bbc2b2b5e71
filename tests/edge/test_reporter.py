"""The agent without threads, in a world whose network loses, doubles, delays and reorders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.edge.protocol import Reply, Report
from streamgauge.edge.reporter import Reporter
from streamgauge.edge.spool import Spool
from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import SECOND
from tests.edge.world import AHEAD, World

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _spools_are_closed() -> Iterator[None]:
    yield
    World.close_all()


WIDTHS = (0.0, 0.5, 2.0, 6.0, 20.0, EVERY_READING, NOTHING)


def calm(directory: Path | None = None) -> World:
    """A world without trouble, whose agent knows the time."""
    world = World(0, directory, calm=True)
    world.pump()
    assert world.reporter.begun
    return world


def said(world: World) -> Report | None:
    """What the agent says now."""
    message = world.reporter.message()
    return None if message is None else Report.decode(message)


def boot(world: World) -> str:
    return world.reporter.spool.boot


def step(world: World, *, kills: bool, steps: int = 250) -> None:
    """A random life: readings, grants, waits, kills, steps of the wall clock."""
    dice = world.dice
    values = {f"object-{number}": 0.0 for number in range(6)}
    drift = {name: dice.normal() if number % 2 else 0.0 for number, name in enumerate(values)}
    for _ in range(steps):
        world.now += int(dice.uniform() * SECOND / 2)
        chance = dice.uniform()
        if chance < 0.8:
            for name in values:
                values[name] += drift[name] + dice.normal()
            chosen = {name: v for name, v in values.items() if dice.uniform() < 0.6}
            if chosen and dice.uniform() < 0.03:
                chosen[next(iter(chosen))] = math.nan
            world.feed(**chosen)
        known = world.desk.boots.get(boot(world))
        if known is not None and known.objects and dice.uniform() < 0.4:
            number = list(known.objects)[int(dice.uniform() * len(known.objects))]
            world.desk.grant(boot(world), number, WIDTHS[int(dice.uniform() * len(WIDTHS))])
        if kills and dice.uniform() < 0.02:
            world.killed()
        if dice.uniform() < 0.01:
            world.stepped += int(dice.normal() * 5 * SECOND)
        if dice.uniform() < 0.05:
            world.reporter.lost()
        world.pump()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), models=st.booleans())
def test_what_is_vouched_for_is_true_whatever_the_network_does(seed: int, models: bool) -> None:
    world = World(seed, models=models)
    step(world, kills=False)
    world.settle()
    assert world.check() > 0


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), models=st.booleans())
def test_what_is_vouched_for_is_true_over_kills(
    tmp_path_factory: pytest.TempPathFactory, seed: int, models: bool
) -> None:
    world = World(seed, tmp_path_factory.mktemp("agent"), models=models)
    first = boot(world)
    step(world, kills=True)
    world.settle()
    assert boot(world) == first, "a restart with a memory is the same boot"
    world.check()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_every_report_arrives_once_and_in_order(seed: int) -> None:
    world = World(seed)
    step(world, kills=False, steps=120)
    world.settle()
    told = world.desk.boots[boot(world)]
    assert told.seq == world.reporter.spool.newest
    assert len(told.updates) == world.reporter.counts.updates
    assert not told.held


def test_nothing_is_labelled_before_the_time_is_known() -> None:
    world = World(0, calm=True)
    world.feed(a=1.0, b=2.0)
    world.feed(a=3.0)
    hello = said(world)
    assert hello is not None
    assert (hello.beat, hello.seq, hello.through) == (True, 0, 0)
    world.reporter.lost()
    world.now += SECOND
    world.pump()
    report = said(world)
    assert report is not None
    assert report.objects == [(0, ("a",)), (1, ("b",))]
    assert [(u.number, u.value) for u in report.updates] == [(0, 1.0), (1, 2.0), (0, 3.0)]
    assert report.since == report.through
    # Held readings keep the times at which they were made, on the coordinator's clock.
    assert report.updates[0].at == 1_000 * SECOND + AHEAD


def test_updates_of_one_moment_are_one_report_and_beats_vouch_on() -> None:
    world = calm()
    world.feed(**{f"object-{number}": float(number) for number in range(50)})
    report = said(world)
    assert report is not None
    assert len(report.updates) == 50
    world.reporter.lost()
    world.pump()
    assert said(world) is None, "nothing is to be said before a beat is due"
    world.now += SECOND
    beat = said(world)
    assert beat is not None
    assert beat.beat
    assert beat.seq == report.seq
    assert beat.through == world.now + AHEAD


def test_values_inside_their_bound_are_silent_and_a_shrink_is_confirmed() -> None:
    world = calm()
    world.feed(a=10.0)
    world.settle()
    world.desk.grant(boot(world), 0, 4.0)
    world.now += SECOND
    world.settle()
    world.feed(a=11.5)
    world.settle()
    updates = world.desk.boots[boot(world)].updates
    assert [u.value for u in updates] == [10.0]
    world.desk.grant(boot(world), 0, 2.0)
    world.now += SECOND
    world.settle()
    assert [u.value for u in updates] == [10.0, 11.5], "11.5 is outside of the narrower bound"
    world.desk.grant(boot(world), 0, 1.0)
    world.now += SECOND
    world.settle()
    assert world.desk.boots[boot(world)].objects[0].confirmed[-1][1] == 3
    assert len(updates) == 2, "the current value is its centre: confirmed without an update"
    world.check()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_not_taken_for_silence(value: float) -> None:
    world = calm()
    world.feed(a=5.0)
    world.pump()
    world.feed(a=value)
    world.reporter.seal()
    report = said(world)
    assert report is not None
    assert [number for number, _ in report.left] == [0]


def test_keys_that_cannot_travel_are_refused_here() -> None:
    world = calm()
    world.reporter.feed([(("\ud800",), 1.0, None), (("x" * 501,), 1.0, None), (("",), 1.0, None)])
    assert (world.reporter.known, world.reporter.counts.refused) == (0, 3)


def test_an_object_that_is_read_as_nan_has_left_until_its_next_value() -> None:
    world = calm()
    world.feed(a=1.0)
    world.settle()
    world.now += SECOND
    world.feed(a=math.nan)
    world.feed(a=math.nan)
    world.settle()
    known = world.desk.boots[boot(world)].objects[0]
    assert known.left == [world.truth[("a",)][1][0]]
    world.now += SECOND
    world.feed(a=1.0)
    world.settle()
    assert [u.value for u in known.updates] == [1.0, 1.0]
    world.check()


def test_gone_and_back_within_an_instant_is_not_gone() -> None:
    world = calm()
    world.feed(a=1.0)
    world.settle()
    at = world.reporter.clock.label()
    world.feed(a=math.nan)
    world.feed(a=2.0)
    report = said(world)
    assert report is not None
    assert report.left == []
    assert [(u.at >= at, u.value) for u in report.updates] == [(True, 2.0)]


def test_infinities_and_keys_that_are_none_are_refused() -> None:
    world = calm()
    world.reporter.feed(
        [("a", math.inf, None), (b"\xff\xfe", 1.0, None), ("", 1.0, None), ("x" * 501, 1.0, None)]
    )
    assert world.reporter.counts.refused == 3
    report = said(world)
    assert report is not None
    assert report.updates == []


def test_a_key_is_one_object_however_it_is_written() -> None:
    world = calm()
    world.reporter.feed([("a/b", 1.0, None), (b"a/b", 2.0, None), (("a", "b"), 3.0, None)])
    assert world.reporter.known == 1


def test_keys_beyond_the_limit_are_refused_and_counted() -> None:
    world = calm()
    world.reporter._objects = 2
    world.feed(a=1.0, b=1.0, c=1.0, d=1.0)
    assert (world.reporter.known, world.reporter.counts.refused) == (2, 2)


def test_times_that_a_source_tells_stay_between_what_was_said_and_now() -> None:
    world = calm()
    world.feed(a=0.0)
    world.settle()
    through = world.desk.boots[boot(world)].through
    world.now += 10 * SECOND
    local = world.reporter.clock.local()
    world.reporter.feed([("a", 1.0, local - 3_600 * SECOND)])
    world.reporter.feed([("a", 2.0, local - 2 * SECOND)])
    world.reporter.feed([("a", 3.0, local + 3_600 * SECOND)])
    report = said(world)
    assert report is not None
    early, right, late = (update.at for update in report.updates)
    assert early == through + 1
    assert right == world.now + AHEAD - 2 * SECOND
    assert late == world.now + AHEAD


def test_after_a_restart_nothing_is_vouched_before_all_objects_were_read(tmp_path: Path) -> None:
    world = calm(tmp_path)
    world.feed(a=1.0, b=2.0)
    world.settle()
    vouched = world.desk.boots[boot(world)].through
    world.now += 3 * SECOND
    world.killed()
    world.pump()
    world.feed(a=5.0)
    world.now += 2 * SECOND
    world.settle()
    told = world.desk.boots[boot(world)]
    assert told.through == vouched, "b was not read yet"
    world.now += SECOND
    world.feed(b=2.0)
    world.settle()
    assert told.through > vouched
    assert told.vouched[-1][0] > vouched + 5 * SECOND, "the time between is not vouched for"
    assert [u.value for u in told.updates] == [1.0, 2.0, 5.0, 2.0], "first values are always sent"
    world.check()


def test_after_a_restart_an_object_that_is_not_read_has_left_in_the_end(tmp_path: Path) -> None:
    world = calm(tmp_path)
    world.feed(a=1.0, b=2.0)
    world.settle()
    world.killed()
    world.pump()
    world.feed(a=1.0)
    for _ in range(12):
        world.now += SECOND
        world.pump()
    world.settle()
    told = world.desk.boots[boot(world)]
    assert len(told.objects[1].left) == 1
    assert told.through > told.objects[1].left[0]
    world.check()


def test_a_restart_keeps_a_width_that_was_confirmed(tmp_path: Path) -> None:
    world = calm(tmp_path)
    world.feed(a=1.0)
    world.settle()
    for width in (8.0, 2.0):
        world.desk.grant(boot(world), 0, width)
        world.now += SECOND
        world.settle()
    world.desk.outgoing.clear()
    world.killed()
    world.pump()
    world.feed(a=1.0)
    world.now += SECOND
    world.feed(a=2.5)
    world.settle()
    assert [u.version for u in world.desk.boots[boot(world)].updates] == [0, 2, 2]
    world.check()


def test_while_the_source_cannot_be_read_nothing_is_vouched_for() -> None:
    world = calm()
    world.feed(a=1.0, b=2.0)
    world.settle()
    told = world.desk.boots[boot(world)]
    vouched = told.through
    world.now += SECOND
    world.reporter.look_away()
    world.now += SECOND
    world.settle()
    assert told.through == vouched
    world.reporter.look_again()
    world.now += SECOND
    world.feed(a=1.0)
    world.settle()
    assert told.through == vouched, "b was not read yet"
    world.feed(b=2.0)
    world.settle()
    assert told.vouched[-1][0] > vouched + 2 * SECOND
    assert len(told.updates) == 2, "values inside their bounds need not be sent again"
    world.check()


def test_a_full_spool_keeps_the_newest_values_and_leaves_a_gap() -> None:
    world = World(0, calm=True)
    world.born(limit=2_000)
    world.pump()
    world.feed(a=0.0)
    world.settle()
    vouched = world.desk.boots[boot(world)].through
    for value in range(1, 200):
        world.now += SECOND
        world.feed(a=float(value), b=float(-value))
        world.reporter.seal()
    assert world.reporter.spool.full
    assert world.reporter.counts.gaps == 1
    assert len(world.reporter._pending) == 2
    world.settle()
    told = world.desk.boots[boot(world)]
    assert told.objects[0].updates[-1].value == 199.0
    assert vouched < told.vouched[-1][0]
    assert told.vouched[-1][0] >= world.truth[("a",)][-1][0]
    world.check()


def test_a_coordinator_that_forgot_everything_is_told_everything(tmp_path: Path) -> None:
    world = calm(tmp_path)
    world.feed(a=1.0, b=2.0)
    world.settle()
    first = boot(world)
    world.desk.grant(first, 0, 50.0)
    world.now += SECOND
    world.settle()
    world.desk.boots.clear()
    world.desk.outgoing.clear()
    world.now += 2 * SECOND
    world.pump()
    assert boot(world) != first
    assert world.reporter.counts.births == 1
    world.feed(a=1.5, b=2.0)
    world.settle()
    told = world.desk.boots[boot(world)]
    assert [known.key for known in told.objects.values()] == [("a",), ("b",)]
    assert [u.value for u in told.updates] == [1.5, 2.0]
    world.check()


def test_an_old_reply_that_knew_less_changes_nothing() -> None:
    world = calm()
    world.feed(a=1.0)
    world.settle()
    first = boot(world)
    late = Reply(first, 0, 5, world.now + AHEAD, world.now + AHEAD, known=False)
    world.reporter.take(late.encode())
    assert boot(world) == first
    assert world.reporter.told


def test_a_reply_to_another_boot_is_no_reply() -> None:
    world = calm()
    world.feed(a=1.0)
    world.settle()
    other = Reply("another", 99, 5, 0, 0, [Grant(0, 9, NOTHING, 0)])
    world.reporter.take(other.encode())
    assert world.reporter.counts.grants == 0


def test_a_reply_that_cannot_be_read_is_an_error_in_three_parts() -> None:
    with pytest.raises(SourceFailure, match="cannot be read") as caught:
        calm().reporter.take(b"<html>")
    assert caught.value.hint


def test_grants_for_objects_that_are_not_here_are_passed_over() -> None:
    world = calm()
    now = world.now + AHEAD
    world.reporter.take(Reply(boot(world), 0, 1, now, now, [Grant(7, 1, 1.0, now)]).encode())
    assert world.reporter.counts.grants == 0


def test_regions_and_sampling_follow_the_newest_reply() -> None:
    world = calm()
    world.feed(a=1.0)
    world.settle()
    world.desk.regions = {0: [(10.0, math.inf)]}
    world.desk.sample = 5.0
    world.now += SECOND
    world.settle()
    assert world.reporter.sample == 5.0
    for value in (2.0, 3.0, 12.0):
        world.now += SECOND
        world.feed(a=value)
    world.settle()
    updates = world.desk.boots[boot(world)].updates
    assert [u.value for u in updates] == [1.0, 12.0]
    world.desk.regions, world.desk.sample = {}, None
    world.now += SECOND
    world.settle()
    world.feed(a=3.0)
    world.now += SECOND
    world.feed(a=4.0)
    world.settle()
    assert [u.value for u in updates] == [1.0, 12.0, 3.0, 4.0]
    assert world.reporter.sample is None


def test_many_objects_and_updates_are_cut_into_reports_of_bounded_size() -> None:
    world = calm()
    world.reporter.feed([((f"object-{number}",), 1.0, None) for number in range(12_345)])
    world.settle()
    told = world.desk.boots[boot(world)]
    assert len(told.objects) == len(told.updates) == 12_345
    assert told.through > 0
    world.check()


def test_a_report_is_sent_again_when_it_stays_without_acknowledgement() -> None:
    world = calm()
    world.feed(a=1.0)
    first = said(world)
    assert first is not None
    world.now += SECOND
    beat = said(world)
    assert beat is not None
    assert beat.beat
    world.now += 5 * SECOND
    again = said(world)
    assert again is not None
    assert (again.seq, again.updates) == (first.seq, first.updates)
    assert again.sent > first.sent


def test_names_with_quotes_do_not_confuse_the_stamp() -> None:
    world = World(0, calm=True)
    name = '"sent":0,'
    reporter = Reporter(name, world.reporter.clock, Spool(name))
    message = reporter.message()
    assert message is not None
    assert Report.decode(message).agent == name
    assert Report.decode(message).sent == world.reporter.clock.local()
