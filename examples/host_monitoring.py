"""Hosts of an organisation: five standing questions, answered without sending every reading.

Ten hosts count their packets by kind, where a kind is the set of the five questions that a packet
is of interest to. Each host has an agent beside it, a process of its own, which gets the packets
per second of the last minute and sends one only when an answer could otherwise be further off than
was asked for. Then one question is asked more sharply, and one agent is killed.

The packets are those of `STREAMGAUGE_DATA/packets/packets_ndpi.parquet` if there is such a file:
captures that come with nDPI, laid over one another. Else they are made up here.

Run it with `python examples/host_monitoring.py`. It needs no Java, takes half a minute and leaves
nothing behind. Numbers differ from run to run: the agents run by the clock.
"""

from __future__ import annotations

import ipaddress
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamgauge as sg

HOSTS = 10
SPEED = 4  # seconds of traffic in one of ours
PERIOD = 300  # seconds of traffic, after which it begins again
MINUTE = 60
LOGIN_PORTS = (21, 22, 23, 513, 3389, 5900, 5901, 6900)
SYN, SYN_ACK = 0x02, 0x12

STREAM = """
CREATE STREAM hosts (host STRING, kind STRING, ts TIME, value FLOAT, width FLOAT)
    FROM EDGE 'http://127.0.0.1:0' KEY host, kind TIME ts WIDTH width LATENCY 2 s;
"""
ASKED = """
SELECT SUM(value) FROM hosts WHERE kind IN ({kinds})
GUARANTEED WITHIN {within};
"""
# Name, digit in the kinds it reads, how far off it may be in packets a second.
QUESTIONS = {
    "logins from outside": ("1", 0.5),
    "incoming": ("2", 10.0),
    "connections opened": ("3", 0.2),
    "names looked up": ("4", 0.2),
    "with the outside": ("5", 10.0),
}


def private(address: str) -> bool:
    """Whether an address belongs to the organisation."""
    try:
        return ipaddress.ip_address(address).is_private
    except ValueError:
        return False


def measured(path: Path) -> dict[tuple[int, str], np.ndarray]:
    """Packets in each second of the period by host and kind, from captures of real traffic."""
    names = ["trace", "ts", "src", "dst", "dport", "tcp_flags"]
    table = pq.read_table(path, columns=names)
    _, capture = np.unique(table["trace"].to_numpy(), return_inverse=True)
    seconds = table["ts"].cast("int64").to_numpy() / 1e6
    begin = np.full(capture.max() + 1, np.inf)
    np.minimum.at(begin, capture, seconds)
    # Each capture begins 37 seconds after the one before; what lasts longer goes round.
    second = (seconds - begin[capture] + 37.0 * capture).astype(np.int64) % PERIOD
    source, target = table["src"].to_numpy(), table["dst"].to_numpy()
    inside = {address: private(address) for address in {*source.tolist(), *target.tolist()}}
    from_us = np.array([inside[address] for address in source])
    to_us = np.array([inside[address] for address in target])
    port = pc.fill_null(table["dport"], -1).to_numpy()
    flags = pc.fill_null(table["tcp_flags"], 0).to_numpy()
    kinds = {
        "1": to_us & ~from_us & np.isin(port, LOGIN_PORTS),
        "2": to_us,
        "3": to_us & (flags & SYN_ACK == SYN),
        "4": from_us & (port == 53),
        "5": from_us != to_us,
    }
    inside_end = np.where(to_us, target, source).tolist()
    kind = np.zeros(len(port), dtype=object)
    kind[:] = ""
    for name, holds in kinds.items():
        kind[holds] += name
    # Few addresses are in more than one capture: ten hosts stand for all of them.
    host = np.array([zlib.crc32(address.encode()) % HOSTS for address in inside_end])
    found = {}
    for number in range(HOSTS):
        for which in set(kind[host == number].tolist()) - {""}:
            here = (host == number) & (kind == which)
            found[number, which] = np.bincount(second[here], minlength=PERIOD).astype(float)
    return found


def made_up() -> dict[tuple[int, str], np.ndarray]:
    """The same of traffic that is invented: calm, with bursts; hosts differ by up to a hundred."""
    dice = np.random.default_rng(3)
    usual = {"25": 8.0, "5": 10.0, "2": 1.0, "23": 0.05, "235": 0.02, "45": 0.3, "125": 0.2}
    found = {}
    for host in range(HOSTS):
        size = 10.0 ** dice.uniform(-1.0, 1.0)
        for kind, mean in usual.items():
            burst = dice.random(PERIOD) < 0.02
            found[host, kind] = dice.poisson(size * mean * np.where(burst, 20.0, 0.7)).astype(float)
    return found


def traffic() -> dict[tuple[str, str], np.ndarray]:
    """Packets per second over the last minute, in each second, by host and kind."""
    path = Path(os.environ.get("STREAMGAUGE_DATA", "")) / "packets" / "packets_ndpi.parquet"
    counts = measured(path) if path.exists() else made_up()
    found = {}
    for (host, kind), each in sorted(counts.items()):
        sums = np.cumsum(np.concatenate([each[-MINUTE:], each]))
        found[f"host-{host}", kind] = (sums[MINUTE:] - sums[:-MINUTE]) / MINUTE
    return found


