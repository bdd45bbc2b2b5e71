"""Report: what the auditor has found so far, read from the home."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from streamgauge.audit.auditor import FOLDER, auditable
from streamgauge.audit.evidence import chance_of, share_bar
from streamgauge.audit.ledger import BY_FAMILIES, BY_ROUNDS, Alarm, Entry, Ledger
from streamgauge.audit.shadow import LIFE
from streamgauge.contracts.answer import Answer, charges_of, finite
from streamgauge.contracts.bars import Sides
from streamgauge.contracts.causes import AUDIT
from streamgauge.contracts.picture import answers_html
from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.files import read_json
from streamgauge.kernel.time import instant_text
from streamgauge.log.home import Home
from streamgauge.plan.registry import Registry
from streamgauge.results.follower import STATE, readable

# Chance that a bar around a share of answers that held is wrong.
BAR_CHANCE = 0.05
BASIS = AUDIT
_PLAIN = (
    "epoch",
    "false_alarm",
    "comparisons",
    "misses",
    "rounds",
    "waiting",
    "at_once",
    "allowed",
    "share",
    "slower",
    "begun",
    "rounds_limit",
    "families_limit",
)


@dataclass(frozen=True, slots=True)
class Audited:
    """What is known of one query.

    `held` is the share of units whose bars held, with its own bar; `evidence` the logarithm of
    what speaks against the promise, `limit` where it becomes an alarm; `worst` the largest error
    as a part of the bar on its side.
    """

    name: str
    version: int
    promised: float
    held: Answer
    comparisons: int
    misses: int
    worst: float
    luck: str
    evidence: float
    limit: float
    alarm: Alarm | None
    last: int
    now: bool

    def as_dict(self) -> dict[str, Any]:
        """JSON form; evidence without a bound is null beside an alarm."""
        return {
            "name": self.name,
            "version": self.version,
            "promised": self.promised,
            "held": self.held.as_dict(),
            "comparisons": self.comparisons,
            "misses": self.misses,
            "worst": finite(self.worst),
            "luck": self.luck,
            "evidence": finite(self.evidence),
            "limit": self.limit,
            "alarm": None if self.alarm is None else alarm_dict(self.alarm),
            "last": instant_text(self.last) if self.last else None,
            "now": self.now,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What the auditor has found.

    `held`, `comparisons` and `misses` are of all checks ever made, of earlier versions and dropped
    queries too; `queries` has the version of each query that is registered now.
    `rounds` and `families` are the evidence of queries together, each with the limit of its alarm;
    `slower` is the part by which shadows made epochs longer, None while that is not known.
    """

    epoch: int
    false_alarm: float
    held: Answer
    comparisons: int
    misses: int
    rounds: int
    rounds_evidence: float
    rounds_limit: float
    families_evidence: float
    families_limit: float
    queries: tuple[Audited, ...]
    alarms: tuple[Alarm, ...]
    skipped: tuple[tuple[str, str], ...]
    waiting: int
    at_once: int
    allowed: int
    share: float
    slower: float | None
    begun: bool = True

    def query(self, name: str) -> Audited | None:
        """What is known of a query, of its newest version."""
        return next((each for each in self.queries if each.name == name), None)

    def _repr_html_(self) -> str:
        return answers_html([self.held, *(each.held for each in self.queries)])

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "held": self.held.as_dict(),
            "rounds_evidence": finite(self.rounds_evidence),
            "families_evidence": finite(self.families_evidence),
            "queries": [each.as_dict() for each in self.queries],
            "alarms": [alarm_dict(alarm) for alarm in self.alarms],
            "skipped": [{"name": name, "reason": reason} for name, reason in self.skipped],
        }


def alarm_dict(alarm: Alarm) -> dict[str, Any]:
    """An alarm as JSON."""
    return {
        "id": alarm.id,
        "query": alarm.query,
        "epoch": alarm.epoch,
        "at": instant_text(alarm.at),
        "text": alarm.text,
    }


