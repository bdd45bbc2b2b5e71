"""A job and its agents as processes, a relay before each agent, and what came of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from streamgauge.contracts.answer import Answer
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from streamgauge.testing.waiting import wait_until
from tests.edge_faults.job import SITES, TAGS
from tests.edge_faults.truth import Question, Readings, Verdict, compare, marked
from tests.relay import PASS, HttpRelay, always

HERE = Path(__file__).parent
# Long enough for a machine that does eight other things; a condition that holds returns at once.
PATIENCE = 90.0


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


class Scene:
    """Processes of one test and the files they leave.

    Parameters
    ----------
    directory
        Where everything goes.
    broker
        Address of an MQTT broker that the agents use; None: they speak HTTP through relays.
    tokens
        Lines of a token file that the job demands.
    """

    def __init__(self, directory: Path, *, broker: str = "", tokens: str = "") -> None:
        self.directory = directory
        self.home = directory / "home"
        self.broker = broker
        self.tokens = directory / "tokens" if tokens else None
        if self.tokens is not None:
            self.tokens.write_text(tokens)
        self.relays = {site: HttpRelay(None) for site in SITES}
        self.job: subprocess.Popen[bytes] | None = None
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        self.since = 0
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
        self.job = self._run("job", str(self.home), "http://127.0.0.1:0", self.broker, tokens)
        job = self.job
        wait_until(
            lambda: address.exists() or job.poll() is not None, PATIENCE, what="the job's address"
        )
        assert job.poll() is None, self.said("job")
        host, _, port = address.read_text().strip().rpartition(":")
        for relay in self.relays.values():
            relay.target = (host.rpartition("/")[2], int(port))

    def kill_job(self) -> None:
        """Kill -9; agents find nobody."""
        for relay in self.relays.values():
            relay.target = None
        if self.job is not None:
            _kill(self.job)
            self.job = None

    def start_agent(self, site: str, *, skew: float = 0.0, token: str = "") -> None:
        """Start the agent of a site; `skew` is how many seconds its clock is ahead."""
        url = self.broker or self.relays[site].url
        files = (str(self.log(site)), str(self.directory / f"{site}.state"))
        self.agents[site] = self._run(site, url, site, *files, str(skew), token, script="site")

    def kill_agent(self, site: str) -> None:
        """Kill -9."""
        _kill(self.agents.pop(site))

    def freeze(self, name: str) -> None:
        """Stop a process where it is; connections stay open and nothing is said."""
        os.killpg(self._process(name).pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        os.killpg(self._process(name).pid, signal.SIGCONT)

    def log(self, site: str) -> Path:
        """What an agent read."""
        return self.directory / f"{site}.readings"

    def said(self, name: str) -> str:
        """The end of what a process printed."""
        path = self.directory / f"{name}.output"
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
        wait_until(lambda: condition() or self._fallen(), PATIENCE, what=what, every=0.2)
        fallen = self._fallen()
        assert not fallen, f"{fallen} ended:\n{self.said(fallen)}"

    def wait_ticks(self, n: int) -> None:
        """Wait until so many more ticks are answered."""
        self.wait(lambda: self.now() > 0, "all objects to be known")
        target = self.now() + n * 1_000_000
        self.wait(lambda: self.now() >= target, f"{n} more ticks")

    def wait_kept(self, *names: str, n: int = 3) -> None:
        """Wait for `n` ticks, and until some queries, or all, have unmarked answers again."""
        chosen = names or tuple(question.name for question in QUESTIONS)
        self.wait_ticks(n)
        self.wait(lambda: self._kept(chosen), f"unmarked answers of {', '.join(chosen)}")

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

    def mend(self) -> None:
        """Start what does not run, and let messages pass."""
        if self.job is None or self.job.poll() is not None:
            self.kill_job()
            self.start_job()
        for site, relay in self.relays.items():
            relay.fate = always(PASS)
            if site in self.agents and self.agents[site].poll() is not None:
                self.kill_agent(site)
            if site not in self.agents:
                self.start_agent(site)

    def assert_right(self, *, kept: int = 10) -> Verdict:
        """No answer is wrong, none too wide without saying so, and enough are as asked for."""
        verdict = self.verdict()
        assert not verdict.wrong, str(verdict)
        assert not verdict.wide, str(verdict)
        assert verdict.kept >= kept, str(verdict)
        return verdict

    def _kept(self, names: tuple[str, ...]) -> bool:
        newest = {a.query: a for a in self.answers()}
        return all(name in newest and not marked(newest[name]) for name in names)

    def _process(self, name: str) -> subprocess.Popen[bytes]:
        found = self.job if name == "job" else self.agents[name]
        assert found is not None, f"{name} does not run"
        return found

    def _fallen(self) -> str:
        """A process that ended by itself; empty: none."""
        running = {"job": self.job, **self.agents}
        return next((n for n, p in running.items() if p is not None and p.poll() is not None), "")

    def _run(self, name: str, *args: str, script: str = "job") -> subprocess.Popen[bytes]:
        command = [sys.executable, str(HERE / f"{script}.py"), *args]
        paths = os.pathsep.join(
            [str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        with (self.directory / f"{name}.output").open("ab") as output:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,
            )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdin is not None
    process.stdin.close()
