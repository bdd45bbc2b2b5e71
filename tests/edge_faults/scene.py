"""A job and its agents as processes, a relay before each agent, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

from streamgauge.checks.waiting import wait_until
from streamgauge.contracts.answer import Answer
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from tests import forked
from tests.edge_faults.job import SITES, TAGS, TICK
from tests.edge_faults.job import main as run_job
from tests.edge_faults.site import main as run_site
from tests.edge_faults.truth import Question, Readings, Verdict, compare, marked
from tests.relay import PASS, HttpRelay, always

# Long enough for a machine that does eight other things; a condition that holds returns at once.
PATIENCE = 180.0
# How far labels may be from the clock of this machine: half of the quickest message's way.
APART = 250_000


def of(*sites: str, tags: tuple[str, ...] = TAGS) -> dict[tuple[str, ...], float]:
    """Members of a query with weight 1."""
    return {(site, tag): 1.0 for site in sites for tag in tags}


ALL = of(*SITES)
QUESTIONS = (
    Question("total", "sum", ALL, 12.0, (3.0, 20.0, 12.0)),
    Question("east", "avg", of("east"), 1.5),
    Question("west", "sum", of("west", tags=TAGS[:3]), 3.0),
    Question("highest", "max", ALL, 2.0),
    Question("lowest", "min", of("east", "west"), 2.0),
)


class Death(NamedTuple):
    """An agent that was killed, when, and how often it had read its objects."""

    site: str
    at: int
    reads: int


def now() -> int:
    """The clock of this machine, which is the coordinator's, too."""
    return time.time_ns() // 1_000