class Host:
    """One host: an agent of its own, which reads lines of key and value."""

    def __init__(self, name: str, url: str, state: Path) -> None:
        self.name, self.url, self.state = name, url, state
        self.start()

    def start(self) -> None:
        """Start its agent; it goes on where an earlier one was."""
        options = ["--stream", "hosts", "--agent", self.name, "--log", "none"]
        command = [sys.executable, "-m", "streamgauge", "edge", self.url, *options]
        self.agent = subprocess.Popen(
            [*command, "--read", "stdin", "--state", str(self.state / self.name)],
            stdin=subprocess.PIPE,
            text=True,
        )

    def tell(self, lines: str) -> None:
        """Hand readings to the agent, if there is one."""
        try:
            assert self.agent.stdin is not None
            self.agent.stdin.write(lines)
            self.agent.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def kill(self) -> None:
        """Kill the agent as a power cut would."""
        self.agent.kill()
        self.agent.communicate()


class Replay(threading.Thread):
    """Hands each second of the traffic to the hosts, again and again."""

    def __init__(self, hosts: dict[str, Host], values: dict[tuple[str, str], np.ndarray]) -> None:
        super().__init__()
        self.hosts, self.values = hosts, values
        self.readings = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Until it is over."""
        second = 0
        while not self.over.wait(1 / SPEED):
            for name, host in self.hosts.items():
                mine = [
                    (kind, each[second]) for (of, kind), each in self.values.items() if of == name
                ]
                host.tell("".join(f"{name}/{kind} {value}\n" for kind, value in mine))
                self.readings += len(mine)
            second = (second + 1) % PERIOD


def until(condition: Callable[[], bool], seconds: float = 180.0) -> None:
    """Wait for something that is about to happen."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        pause.wait(0.1)


def text(question: str, kinds: set[str], within: float) -> str:
    """A question in the language; of all kinds, it reads those with its digit."""
    digit = QUESTIONS[question][0]
    mine = ", ".join(f"'{kind}'" for kind in sorted(kinds) if digit in kind)
    return f"QUERY {name_of(question)} AS" + ASKED.format(kinds=mine, within=within)


def name_of(question: str) -> str:
    """What a question is called as a query."""
    return question.replace(" ", "_")


def newest(gauge: sg.Gauge, question: str) -> sg.Answer | None:
    """The answer that stands."""
    found = gauge.latest(name_of(question))
    return found[0] if found else None


def show(gauge: sg.Gauge, *questions: str) -> None:
    """Print the answers that stand."""
    for question in questions or QUESTIONS:
        answer = newest(gauge, question)
        if answer is not None:
            reach = (answer.high - answer.low) / 2
            kept = "" if answer.contract_met else ", not what was asked for"
            print(f"  {question:20s} {answer.value:7.2f} +- {reach:5.2f}  {answer.basis}{kept}")


def kept(gauge: sg.Gauge, question: str, *, version: int = 1) -> bool:
    """Whether a question has an answer, not an exact one, that is as asked for."""
    answer = newest(gauge, question)
    if answer is None or answer.version < version:
        return False
    return answer.contract_met and answer.high > answer.low


def interrupted(gauge: sg.Gauge, question: str) -> bool:
    """Whether a question rests on a host that is not heard."""
    answer = newest(gauge, question)
    return answer is not None and answer.basis == "interrupted"


def sent(gauge: sg.Gauge) -> int:
    """Updates so far, of all agents."""
    return sum(gauge.agents("hosts")["updates"].to_pylist())


def measure(gauge: sg.Gauge, replay: Replay, seconds: int = 12) -> None:
    """Print how many readings of some seconds of traffic were sent."""
    before, begin = sent(gauge), replay.readings
    until(lambda: replay.readings >= begin + seconds * len(replay.values))
    print(f"  {sent(gauge) - before} updates for {replay.readings - begin} readings")


def shares(gauge: sg.Gauge) -> None:
    """Print what each host holds of the width, and updates a second per unit of it."""
    objects = gauge.objects("hosts").to_pylist()
    for host in sorted({row["agent"] for row in objects}):
        mine = [row for row in objects if row["agent"] == host]
        width = sum(row["width"] or 0.0 for row in mine)
        burden = statistics.median(row["burden"] or 0.0 for row in mine)
        updates = sum(row["updates"] for row in mine)
        print(f"    {host} holds {width:5.2f}, burden {burden:6.2f}, {updates} updates")


def watch(gauge: sg.Gauge, replay: Replay) -> None:
    """Let it run, ask more sharply, kill an agent and start it again."""
    until(lambda: all(kept(gauge, question) for question in QUESTIONS))
    print("five questions, in packets a second:")
    show(gauge)
    measure(gauge, replay)
    shares(gauge)

    gauge.sql("ALTER " + text("incoming", {kind for _, kind in replay.values}, 2.0))
    until(lambda: kept(gauge, "incoming", version=2))
    print("incoming traffic, asked within 2:")
    show(gauge, "incoming")
    measure(gauge, replay)

    replay.hosts["host-3"].kill()
    until(lambda: interrupted(gauge, "incoming"))
    print("an agent was killed:")
    show(gauge, "incoming", "with the outside")
    replay.hosts["host-3"].start()
    until(lambda: kept(gauge, "incoming", version=2))
    print("it is back:")
    show(gauge, "incoming", "with the outside")


def main() -> None:
    """Ask, run the agents and watch."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        with sg.connect(home, engine="local") as gauge:
            values = traffic()
            kinds = {kind for _, kind in values}
            gauge.sql(STREAM)
            for question, (_, within) in QUESTIONS.items():
                gauge.sql("CREATE " + text(question, kinds, within))
            gauge.start()
            url = (home / "edge" / "hosts" / "address").read_text().strip()
            hosts = {name: Host(name, url, Path(place)) for name in sorted({n for n, _ in values})}
            replay = Replay(hosts, values)
            replay.start()
            try:
                watch(gauge, replay)
            finally:
                replay.over.set()
                replay.join()
                for host in hosts.values():
                    host.kill()


if __name__ == "__main__":
    main()
