"""The story of the demo: four acts, each a real change to a running gauge, and put back after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamgauge.audit import report
from streamgauge.cli.plant_questions import STEP, ZONE, created, in_words, zones
from streamgauge.cli.scenery import ORDERS, PUMPS, Client, Orders, Pumps
from streamgauge.contracts.answer import Answer
from streamgauge.gauge import Gauge
from streamgauge.results.change_log import answers, as_answers
from streamgauge.server.story import Act, Stage

MORE = 500
# Times as many orders as usual, and for how long.
RUSH, RUSH_SECONDS = 20, 15.0
OUT_SECONDS = 8.0
WIDE, NARROW, CONFIDENCE = 5, 0.5, 0.9
NEWCOMER = "newcomer"
# Longest wait for something that is about to happen.
PATIENCE = 60.0
# Kernels of a first run may have to be compiled yet.
FIRST_PATIENCE = 240.0

PLANT = (
    "A thousand sensors, some thousand standing questions. Each answer stands inside its bar, and "
    f"colours say who widened it. Ask {MORE} more while the rows flow: nothing stops for them."
)
OUTAGE = (
    "Agents beside four pumps send only what leaves its bounds. Pull a plug: nobody hears of that "
    "pump, and the sum of all flows says that it does not know instead of guessing. Plugged in "
    "again, it narrows."
)
OVERLOAD = (
    f"Orders come {RUSH} times as fast. Two queries may look at 500 orders a second and no more: "
    "they look where it pays, say which share they saw, and widen their bars. What has no budget "
    "stays exact."
)
NEW = (
    f"Ask for the average of nine sensors within {WIDE}, right nine times of ten: a wide bar that "
    f"costs next to nothing. Then within {NARROW}: it narrows, and the auditor takes its turn at "
    "checking it against an exact shadow."
)


class Sight:
    """The newest answer of a query among those given since one began to look.

    Parameters
    ----------
    gauge
        Whose answers.
    name
        The query.
    """

    def __init__(self, gauge: Gauge, name: str) -> None:
        self.home = gauge.home
        self.name = name
        self.newest: Answer | None = None
        # The answer that stands may be of the last epoch.
        self._seen = max(gauge.home.committed() - 1, 0)

    def look(self) -> Answer | None:
        """Take in what has come."""
        now = self.home.committed()
        for answer in as_answers(answers(self.home, name=self.name, after=self._seen)):
            self.newest = answer
        self._seen = now
        return self.newest

    def shows(self, like: Callable[[Answer], bool]) -> Callable[[], bool]:
        """Whether it is an answer of a kind, whenever that is asked."""

        def look() -> bool:
            answer = self.look()
            return answer is not None and like(answer)

        return look


@dataclass(slots=True)
class Plot:
    """What the acts of the demo change.

    Parameters
    ----------
    gauge
        The gauge that runs.
    names
        Sensors of the plant.
    asked
        Zones that are asked from the beginning.
    client
        Makes changes, as anybody would, over HTTP.
    pumps, orders
        What can be unplugged, and what can come faster.
    """

    gauge: Gauge
    names: list[str]
    asked: int
    client: Client
    pumps: Pumps
    orders: Orders

    def acts(self) -> list[Act]:
        """All acts, in their order."""
        return [
            Act(
                "plant",
                "The plant",
                PLANT,
                "#/queries",
                "Look at the list",
                f"Ask {MORE} more",
                self.more,
            ),
            Act("outage", "A pulled plug", OUTAGE, *_at("flow"), "Pull the plug", self.outage),
            Act("overload", "Overload", OVERLOAD, *_at("takings"), "Let them come", self.overload),
            Act("newcomer", "A new query", NEW, *_at(NEWCOMER), "Ask it", self.newcomer),
        ]

    def more(self, stage: Stage) -> None:
        """Ask some hundred questions more, all at once."""
        there = self.gauge.registry().queries
        numbers = [n.removeprefix(ZONE) for n in there if n.startswith(ZONE)]
        first = max((int(n) + 1 for n in numbers if n.isdigit()), default=0)
        fresh = zones(self.names, MORE, first=max(first, self.asked))
        texts = {query.name: in_words(query, f"ON CHANGE OF {STEP}") for query in fresh}
        before = self.gauge.home.committed()
        stage.tell(f"{len(there):,} queries are answered; {MORE} more are asked in one request")
        self.client.run(created(texts))
        last = fresh[-1].name
        if stage.until(lambda: last in self.gauge.registry().queries, PATIENCE):
            epochs = self.gauge.registry().queries[last].epoch - before
            plural = "" if epochs == 1 else "s"
            stage.tell(f"all of them are in force, {epochs} epoch{plural} later")

    def outage(self, stage: Stage) -> None:
        """Stop an agent, and start it again."""
        flow, pump = Sight(self.gauge, "flow"), PUMPS[0]
        self._ready(stage, flow)
        self.pumps.unplug(pump)
        try:
            stage.tell(f"the agent beside pump {pump} is stopped")
            if stage.until(flow.shows(lambda a: a.basis == "interrupted"), PATIENCE):
                stage.tell(f"flow is degraded: {pump} is not heard, so its bar has no end")
            stage.wait(OUT_SECONDS)
        finally:
            self.pumps.plug(pump)
        stage.tell(f"{pump} is plugged in again")
        if stage.until(flow.shows(lambda a: a.basis != "interrupted" and a.contract_met), PATIENCE):
            stage.tell(f"flow is whole again: {_bar(flow)}")

    def overload(self, stage: Stage) -> None:
        """Let orders come faster for a while."""
        takings = Sight(self.gauge, "takings")
        self._ready(stage, takings)
        self.orders.times = RUSH
        try:
            stage.tell(f"{RUSH * ORDERS:,} orders a second instead of {ORDERS}")
            if stage.until(takings.shows(lambda a: a.share < 0.5), PATIENCE):
                stage.tell(f"takings looks at {_share(takings)}: {_bar(takings)}")
            stage.wait(RUSH_SECONDS)
            takings.look()
            missed = sum(self.gauge.deferrals()["missed"].to_pylist())
            late = (
                f"{missed} deadlines of deferred queries are late"
                if missed
                else "no deadline is late"
            )
            stage.tell(f"takings looks at {_share(takings)}; {late}")
        finally:
            self.orders.times = 1
        stage.tell("as many orders as usual again")
        if stage.until(takings.shows(lambda a: a.share == 1.0), PATIENCE):
            stage.tell("all orders of the last ten seconds are looked at: takings is exact")

    def newcomer(self, stage: Stage) -> None:
        """Ask a new question, then ask it more sharply."""
        sight = Sight(self.gauge, NEWCOMER)
        members = zones(self.names, 1, first=self.asked + 10 * MORE)[0]

        def said(within: float) -> str:
            there = NEWCOMER in self.gauge.registry().queries
            terms = f"WITHIN {within} CONFIDENCE {CONFIDENCE}"
            return (
                f"{'ALTER' if there else 'CREATE'} QUERY {NEWCOMER} AS {in_words(members, terms)}"
            )

        for within in (WIDE, NARROW):
            self.client.run(said(within))
            stage.tell(f"asked within {within}")
            # Answers before the first are exact, and one evaluation tells little about a walk.
            if stage.until(sight.shows(_as_wide(within)), FIRST_PATIENCE):
                stage.tell(f"the answer that stands: {_bar(sight)}")
            stage.wait(OUT_SECONDS)
        if stage.until(self._audited, PATIENCE):
            found = report.read(self.gauge.home).query(NEWCOMER)
            assert found is not None
            stage.tell(
                f"the auditor compares: {found.misses} of {found.comparisons} outside so far"
            )

    def _audited(self) -> bool:
        found = report.read(self.gauge.home).query(NEWCOMER)
        return found is not None and found.comparisons > 0

    def _ready(self, stage: Stage, sight: Sight) -> None:
        """Wait for a first answer, which may need kernels that are not compiled yet."""
        if sight.look() is None:
            stage.tell(f"waiting for the first answer of {sight.name}")
            stage.until(sight.shows(lambda a: a.value is not None), FIRST_PATIENCE)


def _at(name: str) -> tuple[str, str]:
    """Where to look at a query, and what that link says."""
    return f"#/queries/{name}", f"Look at {name}"


def _as_wide(within: float) -> Callable[[Answer], bool]:
    """Whether an answer has the bar that was asked for."""

    def like(answer: Answer) -> bool:
        return bool(abs(answer.high - answer.low - 2 * within) < 0.01 * within)

    return like


def _bar(sight: Sight) -> str:
    answer = sight.newest
    if answer is None or answer.value is None:
        return "nothing yet"
    sure = "" if answer.confidence == 1.0 else f" {answer.sureness(' ')}"
    return f"{answer.value:.6g} in [{answer.low:.6g}, {answer.high:.6g}]{sure}"


def _share(sight: Sight) -> str:
    return "all" if sight.newest is None else f"{100 * sight.newest.share:.3g} % of the orders"