class Scene:
    """Processes of a test and the files they leave.

    Parameters
    ----------
    directory
        Where everything goes.
    broker
        Address of an MQTT broker that the agents use; None: they speak HTTP through relays.
    tokens
        Lines of a token file that the job demands.
    latency
        How long a tick waits for reports.
    """

    def __init__(
        self, directory: Path, *, broker: str = "", tokens: str = "", latency: str = "1500 ms"
    ) -> None:
        self.directory = directory
        self.latency = latency
        self.home = directory / "home"
        self.broker = broker
        self.tokens = directory / "tokens" if tokens else None
        if self.tokens is not None:
            self.tokens.write_text(tokens)
        self.relays = {site: HttpRelay(None) for site in SITES}
        self.job: ForkServerProcess | None = None
        self.agents: dict[str, ForkServerProcess] = {}
        self.since = 0
        self.deaths: list[Death] = []
        self._answers: list[Answer] = []
        self._epoch = 0

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        for site in list(self.agents):
            self.kill_agent(site)
        self.kill_job()
        for relay in self.relays.values():
            relay.close()

    def start_job(self) -> None:
        """Start the job and point the relays at it."""
        address = self.home / "edge" / "tags" / "address"
        address.unlink(missing_ok=True)
        tokens = "" if self.tokens is None else str(self.tokens)
        told = (str(self.home), self.latency, self.broker, tokens)
        self.job = started = forked.start(run_job, *told, output=self.output("job"))
        wait_until(
            lambda: address.exists() or started.exitcode is not None,
            PATIENCE,
            what="the job's address",
        )
        assert started.exitcode is None, self.said("job")
        host, _, port = address.read_text().strip().rpartition(":")
        for relay in self.relays.values():
            relay.target = (host.rpartition("/")[2], int(port))

    def kill_job(self) -> None:
        """Kill -9; agents find nobody."""
        for relay in self.relays.values():
            relay.target = None
        if self.job is not None:
            forked.kill(self.job)
            self.job = None

    def start_agent(self, name: str, *, skew: float = 0.0, token: str = "") -> None:
        """Start the agent of a site; `skew` is how many seconds its clock is ahead."""
        url = self.broker or self.relays[name].url
        told = (url, name, str(self.log(name)), str(self.directory / f"{name}.state"), skew, token)
        self.agents[name] = forked.start(run_site, *told, output=self.output(name))

    def kill_agent(self, site: str) -> None:
        """Kill -9."""
        forked.kill(self.agents.pop(site))
        self.deaths.append(Death(site, now(), len(self.labels(site))))

    def freeze(self, name: str) -> None:
        """Stop a process where it is."""
        forked.freeze(self._process(name))

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        forked.thaw(self._process(name))

    def output(self, name: str) -> Path:
        """What a process printed."""
        return self.directory / f"{name}.output"

    def log(self, site: str) -> Path:
        """What an agent read."""
        return self.directory / f"{site}.readings"

    def labels(self, site: str) -> list[int]:
        """When an agent read its first object, each time."""
        log = self.log(site)
        return Readings.of(log).labels.get((site, TAGS[0]), []) if log.exists() else []

    def said(self, name: str) -> str:
        """The end of what a process printed."""
        path = self.output(name)
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def answers(self) -> list[Answer]:
        """All answers so far."""
        if (self.home / "commits").exists():
            home = Home(str(self.home), 1)
            upto = home.committed()
            fresh = answers(home, after=self._epoch) if upto > self._epoch else None
            if fresh is not None:
                self._answers += [a for a in as_answers(fresh) if a.epoch <= upto]
                self._epoch = upto
        return self._answers

    def ticks(self, found: list[Answer]) -> list[int]:
        """Ticks at which all objects were known, in order."""
        return sorted({a.as_of for a in found if a.query == "heard" and a.value == len(ALL)})

    def newest(self, name: str) -> Answer | None:
        """The answer of a query that stands."""
        return max(
            (answer for answer in self.answers() if answer.query == name),
            key=lambda answer: (answer.as_of, answer.epoch),
            default=None,
        )

    def now(self) -> int:
        """The newest tick that is answered; 0 before all objects are known."""
        return max(self.ticks(self.answers()), default=0)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something of which no process may die meanwhile."""
        wait_until(lambda: condition() or self._fallen(), PATIENCE, what=what, every=0.1)
        fallen = self._fallen()
        assert not fallen, f"{fallen} ended:\n{self.said(fallen)}"

    def wait_ticks(self, n: int) -> None:
        """Wait until so many more ticks are answered."""
        self.wait(lambda: self.now() > 0, "all objects to be known")
        target = self.now() + n * TICK
        self.wait(lambda: self.now() >= target, f"{n} more ticks")

    def wait_kept(self, *names: str, n: int = 1) -> None:
        """Wait until all that was done so far is answered, `n` ticks more, and all is well again.

        All is well when the newest answers of some queries, or of all, are not marked.
        """
        chosen = names or tuple(question.name for question in QUESTIONS)
        target = now() + n * TICK
        self.wait(
            lambda: self.now() >= target and self._kept(chosen),
            f"unmarked answers of {', '.join(chosen)}",
        )

    def wait_marked(self, name: str) -> None:
        """Wait until the newest answer of a query is marked."""
        self.wait(lambda: name in self.marked(), f"a marked answer of {name}")

    def marked(self) -> set[str]:
        """Queries whose newest answer is marked."""
        newest = {a.query: a for a in self.answers()}
        return {name for name, answer in newest.items() if marked(answer)}

    def verdict(self) -> Verdict:
        """Answers since `since` held against all readings."""
        found = self.answers()
        readings = Readings.of(*(self.log(site) for site in SITES if self.log(site).exists()))
        return compare(
            QUESTIONS, found, readings, [t for t in self.ticks(found) if t >= self.since]
        )

    def begin(self) -> None:
        """Have all as it should be; what is told from now on is held against the truth."""
        self.mend()
        names = tuple(question.name for question in QUESTIONS)
        self.wait(lambda: self.now() > 0 and self._kept(names), "unmarked answers of all queries")
        self.since = self.now()
        self.deaths.clear()
        for relay in self.relays.values():
            relay.counts.clear()

    def mend(self) -> None:
        """Start what does not run, thaw what is frozen, and let messages pass."""
        if self.job is None or self.job.exitcode is not None:
            self.kill_job()
            self.start_job()
        forked.thaw(self._process("job"))
        for name, relay in self.relays.items():
            relay.fate = always(PASS)
            relay.seconds = 0.3
            if name in self.agents and self.agents[name].exitcode is not None:
                self.kill_agent(name)
            if name not in self.agents:
                self.start_agent(name)
            forked.thaw(self.agents[name])

    def missed(self, death: Death) -> set[int]:
        """Ticks between the death of an agent and its first reading after it."""
        labels = self.labels(death.site)
        back = labels[death.reads] if len(labels) > death.reads else now()
        return {t for t in self.ticks(self.answers()) if death.at + APART < t < back}

    def _kept(self, names: tuple[str, ...]) -> bool:
        newest = {a.query: a for a in self.answers()}
        return all(name in newest and not marked(newest[name]) for name in names)

    def _process(self, name: str) -> ForkServerProcess:
        found = self.job if name == "job" else self.agents[name]
        assert found is not None, f"{name} does not run"
        return found

    def _fallen(self) -> str:
        """A process that ended by itself; empty: none."""
        running = {"job": self.job, **self.agents}
        return next((n for n, p in running.items() if p is not None and p.exitcode is not None), "")
