"""Auditor: draws queries, runs their exact shadows for a while, and compares."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from streamgauge.audit.compare import StandingBars, WindowBars, rows_of
from streamgauge.audit.ledger import Alarm, Entry, Ledger
from streamgauge.audit.shadow import RENEWED, Shadow, shadow_of
from streamgauge.engine.catalog import registry_at
from streamgauge.execute.trial import Trial
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.kernel.files import read_json, reading
from streamgauge.log import inbox
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.shadows import EXACT_SHADOW, is_shadow, shadows_of
from streamgauge.results.follower import Follower

LOG = logging.getLogger(__name__)
FOLDER = "audit"
AT_ONCE = 8
STAY = 100
SHARE = 0.25
FALSE_ALARM = 1e-4
# Epochs without shadows between two rounds, which tell what the job takes by itself.
BARE = 5
# Epochs that take no longer than this spare nobody anything.
BRIEF_SECONDS = 0.25


@dataclass(slots=True)
class Audit:
    """A query in a round: what it is compared by, since which version, and where it is noted."""

    name: str
    version: int
    born: int
    entry: Entry
    bars: StandingBars | WindowBars
    seen: bool = False


class Auditor(Follower):
    """Follows a home and tells when a bar holds less often than it claims.

    Parameters
    ----------
    gauge
        The gauge whose home it audits; its job may run elsewhere.
    at_once
        Queries whose shadows run at once, at most.
    stay
        Epochs that a round lasts; then others are drawn, until all had their turn.
    share
        Part by which shadows may make epochs longer; when they take more, half as many are drawn.
    false_alarm
        Chance that an alarm is ever raised while all promises are kept.
    seed
        Which queries are drawn together follows from it.

    Examples
    --------
    >>> import tempfile, streamgauge as sg
    >>> gauge = sg.connect(tempfile.mkdtemp(), engine="local")
    >>> with sg.Auditor(gauge, at_once=4) as auditor:
    ...     auditor.ledger.alarms
    []
    """

    def __init__(
        self,
        gauge: Gauge,
        at_once: int = AT_ONCE,
        *,
        stay: int = STAY,
        share: float = SHARE,
        false_alarm: float = FALSE_ALARM,
        seed: int = 0,
    ) -> None:
        super().__init__(gauge.home, FOLDER)
        if at_once < 1 or stay < 1 or not share > 0.0 or not 0.0 < false_alarm < 1.0:
            raise BindError(
                "an auditor needs queries, epochs, a share of time and a chance of false alarm",
                f"got at_once={at_once}, stay={stay}, share={share}, false_alarm={false_alarm}",
                "write Auditor(gauge, at_once=8, stay=100, share=0.25, false_alarm=1e-4)",
            )
        self.gauge = gauge
        self.at_once = at_once
        self.stay = stay
        self.share = share
        self.seed = seed
        self.ledger = Ledger(false_alarm)
        self.allowed = at_once
        self.cycle = 0
        self.turned: list[str] = []
        self.audits: dict[str, Audit] = {}
        self.skipped: dict[str, str] = {}
        self._stayed = 0
        self._compared = -1
        self._bare: list[tuple[float, int]] = []
        self._with: list[tuple[float, int]] = []
        self._registry: Registry | None = None

    # What a follower does.

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the evidence so far; shadows that still run are dropped, and drawn anew."""
        known = Ledger.from_dict(state["ledger"])
        # What was raised at another rate was raised; the rate from now on is the one asked for.
        self.ledger = replace(known, false_alarm=self.ledger.false_alarm)
        self.allowed = min(self.at_once, state["allowed"])
        self.cycle, self.turned = state["cycle"], list(state["turned"])
        self.skipped = dict(state["skipped"])
        self._bare = [(seconds, rows) for seconds, rows in state["bare"]]

    def saved(self) -> dict[str, Any]:
        """The evidence, and whose turn it is."""
        return {
            "ledger": self.ledger.as_dict(),
            "at_once": self.at_once,
            "allowed": self.allowed,
            "stay": self.stay,
            "share": self.share,
            "cycle": self.cycle,
            "turned": self.turned,
            "auditing": {audit.name: audit.version for audit in self.audits.values()},
            "skipped": self.skipped,
            "bare": self._bare,
            "slower": self._slower(),
        }

    def take(self, epoch: int) -> None:
        """Compare what an epoch answered; then end a round or draw the next."""
        registry = self._known(epoch)
        if epoch != self._compared:
            self._look(epoch, registry)
        if self.audits and (self._stayed >= self.stay or not self._standing(registry)):
            self._end()
        elif not self.audits and self._stayed >= BARE:
            self._draw(registry)

    def _look(self, epoch: int, registry: Registry) -> None:
        """Compare an epoch, once: it is taken again where a round could not be begun or ended."""
        self._time(epoch, registry)
        before = list(self.audits)
        at = self._compare(epoch, registry)
        self._compared = epoch
        changed = [audit.entry for audit in self.audits.values()]
        for alarm in self.ledger.alarming(epoch=epoch, at=at, entries=changed):
            LOG.warning("audit of %s: %s", alarm.query or "all queries", alarm.text)
        self._stayed += 1
        self._drop([name for name in before if name not in self.audits])

    def open(self) -> None:
        """Begin; shadows that another auditor left behind go."""
        super().open()
        self._registry = None
        self._drop_left(self._known(self.home.committed()))
        self.save()

    def stop(self) -> None:
        """Stop; shadows go, so that the job does no work that nobody looks at."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._drop(list(self.audits))
        self.audits.clear()
        self.save()
        self.close()

    @property
    def alarms(self) -> list[Alarm]:
        """Alarms so far."""
        return list(self.ledger.alarms)

    # Comparing.

    def _known(self, epoch: int) -> Registry:
        self._registry = registry_at(self.home, epoch, self._registry)
        return self._registry

    def _compare(self, epoch: int, registry: Registry) -> int:
        """Compare the queries of the round; the instant of the newest comparison."""
        if not self.audits:
            return 0
        rows = rows_of(self.home, epoch, self.audits)
        latest = 0
        for audit in list(self.audits.values()):
            standing = registry.queries.get(audit.name)
            now = None if standing is None else (standing.version, standing.born)
            if standing is None or now != (audit.version, audit.born):
                # Another question now: what the shadow says is no longer its truth.
                del self.audits[audit.name]
                continue
            exact, ticks = (rows.get(name, []) for name in shadows_of(audit.name))
            audit.seen = audit.seen or bool(exact)
            answers = [r for r in rows.get(audit.name, []) if r.version == audit.version]
            if standing.status == "running":
                found = audit.bars.take(answers, exact, ticks)
                audit.entry.take(found)
                latest = max(latest, found.last)
            else:
                audit.bars.leave()
        return latest

    def _standing(self, registry: Registry) -> bool:
        """Whether shadows of the round still run, or wait to be taken in."""
        fresh = self._stayed <= BARE
        return fresh or any(EXACT_SHADOW + name in registry.queries for name in self.audits)

    # Rounds.

    def _draw(self, registry: Registry) -> None:
        """Register the shadows of those whose turn it is."""
        self._drop_left(registry)
        open_, self.skipped = auditable(registry)
        turned = set(self.turned)
        waiting = [name for name in open_ if name not in turned]
        if open_ and not waiting:
            self.cycle, self.turned, waiting = self.cycle + 1, [], list(open_)
        waiting.sort(key=lambda name: drawn(self.seed, self.cycle, name))
        self._stayed, self._with = 0, []
        trial = Trial(registry)
        for name in waiting[: self.allowed]:
            self.turned.append(name)
            shadow, standing = open_[name], registry.query(name)
            try:
                for query in shadow.queries:
                    trial.apply({"do": "shadow", "query": query.as_dict()})
            except StreamgaugeError as error:
                self.skipped[name] = f"its exact form is refused: {error.what}"
                continue
            family = f"{standing.query.stream} {standing.query.select.x}"
            owed = 1.0 - standing.query.contract.confidence
            version, born = standing.version, standing.born
            entry = self.ledger.entry(name, version, shadow.luck, family, owed, born)
            bars = self._bars(standing.query, shadow)
            self.audits[name] = Audit(name, version, born, entry, bars)
        for record in trial.records:
            if record["query"]["name"].partition(":")[2] in self.audits:
                inbox.submit(self.home, record)

    def _bars(self, query: Query, shadow: Shadow) -> StandingBars | WindowBars:
        if shadow.ticks is not None:
            order = lambda group: drawn(self.seed, self.cycle, query.name + group)  # noqa: E731
            return StandingBars(query.contract.throughout, order)
        length = shadow.length if shadow.luck == RENEWED else None
        return WindowBars(length, shadow.exact.answer.kind == "change")

    def _end(self) -> None:
        """End a round: drop its shadows and judge whether the job could bear them."""
        self._drop(list(self.audits))
        self.audits.clear()
        self.ledger.end_round()
        slower = self._slower()
        if slower is not None:
            brief = median(seconds for seconds, _ in self._with) <= BRIEF_SECONDS
            if slower > self.share and not brief:
                self.allowed = max(1, self.allowed // 2)
            elif brief or slower < 0.5 * self.share:
                self.allowed = min(self.at_once, self.allowed + 1)
        self._stayed, self._bare = 0, []

    def _drop(self, names: list[str]) -> None:
        """Drop the shadows of some queries, those too that are not in force yet."""
        if names:
            gone = [shadow for name in names for shadow in shadows_of(name)]
            inbox.submit(self.home, {"do": "drop shadows", "names": gone})

    def _drop_left(self, registry: Registry) -> None:
        """Drop shadows that no audit of ours needs."""
        mine = {shadow for name in self.audits for shadow in shadows_of(name)}
        left = [name for name in registry.queries if is_shadow(name) and name not in mine]
        if left:
            inbox.submit(self.home, {"do": "drop shadows", "names": left})

    # What it costs.

    def _time(self, epoch: int, registry: Registry) -> None:
        """Note what a row took, with shadows or without."""
        path = self.home.commit(epoch)
        if not path.exists():
            # Several epochs have one commit.
            return
        with reading(path, f"the commit of epoch {epoch}"):
            told = read_json(path)
            seconds, rows = float(told["seconds"]), int(told["rows"])
        if rows:
            shadows = any(map(is_shadow, registry.queries))
            kept = self._with if shadows else self._bare
            kept.append((seconds, rows))
            del kept[:-STAY]

    def _slower(self) -> float | None:
        """Part by which rows took longer with shadows; None while that is not known."""
        if len(self._bare) < BARE - 1 or len(self._with) < BARE:
            return None
        plain, laden = (median(s / rows for s, rows in kept) for kept in (self._bare, self._with))
        return laden / plain - 1.0 if plain > 0.0 else None


def auditable(registry: Registry) -> tuple[dict[str, Shadow], dict[str, str]]:
    """Running queries that can be audited, and why others cannot; exact ones are neither."""
    found, reasons = {}, {}
    for name, standing in registry.queries.items():
        shadow = shadow_of(standing, registry)
        if isinstance(shadow, Shadow):
            if standing.status == "running":
                found[name] = shadow
        elif not shadow.exact:
            reasons[name] = shadow.text
    return found, reasons


def drawn(seed: int, cycle: int, name: str) -> bytes:
    """Where a name comes in the order of a cycle."""
    return hashlib.blake2b(f"{seed} {cycle} {name}".encode("utf-8", "replace")).digest()
