"""What is done to agents, the job and their messages, and what must be seen meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.time import SECOND
from tests.edge_faults.job import SITES
from tests.edge_faults.scene import Scene, now
from tests.edge_faults.truth import Readings, marked
from tests.relay import DELAY, FAULTS, PASS, SPOIL, SWALLOW, always, mixed

Scenario = Callable[[Scene], None]

TOTAL = """
ALTER QUERY total AS
SELECT SUM(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site <> 'liar'
GUARANTEED WITHIN {within};
"""


def let_pass(seconds: float) -> None:
    """Wait for time itself, where nobody is left who could say that it has passed."""
    end = now() + seconds * SECOND
    wait_until(lambda: now() >= end, seconds + 30.0, what="time to pass")


# Processes


def agent_killed(scene: Scene) -> None:
    scene.kill_agent("east")
    scene.wait_marked("east")
    scene.wait_ticks(4)
    scene.wait_kept("west")
    scene.start_agent("east")
    scene.wait_kept("east")
    assert len(scene.missed(scene.deaths[-1])) >= 4


def agent_back_soon(scene: Scene) -> None:
    """Back before the ticks that it missed are closed, it does not vouch for them."""
    scene.kill_agent("east")
    let_pass(0.8)
    scene.start_agent("east")
    scene.wait_kept("east")
    assert scene.missed(scene.deaths[-1])


def agent_back_soon_again(scene: Scene) -> None:
    for _ in range(3):
        agent_back_soon(scene)


def agent_forgot_everything(scene: Scene) -> None:
    scene.kill_agent("east")
    (scene.directory / "east.state" / "spool").unlink()
    scene.start_agent("east")


def agent_frozen(scene: Scene) -> None:
    scene.freeze("east")
    scene.wait_marked("east")
    scene.wait_kept("west")
    scene.thaw("east")


def job_killed(scene: Scene) -> None:
    scene.kill_job()
    scene.start_job()


def job_killed_again(scene: Scene) -> None:
    """At once, after some ticks, and when all is well again."""
    job_killed(scene)
    job_killed(scene)
    scene.wait_ticks(3)
    job_killed(scene)
    scene.wait_kept()
    job_killed(scene)


def job_frozen(scene: Scene) -> None:
    scene.freeze("job")
    # Longer than the latency: the agents have given up on their messages by then.
    let_pass(2.5)
    scene.thaw("job")


def everything_killed(scene: Scene) -> None:
    scene.kill_agent("north")
    scene.kill_job()
    scene.kill_agent("east")
    scene.start_agent("east")
    scene.start_job()
    scene.start_agent("north")


def many_kills_in_a_bad_network(scene: Scene) -> None:
    # An agent ends when its very first word is refused as unreadable, so none is spoilt here.
    faults = tuple(fault for fault in FAULTS if fault != SPOIL)
    for seed, relay in enumerate(scene.relays.values()):
        relay.fate = mixed(0.2, seed, faults)
    for site in ("east", "west", "north", "east"):
        scene.kill_agent(site)
        scene.start_agent(site)
        scene.wait_ticks(8)
        scene.kill_job()
        scene.start_job()
        scene.wait_ticks(16)
    scene.mend()


KILLS: list[Scenario] = [
    agent_killed,
    agent_back_soon,
    agent_forgot_everything,
    agent_frozen,
    job_killed,
    job_frozen,
    everything_killed,
]
MORE_KILLS: list[Scenario] = [
    agent_back_soon_again,
    job_killed_again,
    many_kills_in_a_bad_network,
]

# Messages


def nothing_wrong(scene: Scene) -> None:
    scene.wait_kept(n=8)


def third_of_messages_wrong(scene: Scene) -> None:
    for seed, relay in enumerate(scene.relays.values()):
        relay.fate = mixed(0.33, seed)
    # Enough for each kind of fault to have happened to somebody.
    scene.wait(lambda: _suffered(scene) >= {*FAULTS}, "all kinds of faults")
    scene.wait_ticks(8)
    for relay in scene.relays.values():
        relay.fate = always(PASS)


def _suffered(scene: Scene) -> set[str]:
    return {fate for relay in scene.relays.values() for fate in relay.counts}


def hole(scene: Scene) -> None:
    scene.relays["east"].fate = always(SWALLOW)
    scene.wait_marked("east")
    scene.wait_ticks(3)
    assert {"east", "total", "highest", "lowest"} <= scene.marked()
    scene.relays["east"].fate = always(PASS)


def later_than_the_latency(scene: Scene) -> None:
    """The agent gives up on messages and sends them again; the job hears them late, and twice."""
    relay = scene.relays["west"]
    relay.seconds = 2.2
    relay.fate = always(DELAY)
    scene.wait_marked("west")
    scene.wait_ticks(8)
    relay.fate = always(PASS)


def contract_changed_while_away(scene: Scene) -> None:
    """Each answer keeps the contract that it was given under."""
    alter(scene, 3.0, 2)
    scene.wait_ticks(3)
    scene.kill_agent("west")
    # Widths that the dead agent holds are not given to others; it confirms when it is back.
    with sg.connect(scene.home, engine="local") as gauge:
        gauge.sql(TOTAL.format(within=20.0))
    scene.wait_marked("total")
    scene.start_agent("west")
    scene.wait_kept()
    alter(scene, 12.0, 4)


def alter(scene: Scene, within: float, version: int) -> None:
    """Ask for another width, and wait for an answer that has it."""

    def kept() -> bool:
        answer = scene.newest("total")
        return answer is not None and answer.version == version and not marked(answer)

    with sg.connect(scene.home, engine="local") as gauge:
        gauge.sql(TOTAL.format(within=within))
    scene.wait(kept, f"an answer within {within:g}")


NETWORK: list[Scenario] = [
    nothing_wrong,
    third_of_messages_wrong,
    hole,
    later_than_the_latency,
    contract_changed_while_away,
]

# Clocks: labels are on the coordinator's clock, so one that is wrong does no harm.


def clocks_minutes_off(scene: Scene) -> None:
    """New agents whose clocks were never right."""
    for site in SITES:
        scene.kill_agent(site)
        shutil.rmtree(scene.directory / f"{site}.state")
    for site, skew in zip(SITES, (300.0, -3600.0, 0.0), strict=True):
        scene.start_agent(site, skew=skew)
    scene.wait_kept(n=6)
    for site in SITES:
        newest = Readings.of(scene.log(site)).upto()
        # Corrected to within half of a message's way; a minute is generous for any machine.
        assert abs(newest - now()) < 60_000_000


def clock_set_while_away(scene: Scene) -> None:
    for skew in (-120.0, 120.0):
        scene.kill_agent("east")
        scene.start_agent("east", skew=skew)
        scene.wait_kept("east")


CLOCKS: list[Scenario] = [clocks_minutes_off, clock_set_while_away]
