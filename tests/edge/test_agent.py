"""The agent with its threads, against a coordinator in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from streamgauge.checks.waiting import wait_until
from streamgauge.edge.agent import Agent
from streamgauge.edge.link import LinkDown, LinkRefused
from streamgauge.edge.readings import Iterated, Reading
from streamgauge.edge.spool import SpoolFailure
from streamgauge.kernel.errors import BindError
from tests.edge.doors import SafeDesk

pytestmark = pytest.mark.slow


class MemoryLink:
    """A link to a coordinator in this process; `fails` says what goes wrong instead."""

    def __init__(self, desk: SafeDesk) -> None:
        self.desk = desk
        self.fails: Callable[[], Exception | None] = lambda: None
        self.closed = 0
        self.unasked: list[bytes] = []
        self.threads: set[str] = set()

    def exchange(self, report: bytes, timeout: float) -> bytes:
        self.threads.add(threading.current_thread().name)
        error = self.fails()
        if error is not None:
            raise error
        return self.desk.take(report)

    def pushed(self) -> list[bytes]:
        found, self.unasked = self.unasked, []
        return found

    def close(self) -> None:
        self.closed += 1


def down() -> LinkDown:
    return LinkDown("not reached", "nobody there", "wait", 0.01)


@pytest.fixture
def link() -> MemoryLink:
    return MemoryLink(SafeDesk())


def test_what_is_fed_arrives_and_stopping_tells_the_rest(link: MemoryLink) -> None:
    agent = Agent(link, "hosts", "pump", beat="100 ms")
    with agent:
        agent.feed(("pump", "flow"), 1.0)
        agent.feed("pump/flow", 2, at="2026-01-01T00:00:00Z")
        assert agent.contact(60.0)
        wait_until(lambda: link.desk.values() == [1.0, 2.0], 60, what="both values")
        agent.feed("pump/flow", 3.0)
    assert agent.stop(), "a second stop does nothing"
    assert link.desk.values() == [1.0, 2.0, 3.0]
    assert link.closed == 1
    assert link.threads == {"edge-link"}, "who reads never talks"
    status = agent.status()
    assert (status["objects"], status["readings"], status["unacknowledged"]) == (1, 3, 0)


def test_a_source_is_read_to_its_end(link: MemoryLink) -> None:
    agent = Agent(link, "hosts", "pump")
    agent.run(Iterated([(f"object-{n % 7}", float(n)) for n in range(5_000)]))
    assert agent.stop(60.0)
    told = {u.number: u.value for u in next(iter(link.desk.boots.values())).updates}
    assert sorted(told.values()) == [4_993.0 + n for n in range(7)]


def test_reading_goes_on_while_the_coordinator_is_away(link: MemoryLink) -> None:
    events: list[str] = []
    agent = Agent(link, "hosts", "pump", log=lambda event, facts: events.append(event))
    agent.start()
    assert agent.contact(60.0)
    away = threading.Event()
    away.set()
    link.fails = lambda: down() if away.is_set() else None
    agent.feed("flow", 1.0)
    wait_until(lambda: agent.trouble, 60, what="trouble")
    for value in range(2, 200):
        agent.feed("flow", float(value))
    assert link.desk.values() == []
    away.clear()
    wait_until(lambda: agent.reporter.told, 60, what="everything to be told")
    assert link.desk.values() == [float(value) for value in range(1, 200)]
    assert agent.trouble is None
    assert agent.stop(60.0)
    assert events == ["start", "reached", "unreachable", "reached", "stop"]


def test_a_refusal_at_first_contact_ends_it(link: MemoryLink) -> None:
    link.fails = lambda: LinkRefused("no such stream", "404", "declare it")
    agent = Agent(link, "hosts", "pump")
    with pytest.raises(LinkRefused, match="no such stream"):
        agent.run(Iterated(iter(lambda: ("flow", 1.0), None), most=10))
    assert not agent.stop(60.0)
    with pytest.raises(LinkRefused):
        agent.check()
    with pytest.raises(LinkRefused):
        agent.feed("flow", 1.0)


def test_a_refusal_later_is_waited_out(link: MemoryLink) -> None:
    agent = Agent(link, "hosts", "pump")
    agent.start()
    assert agent.contact(60.0)
    times = iter(range(3))
    link.fails = lambda: (
        LinkRefused("not yours", "403", "ask") if next(times, None) is not None else None
    )
    agent.feed("flow", 1.0)
    wait_until(lambda: link.desk.values() == [1.0], 60, what="the value")
    assert agent.stop(60.0)


def test_a_stop_does_not_wait_longer_than_its_grace(link: MemoryLink, tmp_path: Path) -> None:
    agent = Agent(link, "hosts", "pump", state=tmp_path)
    agent.start()
    assert agent.contact(60.0)
    link.fails = down
    agent.feed("flow", 1.0)
    assert not agent.stop(0.3)
    link.fails = lambda: None
    again = Agent(link, "hosts", "pump", state=tmp_path)
    again.start()
    wait_until(lambda: link.desk.values() == [1.0], 60, what="what waited in the directory")
    again.stop(60.0)


def test_a_memory_that_cannot_be_written_ends_it(link: MemoryLink, tmp_path: Path) -> None:
    agent = Agent(link, "hosts", "pump", state=tmp_path)
    agent.start()
    assert agent.contact(60.0)
    spool = agent.reporter.spool

    def no_space(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    spool._sync = no_space
    agent.feed("flow", 1.0)
    wait_until(lambda: agent.trouble, 60, what="the failure")
    with pytest.raises(SpoolFailure, match="cannot keep its reports"):
        agent.check()
    spool._sync = lambda _handle: None
    assert not agent.stop(5.0)


class Polled:
    """A source that is polled, and notes the periods it was asked for."""

    ends = False
    blind = False
    outages = 0
    bad = 0

    def __init__(self) -> None:
        self.period: float | None = 1.0
        self.periods: set[float | None] = set()

    def read(self, wait: float) -> list[Reading] | None:
        self.periods.add(self.period)
        threading.Event().wait(0.01)
        return [("level", 1.0, None)]

    def close(self) -> None:
        pass


def test_the_coordinator_sets_the_period_of_a_polled_source(link: MemoryLink) -> None:
    link.desk.sample = 7.5
    agent = Agent(link, "hosts", "pump", beat="20 ms")
    polled = Polled()
    reader = threading.Thread(target=agent.run, args=(polled,))
    reader.start()
    wait_until(lambda: 7.5 in polled.periods, 60, what="the asked period")
    link.desk.sample = None
    wait_until(lambda: polled.period == 1.0, 60, what="its own period again")
    agent.halt()
    reader.join()
    agent.stop(60.0)


def test_a_source_that_goes_blind_is_vouched_for_again_when_it_was_read(link: MemoryLink) -> None:
    class Flickering(Polled):
        def read(self, wait: float) -> list[Reading] | None:
            found = super().read(wait)
            return [] if self.blind else found

    events: list[str] = []
    agent = Agent(link, "hosts", "pump", beat="20 ms", log=lambda name, facts: events.append(name))
    source = Flickering()
    reader = threading.Thread(target=agent.run, args=(source,))
    reader.start()

    def vouched() -> list[int]:
        return [boot.through for boot in link.desk.boots.values() if boot.through]

    wait_until(vouched, 60, what="something vouched for")
    source.blind = True
    wait_until(lambda: "blind" in events, 60, what="the agent to notice")
    source.blind = False

    def gap() -> bool:
        # What was read before the source went blind may still be under way.
        told = next(iter(link.desk.boots.values())).vouched
        return any(low > high for (_, high), (low, _) in pairwise(told))

    wait_until(gap, 60, what="more to be vouched for, with a gap between")
    agent.halt()
    reader.join()
    agent.stop(60.0)


def test_once_ends_with_a_source_that_never_does(link: MemoryLink) -> None:
    class OneShot(Polled):
        def read(self, wait: float) -> list[Reading] | None:
            batch: list[Reading] = [] if self.periods else [("level", 4.0, None)]
            self.periods.add(self.period)
            return batch

    agent = Agent(link, "hosts", "pump")
    assert agent.contact(60.0)
    agent.run(OneShot(), once=True)
    assert agent.stop(60.0)
    assert link.desk.values() == [4.0]


def test_unasked_replies_are_taken_and_nonsense_among_them_is_logged(link: MemoryLink) -> None:
    events: list[tuple[str, Any]] = []
    agent = Agent(link, "hosts", "pump", beat="20 ms", log=lambda *event: events.append(event))
    agent.start()
    assert agent.contact(60.0)
    link.unasked = [b"nonsense"]
    wait_until(lambda: "unreadable" in [name for name, _ in events], 60, what="the log")
    assert agent.stop(60.0)


def test_an_agent_needs_a_name(link: MemoryLink) -> None:
    with pytest.raises(BindError, match="needs a name"):
        Agent(link, "hosts", "")
