"""Whatever the network and the disk do: bounds hold the truth or say that they do not know."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.time import SECOND
from tests.coordinator.world import WIDTHS, Source, World, walk
from tests.profile import examples

pytestmark = pytest.mark.slow

NAMES = ("north", "south")
KILLS = ("between", "closing", "twice", "torn", "zeros")

events = st.one_of(
    st.tuples(st.just("read"), st.sampled_from(NAMES)),
    st.tuples(st.just("read"), st.sampled_from(NAMES)),
    st.tuples(st.just("send"), st.sampled_from(NAMES)),
    st.tuples(st.just("send"), st.sampled_from(NAMES)),
    st.tuples(st.just("send later"), st.sampled_from(NAMES)),
    st.tuples(st.just("beat"), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(["down", "outage", "loss"]), st.sampled_from(NAMES)),
    st.tuples(st.just("time"), st.integers(1, 1_500_000)),
    st.tuples(st.just("up"), st.integers(0, 9)),
    st.tuples(st.just("up"), st.integers(0, 9)),
    st.tuples(st.just("down"), st.integers(0, 9)),
    st.tuples(st.just("up again"), st.integers(0, 9)),
    st.tuples(st.just("down again"), st.integers(0, 9)),
    st.tuples(st.just("lose up"), st.integers(0, 9)),
    st.tuples(st.just("lose down"), st.integers(0, 9)),
    st.tuples(st.just("exchange"), st.sampled_from(NAMES)),
    st.tuples(st.just("exchange"), st.sampled_from(NAMES)),
    st.tuples(st.just("crash"), st.sampled_from(KILLS)),
    st.tuples(st.just("restart"), st.sampled_from(NAMES)),
    st.tuples(st.just("new boot"), st.sampled_from(NAMES)),
    st.tuples(st.just("grant"), st.integers(0, 3)),
    st.tuples(st.just("part"), st.just(0)),
    st.tuples(st.just("jump"), st.integers(-4, 4)),
)


class Run:
    """Events as they come, on a world of two agents with two objects each."""

    def __init__(self, directory: Path, skews: tuple[int, int]) -> None:
        sources = [
            Source(name, (f"{name}/a", f"{name}/b"), skew)
            for name, skew in zip(NAMES, skews, strict=True)
        ]
        self.world = World(directory, sources, WIDTHS)
        self.steps = 0
        self.jump = 0.0

    def read(self, name: str, n_keys: int = 2) -> None:
        self.steps += 1
        keys = self.world.sources[name].keys[:n_keys]
        values = {key: walk(self.steps, place) + self.jump for place, key in enumerate(keys)}
        self.world.sources[name].read(self.world.now, values)

    def do(self, what: str, which: int | str) -> None:
        world = self.world
        if isinstance(which, str):
            source = world.sources.get(which)
            if what == "read":
                self.read(which)
            elif what == "send":
                world.send(which)
            elif what == "send later":
                world.send(which, 1)
            elif what == "beat":
                world.send(which, 9)
            elif what == "exchange":
                world.exchange(which)
            elif what == "crash":
                world.crash(which)
            elif what == "restart":
                source.resume(world.now)
                self.read(which)
            elif what == "new boot":
                source.begin(world.now)
                self.read(which, 1)
            elif what == "down":
                source.down = True
            elif what in ("outage", "loss"):
                self.outage(which, lost=what == "loss")
            return
        if what == "time":
            world.pass_time(which)
        elif what.startswith("up"):
            world.deliver_up(which, again=what.endswith("again"))
        elif what.startswith("down"):
            world.deliver_down(which, again=what.endswith("again"))
        elif what == "lose up" and world.up:
            world.up.pop(which % len(world.up))
        elif what == "lose down" and world.down:
            world.down.pop(which % len(world.down))
        elif what == "grant" and which < len(world.intake.cache.bounds):
            world.intake.grant(world.some_grant(which))
        elif what == "part":
            world.intake.rotate()
        elif what == "jump":
            self.jump += which

    def outage(self, name: str, lost: bool) -> None:
        """An agent dies, its objects move unseen over a tick, and it comes back soon."""
        source = self.world.sources[name]
        self.world.exchange(name)
        source.down = True
        self.jump += 5.0
        self.read(name)
        self.world.pass_time(SECOND)
        if lost:
            self.world.pass_time(3 * SECOND)
            source.begin(self.world.now)
        else:
            source.resume(self.world.now)
        for _ in range(2):
            self.read(name, 1 if lost else 2)
            self.world.exchange(name)
            self.world.pass_time(SECOND)

    def close(self) -> None:
        self.world.close()

    def settle(self, seconds: int) -> None:
        """Let the network work for a while."""
        for _ in range(seconds):
            for name in NAMES:
                source = self.world.sources[name]
                if source.down:
                    source.resume(self.world.now)
                self.read(name)
                for _ in range(4 + len(source.unacked)):
                    self.world.exchange(name)
            self.world.pass_time(SECOND)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(events, max_size=120),
    st.tuples(st.integers(-300_000, 300_000), st.integers(-300_000, 300_000)),
)
def test_bounds_hold_the_truth_whatever_happens(
    happened: list[tuple[str, int | str]], skews: tuple[int, int]
) -> None:
    with tempfile.TemporaryDirectory() as directory, closing(Run(Path(directory), skews)) as run:
        for what, which in happened:
            run.do(what, which)
        run.world.note()
        run.world.check()
        run.settle(12)
        sure, _ = run.world.check()
        assert sure > 0
        _agree(run.world)


def _agree(world: World) -> None:
    """When all is told, the cache has the bounds of the sources, or wider ones."""
    for source in world.sources.values():
        assert not source.unacked
        for key, number in source.numbers.items():
            place = world.intake.cache.places[(key,)]
            bound = world.intake.cache.bounds[place]
            _, width, version = source.filter.bound(number, source.label)
            assert version <= bound.newest
            assert bound.width(source.label) >= width
            assert source.name not in world.intake.cache.unheard


@pytest.mark.parametrize("how", KILLS)
def test_a_coordinator_that_is_killed_at_every_step_lands_everything_once(
    how: str, tmp_path: Path
) -> None:
    with closing(Run(tmp_path, (0, 0))) as run:
        for step in range(30):
            for name in NAMES:
                run.read(name)
                run.world.exchange(name)
                if step % 3 == 1:
                    run.world.crash(how)
            run.world.pass_time(SECOND // 2)
            run.world.crash(how)
        run.settle(10)
        sure, _ = run.world.check()
        assert sure > 0
        _agree(run.world)


def test_a_steady_world_is_sure_of_everything(tmp_path: Path) -> None:
    with closing(Run(tmp_path, (50_000, -50_000))) as run:
        run.settle(40)
        sure, unsure = run.world.check()
        assert (sure > 100, unsure) == (True, 0)
        assert all(agent.tally.late == 0 for agent in run.world.intake.agents.values())
