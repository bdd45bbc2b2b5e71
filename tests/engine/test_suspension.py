"""A query that fails stops nobody: it is suspended, and all others answer as if it were not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.cli.queries import ls
from streamgauge.engine import commit as commits
from streamgauge.engine import settling, shard, turns
from streamgauge.kernel.errors import BindError
from streamgauge.log.journal import Journal
from streamgauge.plan.technique import techniques
from streamgauge.repair.check import check_home
from tests.crashing import Killed, dying
from tests.engine import every_technique as every

pytestmark = pytest.mark.slow

NUMBERS = {name: number for number, name in enumerate(every.ASKED)}
# Endless loops are where no other query has a part in the operator.
KINDS = ("fails", "exits", "exhausts", "exceeds", "recurses")
ALONE = ("sketches across streams", "aggregates under a work budget")
CODES = {
    "fails": "ZeroDivisionError",
    "exits": "SystemExit",
    "exhausts": "MemoryError",
    "exceeds": "MemoryExceeded",
    "recurses": "RecursionError",
    "loops": "TimeoutError",
}
KIND_OF = {
    f"bad_{n}": "loops" if name in ALONE else KINDS[n % len(KINDS)] for name, n in NUMBERS.items()
}


@dataclass
class Acts:
    """Which queries fail, and how; nobody at first."""

    kinds: dict[str, str] = field(default_factory=dict)
    method: str = "advance"

    def __call__(self, name: str, method: str) -> Callable[[], None] | None:
        acts = name in self.kinds and method in self.method.split()
        return every.HOW[self.kinds[name]] if acts else None


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Acts]:
    """Operators that fail when told to."""
    found = Acts()
    every.poison(found, monkeypatch.setattr)
    yield found
    shard._RUNNING.clear()


def gauge_of(place: Path, **more: object) -> sg.Gauge:
    more.setdefault("shards", 2)
    return sg.connect(place / "home", engine="local", **more)  # type: ignore[arg-type]


def stepped(gauge: sg.Gauge) -> None:
    while gauge.step():
        pass


def brought(gauge: sg.Gauge, place: Path, *turns: int) -> None:
    for turn in turns:
        every.brought(place, turn)
        stepped(gauge)


def suspended(gauge: sg.Gauge) -> dict[str, str]:
    """Queries that are suspended, with the code of what they failed of."""
    found = gauge.registry().queries
    return {n: s.suspended.code for n, s in found.items() if s.suspended is not None}


def test_every_technique_is_asked(tmp_path: Path) -> None:
    gauge = gauge_of(tmp_path)
    every.declared(gauge, tmp_path)
    asked = {s.technique for s in gauge.trial().registry.queries.values()}
    assert asked == {technique.name for technique in techniques()} == set(every.ASKED)


@pytest.fixture(scope="module")
def untroubled(tmp_path_factory: pytest.TempPathFactory) -> sg.Gauge:
    """The home in which nothing fails."""
    place = tmp_path_factory.mktemp("untroubled")
    gauge = gauge_of(place)
    every.declared(gauge, place)
    brought(gauge, place, 0, 1, 2)
    return gauge


@pytest.mark.budget(60, "compiles each kind of operator, and loops until the limit")
@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.parametrize("method", ["advance", "compile seat"])
def test_one_of_each_technique_fails_and_all_others_answer(
    tmp_path: Path, acts: Acts, untroubled: sg.Gauge, method: str, *, exchange: bool
) -> None:
    """Operators fail while they take rows, or when a change of the registry is compiled."""
    gauge = gauge_of(tmp_path, exchange=exchange, query_timeout=2)
    every.declared(gauge, tmp_path)
    brought(gauge, tmp_path, 0)
    acts.kinds, acts.method = KIND_OF, method
    # A change, for which all is compiled again.
    gauge.pause("good_0")
    gauge.resume("good_0")
    brought(gauge, tmp_path, 1)
    assert every.told(gauge, "good") != every.told(untroubled, "good")
    shard.forget(gauge.home)
    brought(gauge, tmp_path, 2)
    assert every.told(gauge, "good") == every.told(untroubled, "good")
    assert suspended(gauge) == {name: CODES[kind] for name, kind in KIND_OF.items()}


def ask(gauge: sg.Gauge, place: Path, *techniques: str) -> None:
    """Declare the streams, and two queries of some techniques."""
    for technique in techniques:
        every.declared(gauge, place, technique)


SHARED = "windows of time"
BAD, GOOD = f"bad_{NUMBERS[SHARED]}", f"good_{NUMBERS[SHARED]}"


def failed_in_the_second(place: Path, acts: Acts, kind: str = "fails", **more: object) -> sg.Gauge:
    """A home whose second epoch suspends one of two queries that share an operator."""
    gauge = gauge_of(place, **more)
    ask(gauge, place, SHARED)
    brought(gauge, place, 0)
    acts.kinds = {BAD: kind}
    brought(gauge, place, 1)
    return gauge


def test_it_is_said_wherever_a_query_is_shown(tmp_path: Path, acts: Acts) -> None:
    gauge = failed_in_the_second(tmp_path, acts)
    why = "suspended since epoch 2: ZeroDivisionError: division by zero"
    assert why in gauge.note(BAD)
    assert f"RESUME QUERY {BAD}" in gauge.note(BAD)
    assert why in gauge.explain(BAD)
    assert gauge.registry().query(BAD).status == "suspended"
    assert gauge.note(GOOD) == ""
    newest = gauge.answers(GOOD).to_pylist()[-1]
    assert newest["epoch"] == 2
    assert not any(answer.contract_met for answer in gauge.latest(BAD))
    shown = gauge.sql("SHOW QUERIES")
    assert dict(zip(*shown.select(["name", "status"]).to_pydict().values(), strict=True)) == {
        BAD: "suspended",
        GOOD: "running",
    }
    listed = CliRunner().invoke(ls, ["--home", gauge.home.path, "--json"])
    assert why in listed.output
    state = json.loads(gauge.home.commit(2).read_text())["suspended"]
    assert [record["code"] for record in state] == ["ZeroDivisionError"]


def test_the_journal_says_it_and_a_restart_does_not_try_again(tmp_path: Path, acts: Acts) -> None:
    gauge = failed_in_the_second(tmp_path, acts)
    acts.kinds = {}
    gauge.stop()
    again = gauge_of(tmp_path)
    brought(again, tmp_path, 2)
    assert list(suspended(again)) == [BAD]
    does = [change["do"] for change in Journal(gauge.home).page(3).changes]
    assert does == ["suspend"]
    assert max(row["epoch"] for row in again.answers(GOOD).to_pylist()) >= 3
    assert max(row["epoch"] for row in again.answers(BAD).to_pylist()) == 1


def test_a_query_that_is_suspended_can_be_dropped_and_altered(tmp_path: Path, acts: Acts) -> None:
    gauge = failed_in_the_second(tmp_path, acts)
    with pytest.raises(BindError, match="is suspended"):
        gauge.pause(BAD)
    gauge.drop(BAD)
    stepped(gauge)
    assert set(gauge.registry().queries) == {GOOD}
    acts.kinds = {GOOD: "exits"}
    brought(gauge, tmp_path, 2)
    assert suspended(gauge) == {GOOD: "SystemExit"}
    acts.kinds = {}
    gauge.sql(f"ALTER QUERY {GOOD} AS SELECT COUNT(*) FROM web [RANGE 2 SECONDS] EVERY 1 SECOND")
    brought(gauge, tmp_path, 3)
    assert gauge.registry().query(GOOD).status == "running"
    assert gauge.answers(GOOD).to_pylist()[-1]["version"] == 2


def test_a_query_resumed_too_early_is_suspended_again(tmp_path: Path, acts: Acts) -> None:
    gauge = failed_in_the_second(tmp_path, acts)
    gauge.resume(BAD)
    brought(gauge, tmp_path, 2)
    found = gauge.registry().query(BAD).suspended
    assert found is not None
    assert found.since == 4
    assert max(row["epoch"] for row in gauge.answers(GOOD).to_pylist()) == 4


def test_the_answer_before_it_failed_is_marked(tmp_path: Path, acts: Acts) -> None:
    """Where the operator is its own, its last answers are there, and hold no longer."""
    gauge = gauge_of(tmp_path)
    every.declared(gauge, tmp_path, SHARED)
    gauge.drop(GOOD)
    brought(gauge, tmp_path, 0, 1, 2)
    before = gauge.latest(BAD)
    acts.kinds = {BAD: "fails"}
    brought(gauge, tmp_path, 3)
    assert [a.value for a in gauge.latest(BAD)] == [a.value for a in before]
    assert any(answer.contract_met for answer in before)
    assert not any(answer.contract_met for answer in gauge.latest(BAD))


def test_queries_that_share_a_loop_are_all_suspended(tmp_path: Path, acts: Acts) -> None:
    """Whose loop it is could be found by waiting for the limit again and again only."""
    gauge = failed_in_the_second(tmp_path, acts, "loops", query_timeout=2)
    assert suspended(gauge) == {BAD: "TimeoutError", GOOD: "TimeoutError"}
    assert "(2 queries share the operator)" in gauge.note(GOOD)


def test_one_of_many_is_found(tmp_path: Path, acts: Acts) -> None:
    """Each is tried with all before it, so few attempts find those that fail by themselves."""
    gauge = gauge_of(tmp_path)
    every.declared(gauge, tmp_path, "selections")
    for number in range(40):
        gauge.sql(f"SELECT item, price FROM web WHERE price > {number}", name=f"q{number}")
    brought(gauge, tmp_path, 0)
    acts.kinds = {"q7": "fails", "q31": "exits"}
    tried = []
    real, run = shard.run, tried.append

    def counted(*args: object, **options: object) -> shard.Receipt:
        run(args)
        return real(*args, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard, "run", counted)
        brought(gauge, tmp_path, 1)
    assert set(suspended(gauge)) == {"q7", "q31"}
    assert len(tried) < 2 * 24


@pytest.mark.kills
@pytest.mark.parametrize("step", ["note_failures", "put_json", "forget_attempts"])
def test_a_process_that_dies_on_the_way_changes_nothing(
    tmp_path: Path, acts: Acts, step: str
) -> None:
    """What was found out is kept, whenever the process dies; a next one goes by it."""
    straight = failed_in_the_second(tmp_path / "straight", acts)
    brought(straight, tmp_path / "straight", 2)
    place = tmp_path / "killed"
    gauge = gauge_of(place)
    acts.kinds = {}
    ask(gauge, place, SHARED)
    brought(gauge, place, 0)
    acts.kinds = {BAD: "fails"}
    every.brought(place, 1)
    module = settling if step == "note_failures" else commits
    for after in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, step, dying(getattr(module, step), 1, after=after))
            with pytest.raises(Killed):
                gauge.step()
        shard.forget(gauge.home)
        if gauge.home.committed() == 2:
            break
    gauge = gauge_of(place)
    brought(gauge, place, 2)
    assert every.told(gauge, "") == every.told(straight, "")
    assert suspended(gauge) == {BAD: "ZeroDivisionError"}
    left = [path.name for path in (gauge.home.root / "attempts").iterdir()]
    assert left == ["suspending.json"]


def test_a_process_that_dies_of_a_query_names_it(tmp_path: Path) -> None:
    """Each attempt ends the process, as the system does to one that takes too much memory."""
    gauge = gauge_of(tmp_path, shards=1)
    ask(gauge, tmp_path, SHARED)
    brought(gauge, tmp_path, 0)
    every.brought(tmp_path, 1)
    for _ in range(turns.DEATHS):
        child = os.fork()
        if child == 0:
            every.poison(lambda name, method: every.dies if method == "advance" else None)
            gauge_of(tmp_path, shards=1).step()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    stepped(gauge_of(tmp_path, shards=1))
    assert set(suspended(gauge).values()) == {"ProcessDied"}
    assert "3 processes ended while it was at work" in gauge.note(BAD)


@pytest.mark.parametrize("damaged", ["answers", "commits", "state"])
def test_a_repair_leaves_out_what_was_suspended(tmp_path: Path, acts: Acts, damaged: str) -> None:
    """A replay goes by what the commit says, or the page after it; it tries nothing again."""
    gauge = failed_in_the_second(tmp_path, acts)
    brought(gauge, tmp_path, 2)
    acts.kinds = {}
    before = every.told(gauge, "")
    home, commit = gauge.home, gauge.home.commit(2).read_bytes()
    if damaged == "commits":
        gauge.home.commit(2).unlink()
    else:
        number = "000000000002" if damaged == "answers" else f"{home.committed():012d}"
        for path in (home.root / damaged / number).iterdir():
            path.write_bytes(b"nothing")
    shard.forget(home)
    assert check_home(home.path, repair=True).sound
    assert every.told(gauge, "") == before
    told = json.loads(gauge.home.commit(2).read_text())["suspended"]
    assert told == json.loads(commit)["suspended"]
    assert suspended(gauge) == {BAD: "ZeroDivisionError"}


@pytest.mark.budget(60, "brings each kind of operator over what it missed")
@pytest.mark.parametrize("reload", [False, True])
def test_what_is_resumed_goes_on_from_its_state_and_gives_what_it_missed(
    tmp_path: Path, acts: Acts, *, reload: bool
) -> None:
    """All answers are those of a home in which nothing failed."""
    straight = gauge_of(tmp_path / "straight")
    every.declared(straight, tmp_path / "straight")
    brought(straight, tmp_path / "straight", 0, 1, 2, 3)
    place = tmp_path / "failing"
    gauge = gauge_of(place)
    every.declared(gauge, place)
    brought(gauge, place, 0)
    acts.kinds = dict.fromkeys(every.names_of(gauge), "fails")
    for turn in (1, 2):
        brought(gauge, place, turn)
        if reload:
            shard.forget(gauge.home)
    assert set(suspended(gauge)) == every.names_of(gauge)
    acts.kinds = {}
    gauge.resume(*every.names_of(gauge))
    brought(gauge, place, 3)
    assert suspended(gauge) == {}
    found, expected = every.told(gauge, ""), every.told(straight, "")
    assert found == expected


def test_a_query_that_came_meanwhile_begins_from_kept_rows(tmp_path: Path, acts: Acts) -> None:
    """It shares its operator with one that is resumed, whose state knows nothing of it."""
    found = []
    for name in ("straight", "failing"):
        place = tmp_path / name
        gauge = gauge_of(place)
        ask(gauge, place, SHARED)
        gauge.drop(GOOD)
        brought(gauge, place, 0)
        acts.kinds = {BAD: "fails"} if name == "failing" else {}
        brought(gauge, place, 1)
        acts.kinds = {}
        if name == "failing":
            assert set(suspended(gauge)) == {BAD}
            gauge.resume(BAD)
        gauge.sql(every.ASKED[SHARED].replace("{n}", "2"), name="late")
        brought(gauge, place, 2)
        found.append((every.told(gauge, "late"), suspended(gauge)))
    assert found[0] == found[1]
    assert found[0][0]


def halved(values: np.ndarray) -> np.ndarray:
    """A function of a user that fails of some values."""
    if (values > 30).any():
        raise ValueError("too large to be halved")
    return values / 2


def test_a_function_of_a_user_fails_for_those_that_call_it(tmp_path: Path) -> None:
    """Columns are computed for all queries of a stream; who asks for a failing one is suspended."""
    gauge = gauge_of(tmp_path)
    (tmp_path / "web").mkdir()
    gauge.sql(every.STREAMS.split(";")[0].replace("{place}", str(tmp_path)))
    gauge.function("halved", halved)
    gauge.sql("CREATE QUERY calls AS SELECT SUM(halved(price)) FROM web [RANGE 2 SECONDS]")
    gauge.sql("CREATE QUERY plain AS SELECT SUM(price) FROM web [RANGE 2 SECONDS]")
    gauge.sql("CREATE QUERY picks AS SELECT item FROM web WHERE halved(price) > 1")
    (tmp_path / "shop").mkdir()
    (tmp_path / "plant").mkdir()
    brought(gauge, tmp_path, 0)
    assert set(suspended(gauge)) == {"calls", "picks"}
    assert "too large to be halved" in gauge.note("calls")
    assert gauge.answers("plain").num_rows > 3


@pytest.mark.budget(60, "compiles each kind of operator on other shards")
def test_a_rescale_while_queries_are_suspended_changes_no_other_answer(
    tmp_path: Path, acts: Acts, untroubled: sg.Gauge
) -> None:
    """Their saved state stays with the shards there were; resumed, they begin from kept rows."""
    gauge = gauge_of(tmp_path, query_timeout=2)
    every.declared(gauge, tmp_path)
    acts.kinds = dict.fromkeys(KIND_OF, "fails")
    brought(gauge, tmp_path, 0)
    assert set(suspended(gauge)) == set(acts.kinds)
    gauge.rescale(3)
    brought(gauge, tmp_path, 1)
    acts.kinds = {}
    for name in sorted(suspended(gauge)):
        gauge.resume(name)
    brought(gauge, tmp_path, 2)
    assert every.told(gauge, "good") == every.told(untroubled, "good")
    assert suspended(gauge) == {}


PROFILED = """
import sys
from streamgauge.engine import turns

def one() -> int:
    return 1

class Clockless(turns.Turns):
    def _watch(self) -> None: ...

from streamgauge.log.home import Home
with Clockless(Home.open(sys.argv[1], shards=1), 0, 1, "a", since=1) as attempt:
    with turns.turn("slow", lambda: []):
        attempt._look(float("inf"))
print([failure.code for failure in attempt.failures])
sys.setprofile(lambda *what: None)
one()
sys.setprofile(None)
"""


def test_a_timeout_leaves_nothing_in_the_interpreter(tmp_path: Path) -> None:
    """An error that is left pending makes every call slower, and profiled ones endless."""
    ran = subprocess.run(
        [sys.executable, "-c", PROFILED, str(tmp_path / "home")],
        timeout=60, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "['TimeoutError']\n"), ran.stderr
