"""Whatever is damaged in a data directory, users meet errors in three parts, and answers come back.

A data directory with a file of every kind is damaged one file at a time: cut, flipped, replaced,
removed. Then it is read, checked, repaired and run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.repair.check import check_home
from tests.repair.world import DAMAGES, Damage, World, absent, empty, flipped, flipped_early

pytestmark = pytest.mark.slow
# What a repair computes again or writes again, byte for byte.
DERIVED = ("answers/", "state/", "commits/", "registry/", "gauge.json")
# Files whose absence is no damage: what they say follows from elsewhere, or was never said.
MAY_BE_ABSENT = re.compile(
    r"control/|registry/|feeds/|tables/.*json|edge/|pushed/|mqtt/|token|alerts/|audit/|sinks/out|"
    r"control-topics/|dead/|compacted/.*parquet"
)
# Files that say the same, or nothing, whatever is in them.
SAYS_NOTHING = re.compile(r"acknowledged.jsonl|pushed/pushed/.*spool|tables/sites.json|token")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("damage")).make()


@pytest.fixture(scope="module")
def expected(world: World) -> list[str]:
    """What an undamaged run answers."""
    found = world.run()
    world.restore()
    return found


def kinds(world: World) -> dict[str, list[str]]:
    """Files by what they are; the last of a kind is the newest."""
    found: dict[str, list[str]] = {}
    for name in world.files():
        plain = re.sub(r"\.[0-9a-f]+-[0-9a-f]+(?=\.)", "", name)
        found.setdefault(re.sub(r"[0-9a-f]{6,}|\d", "", plain), []).append(name)
    return found


def sample(world: World) -> Iterator[tuple[str, Damage]]:
    """One damage for each kind of file, another one each time."""
    for number, names in enumerate(kinds(world).values()):
        yield names[number % len(names)], DAMAGES[number % len(DAMAGES)]


def inflict(world: World, name: str, damage: Damage) -> bool:
    """Damage one file; whether it is another one now."""
    path = world.home / name
    before = path.read_bytes()
    after = damage(before)
    if after is None:
        path.unlink()
    else:
        path.write_bytes(after)
    return after != before


def call(read: Callable[[], object]) -> None:
    """Read something; any error but one in three parts fails the test."""
    found = None
    try:
        read()
    except StreamgaugeError as error:
        found = error
    assert found is None or (found.what and found.detail and found.hint), found


def may_be_absent(world: World, name: str) -> bool:
    """Whether a file that is gone looks like one that was not written yet, or not any more."""
    folder, commits = name.partition("/")[0], sorted((world.pristine / "commits").iterdir())
    if folder == "commits":
        return name.endswith((commits[0].name, commits[-1].name))
    if folder == "state":
        return commits[-1].stem not in name
    return MAY_BE_ABSENT.search(name) is not None


@contextmanager
def told(world: World, name: str, damage: Damage) -> Iterator[None]:
    """Say which damage it was where a test fails, and make the directory what it was."""
    done = False
    try:
        yield
        done = True
    finally:
        world.restore()
        if not done:
            sys.stderr.write(f"{name} was {damage.__name__}\n")


def suffer(world: World, name: str, damage: Damage) -> None:
    """Damage a file, and hold the directory to its promises."""
    if not inflict(world, name, damage):
        return
    for read in world.reads():
        call(read)
    world.forget()
    world.restore()
    inflict(world, name, damage)
    found = check_home(world.home)
    hidden = SAYS_NOTHING.search(name) or (damage is absent and may_be_absent(world, name))
    hidden = hidden or (damage is empty and name.endswith(".spool"))
    # A footer of Parquet has no checksum, and what it says besides rows is not read.
    hidden = hidden or (damage in (flipped, flipped_early) and name.endswith(".parquet"))
    assert found.findings or hidden, "damage is found"
    repaired = check_home(world.home, repair=True)
    again = check_home(world.home)
    left = {finding.path for finding in repaired.left}
    assert {finding.path for finding in again.left} == left, "a repair is whole"
    if name.startswith(DERIVED):
        assert repaired.sound, repaired.left


def test_a_directory_that_nothing_happened_to_is_sound(world: World, expected: list[str]) -> None:
    assert check_home(world.home).findings == ()
    assert check_home(world.home, repair=True).findings == ()
    assert len(expected) > 50


def test_damage_of_every_kind_of_file_is_told_and_repaired(world: World) -> None:
    for name, damage in sample(world):
        with told(world, name, damage):
            suffer(world, name, damage)


@pytest.mark.nightly
@pytest.mark.budget(1800, "damages every file in every way")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_damage_of_every_file(world: World, expected: list[str], damage: Damage) -> None:
    for name in world.files():
        with told(world, name, damage):
            suffer(world, name, damage)
            if name.startswith(DERIVED):
                assert world.run() == expected
