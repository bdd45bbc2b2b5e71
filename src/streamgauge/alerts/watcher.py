"""Watcher: goes through committed epochs, works out crossings, and has each delivered once.

What is raised and what waits to be delivered is saved with the number of the epoch it follows
from, before anything is sent. After a crash the same answers give the same crossings with the
same ids.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.alerts.couriers import FIRST_WAIT, Couriers, sender_of
from streamgauge.alerts.crossing import CLEARED, RAISED, Crossing, crossing_id
from streamgauge.alerts.judge import Panel, Turn, group_text, turns
from streamgauge.alerts.outbox import Outbox
from streamgauge.alerts.public_address import networks
from streamgauge.audit.auditor import FOLDER as AUDITED
from streamgauge.audit.ledger import Alarm
from streamgauge.audit.report import read as read_audit
from streamgauge.contracts.answer import Answer
from streamgauge.contracts.schema import ANSWERS
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.time import instant_text
from streamgauge.log import lock
from streamgauge.log.home import Home
from streamgauge.plan.alert import StandingAlert
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.reading import Reader
from streamgauge.results.change_log import as_answers, epoch_answers, epochs_after
from streamgauge.results.follower import STATE, Follower
from streamgauge.targets.target_kind import AlertSite

FOLDER = "alerts"
FIRST = -(2**63)
LOOKS = 20


def watched(home: Home) -> bool:
    """Whether some process watches a home now."""
    return lock.held(home.root / FOLDER)


class Alarms:
    """Alarms of the auditor of a home, read again when it has saved something."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._stamp = 0
        self._known: Sequence[Alarm] = ()

    def read(self, registry: Registry) -> Sequence[Alarm]:
        """All alarms so far, in the order they came."""
        try:
            stamp = (self.home.root / AUDITED / STATE).stat().st_mtime_ns
        except FileNotFoundError:
            return ()
        if stamp != self._stamp:
            self._known, self._stamp = read_audit(self.home, registry).alarms, stamp
        return self._known