def read(home: Home, registry: Registry | None = None) -> Report:
    """What is known now; an empty report where no auditor has ever run.

    Parameters
    ----------
    home
        The home.
    registry
        What is registered, when it is at hand.

    Examples
    --------
    >>> import tempfile
    >>> read(Home.open(tempfile.mkdtemp(), shards=1)).begun
    False
    """
    known = registry or registry_at(home, home.committed())
    able, reasons = auditable(known)
    path = home.root / FOLDER / STATE
    with readable(path):
        saved = read_json(path) if path.exists() else None
        state = saved["state"] if saved else {}
        ledger = Ledger.from_dict(state["ledger"]) if saved else Ledger(1.0)
    newest = {entry.name: entry for entry in ledger.entries.values() if entry.name in known.queries}
    now = state.get("auditing", {})
    audited = tuple(
        _audited(ledger, entry, entry.name in now)
        for entry in sorted(newest.values(), key=lambda entry: entry.name)
    )
    return Report(
        epoch=saved["epoch"] if saved else 0,
        false_alarm=ledger.false_alarm if saved else 0.0,
        held=held_by_all(ledger),
        comparisons=sum(entry.comparisons for entry in ledger.entries.values()),
        misses=sum(entry.misses for entry in ledger.entries.values()),
        rounds=ledger.rounds,
        rounds_evidence=ledger.rounds_log10,
        rounds_limit=-math.log10(BY_ROUNDS * ledger.false_alarm),
        families_evidence=ledger.families_log10,
        families_limit=-math.log10(BY_FAMILIES * ledger.false_alarm),
        queries=audited,
        alarms=tuple(ledger.alarms),
        skipped=tuple(sorted({**reasons, **state.get("skipped", {})}.items())),
        waiting=sum(name not in newest for name in able),
        at_once=state.get("at_once", 0),
        allowed=state.get("allowed", 0),
        share=state.get("share", 0.0),
        slower=state.get("slower"),
        begun=saved is not None,
    )


def _audited(ledger: Ledger, entry: Entry, now: bool) -> Audited:
    alarm = next((alarm for alarm in ledger.alarms if alarm.id == entry.id), None)
    share, low, high = _share(entry, BAR_CHANCE)
    return Audited(
        entry.name,
        entry.version,
        1.0 - (entry.owed if entry.renewed.weight > 0.0 else entry.contract),
        _drawn(entry.name, share, low, high, entry.last, alarm is None),
        entry.comparisons,
        entry.misses,
        entry.worst,
        entry.luck,
        entry.log10,
        ledger.threshold(entry),
        alarm,
        entry.last,
        now,
    )


def _share(entry: Entry, chance: float) -> tuple[float | None, float, float]:
    """Share of units that held, and the bar that holds it for good."""
    weight, missed = entry.renewed.weight, entry.renewed.missed
    if weight <= 0.0:
        return None, 0.0, 1.0
    share = missed / weight
    if entry.luck == LIFE:
        # All units are one draw of the hash functions.
        weight, missed = 1.0, share
    low, high = share_bar(weight, missed, chance)
    return 1.0 - share, min(1.0 - high, 1.0 - share), max(1.0 - low, 1.0 - share)


def held_by_all(ledger: Ledger) -> Answer:
    """The share that held over all checks ever made, with its interval.

    Earlier versions and dropped queries count too: a total of what stands now would forget misses
    when a query is replaced. The interval holds when those of all entries do, at all times.
    """
    entries = list(ledger.entries.values())
    known = [entry for entry in entries if entry.renewed.weight > 0.0]
    total = sum(entry.comparisons for entry in known)
    value, low, high = 0.0, 0.0, 0.0
    for entry in known:
        part = entry.comparisons / total
        share, below, above = _share(entry, chance_of(entry.number, BAR_CHANCE))
        value, low, high = value + part * (share or 0.0), low + part * below, high + part * above
    last = max((entry.last for entry in entries), default=0)
    shown = value if known else None
    return _drawn("all queries", shown, low, min(high, 1.0), last, not ledger.alarms)


def _drawn(name: str, share: float | None, low: float, high: float, at: int, quiet: bool) -> Answer:
    """A share as an answer, so that it is drawn with its bar like any number."""
    paid = [] if share is None else [Sides(BASIS, share - low, high - share, BAR_CHANCE)]
    ends = (math.nan, math.nan) if share is None else (low, high)
    return Answer(
        name, share, *ends, as_of=at, confidence=1.0 - BAR_CHANCE, basis=BASIS,
        charges=charges_of(paid), contract_met=quiet,
    )  # fmt: skip