class Watcher(Follower):
    """Judges the answers of a home by its alerts and delivers what they cross.

    Parameters
    ----------
    reader
        The home, as a gauge or as a reader. One watcher works on a home at a time.
    first_wait
        Seconds until a delivery that failed is tried again; twice as long each further time.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        first_wait: float = FIRST_WAIT,
        allow_webhooks: Sequence[str] = (),
    ) -> None:
        allowed = networks(allow_webhooks)
        super().__init__(reader.home, FOLDER)
        self.alarms = Alarms(reader.home)
        self.origin = uuid.uuid4().hex[:16]
        self.outbox = Outbox(self.folder)
        self.couriers = Couriers(
            self.outbox,
            lambda target: sender_of(target, AlertSite(self.origin, allowed)),
            first_wait=first_wait,
        )
        # By alert, then by group: its last crossing.
        self.states: dict[str, dict[str, Crossing]] = {}
        self.known: dict[str, StandingAlert] = {}
        self.totals = {RAISED: 0, CLEARED: 0}
        self._looked: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._grouping: dict[str, list[str]] = {}
        self._heard: dict[str, list[str]] = {}
        self._registry: Registry | None = None
        self._panel = Panel(())
        self._read_at = -1

    def open(self) -> None:
        """Go on where the last watcher was; the first one gives the home's alerts their origin."""
        # Whoever looks whether a watcher is there holds the lock for a moment.
        for _ in range(LOOKS):
            if not watched(self.home):
                break
            self._halt.wait(0.05)
        super().open()
        self.save()

    def take(self, epoch: int) -> None:
        """Judge the answers of an epoch by the alerts that are in force at it."""
        self._follow(epoch)
        self._judge(epoch_answers(self.home, epoch))

    def rest(self) -> None:
        """Look at alerts that are new, at alarms, and at deliveries that failed."""
        committed = self.home.committed()
        if not epochs_after(self.home, self.place):
            self._follow(committed)
            if self._look(committed) | self._hear() or self.outbox.dirty:
                self.save()
        self.couriers.wake()

    def save(self) -> None:
        """Write down what is raised and what waits; only then may it be sent."""
        try:
            super().save()
        except (OSError, StreamgaugeError):
            self.outbox.dirty = True
            raise
        self.outbox.kept()
        self.couriers.wake()

    def saved(self) -> dict[str, Any]:
        """All that a watcher after a crash goes on from."""
        return {
            "origin": self.origin,
            "known": [standing.as_dict() for standing in self.known.values()],
            "states": {
                alert: {group: crossing.as_dict() for group, crossing in found.items()}
                for alert, found in self.states.items()
            },
            "totals": self.totals,
            "looked": self._looked,
            "newest": self._newest,
            "grouping": self._grouping,
            "heard": self._heard,
            **self.outbox.saved(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what was saved."""
        self.origin = state["origin"]
        known = [StandingAlert.from_dict(item) for item in state["known"]]
        self.known = {standing.alert.name: standing for standing in known}
        self.states = {
            alert: {group: Crossing.from_dict(item) for group, item in found.items()}
            for alert, found in state["states"].items()
        }
        self.totals = state["totals"]
        self._looked, self._newest = state["looked"], state["newest"]
        self._grouping, self._heard = state["grouping"], state["heard"]
        self.outbox.restore(state)

    def finish(self, timeout: float = 60.0) -> bool:
        """Wait until all that is judged so far is delivered; whether that came in time."""
        return self.couriers.finish(timeout)

    def stop(self) -> None:
        """Stop watching and sending; what waits is sent by the next watcher."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
        self.couriers.stop()
        if self.outbox.dirty:
            super().save()
            self.outbox.kept()
        self.close()

    def _follow(self, epoch: int) -> None:
        """Bring the alerts to what they are at an epoch."""
        before = self._registry
        if before is not None and before.epoch == epoch:
            return
        registry = registry_at(self.home, epoch, before)
        self._registry = registry
        if registry.changed <= self._read_at:
            return
        self._read_at = registry.epoch
        fresh = dict(registry.alerts)
        for name, standing in self.known.items():
            if name not in fresh or fresh[name].born != standing.born:
                self._forget(name)
            elif fresh[name].version != standing.version:
                self.outbox.forget(name, [target.key for target in fresh[name].alert.targets])
        # A rest without answers saves it too.
        self.outbox.dirty |= fresh != self.known
        self.known = fresh
        self._end_unwatched(registry)
        self._panel = Panel(s.alert for s in fresh.values() if s.alert.query)

    def _forget(self, name: str) -> None:
        """An alert that was dropped is told no more."""
        self.outbox.forget(name)
        for kept in (self.states, self._looked, self._heard):
            kept.pop(name, None)

    def _end_unwatched(self, registry: Registry) -> None:
        """Clear what is raised for groups that the query or the alert no longer has."""
        for name, standing in self.known.items():
            alert = standing.alert
            if not alert.query:
                continue
            asked = registry.query(alert.query).asked
            by = list(asked.cells) if isinstance(asked, Query) else []
            regrouped = self._grouping.get(name, by) != by
            self._grouping[name] = by
            only = group_text(alert.group)
            for group, last in list(self.states.get(name, {}).items()):
                if last.state == RAISED and (regrouped or (only and group != only)):
                    self._cross(standing, group, CLEARED, last.at, because="no longer watched")
        self._grouping = {name: by for name, by in self._grouping.items() if name in self.known}

    def _judge(self, table: pa.Table) -> None:
        raised = {
            alert: [group for group, last in found.items() if last.state == RAISED]
            for alert, found in self.states.items()
        }
        judged, found = turns(self._panel, self._not_outdated(table), raised)
        if not found:
            return
        rows = judged.take(pa.array([turn.row for turn in found], pa.int64()))
        for turn, answer in zip(found, as_answers(rows), strict=True):
            self._turn(turn, answer)

    def _turn(self, turn: Turn, answer: Answer) -> None:
        state = RAISED if turn.raised else CLEARED
        at = instant_text(answer.as_of)
        self._cross(self.known[turn.alert], turn.group, state, at, answer=answer.as_dict())

    def _cross(
        self,
        standing: StandingAlert,
        group: str,
        state: str,
        at: str,
        *,
        answer: dict[str, Any] | None = None,
        because: str = "",
    ) -> None:
        alert = standing.alert
        states = self.states.setdefault(alert.name, {})
        n = states[group].n + 1 if group in states else 1
        crossing = Crossing(
            crossing_id(self.origin, alert.name, standing.born, group, n),
            alert.name,
            standing.version,
            alert.query,
            tuple(json.loads(group)) if group else (),
            alert.words,
            state,
            n,
            at,
            answer,
            because,
        )
        states[group] = crossing
        self.totals[state] += 1
        self.outbox.put(crossing, alert.targets)

    def _not_outdated(self, table: pa.Table) -> pa.Table:
        """Leave out revised answers of instants that a later answer of the group has followed.

        Only streams that revise can give such, so only their groups are remembered.
        """
        assert self._registry is not None
        late = {name for name, s in self._registry.streams.items() if s.late.policy == "revise"}
        revising = {
            query for query in self._panel.queries.to_pylist()
            if late.intersection(self._registry.queries[query].asked.streams)
        }  # fmt: skip
        if not revising:
            return table
        ours = pc.is_in(table["query"], value_set=pa.array(sorted(revising), pa.string()))
        rows = np.flatnonzero(ours.to_numpy())
        part = table.take(pa.array(rows))
        named = pc.binary_join_element_wise(part["query"], part["group"], "\n")
        keys = named.combine_chunks().dictionary_encode()
        code = np.asarray(keys.indices.to_numpy(), np.int64)
        times = np.asarray(part["as_of"].cast(pa.int64()).to_numpy())
        texts = keys.dictionary.to_pylist()
        newest = np.array([self._newest.get(text, FIRST) for text in texts], np.int64)
        keep = np.ones(table.num_rows, bool)
        keep[rows] = times >= newest[code]
        np.maximum.at(newest, code, times)
        self._newest |= dict(zip(texts, newest.tolist(), strict=True))
        return table.filter(pa.array(keep))

    def _look(self, committed: int) -> bool:
        """Judge the answers that stand already by alerts that are new or were replaced."""
        fresh = [s for s in self.known.values() if self._looked.get(s.alert.name) != s.version]
        if not fresh:
            return False
        queries = {standing.alert.query for standing in fresh if standing.alert.query}
        # Each reading begins with the whole registry, so many are read in one.
        only = next(iter(queries)) if len(queries) == 1 else None
        newest = latest_answers(self.home, only) if queries else []
        found = [answer for answer in newest if answer.query in queries]
        if self.home.committed() != committed:
            # An epoch came meanwhile: its answers are to be judged in their turn.
            return False
        self._judge(_as_table(found))
        self._looked |= {standing.alert.name: standing.version for standing in fresh}
        return True

    def _hear(self) -> bool:
        """Raise alerts on the auditor's alarms; an alarm is never taken back."""
        listening = [s for s in self.known.values() if not s.alert.query]
        assert self._registry is not None
        told = self.alarms.read(self._registry) if listening else ()
        found = False
        for standing in listening:
            heard = self._heard.setdefault(standing.alert.name, [])
            for alarm in told:
                if alarm.id not in heard:
                    heard.append(alarm.id)
                    found = True
                    group = group_text((alarm.query or alarm.id,))
                    at = instant_text(alarm.at)
                    self._cross(standing, group, RAISED, at, because=alarm.text)
        return found


def _as_table(answers: Iterable[Answer]) -> pa.Table:
    """Answers as the columns that they are judged by."""
    rows = sorted(answers, key=lambda answer: answer.as_of)
    plain = [
        {
            **{name: getattr(a, name) for name in ANSWERS.names},
            "group": group_text(a.group),
            "charges": [charge.as_row() for charge in a.charges],
        }
        for a in rows
    ]
    return pa.Table.from_pylist(plain, ANSWERS)
