"""CREATE ALERT: from what was written to the alert that it means."""

from __future__ import annotations

from pathlib import Path

from streamgauge.execute.names import members
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError
from streamgauge.language.statements import CreateAlert
from streamgauge.plan.alert import Alert, Target


def create_alert(trial: Trial, said: CreateAlert, root: Path, *, replace: bool = False) -> Outcome:
    """CREATE ALERT: the same again changes nothing; OR REPLACE makes a new version of it."""
    if said.query:
        _refuse_family(trial, said)
    targets = tuple(_target(root, *written) for written in said.targets)
    alert = Alert(said.name, said.query, said.when, said.level, said.clear, said.group, targets)
    known = trial.registry.alerts.get(said.name)
    if known is not None and known.alert == alert:
        return Outcome("unchanged alert", (said.name,))
    if known is not None and not (said.replace or replace):
        raise BindError(
            f"alert {said.name!r} exists already",
            f"it is {known.alert}",
            "write CREATE OR REPLACE ALERT, or choose another name",
        )
    trial.apply({"do": "alert", "alert": alert.as_dict()})
    return Outcome("created alert" if known is None else "replaced alert", (said.name,))


def _target(root: Path, kind: str, address: str, detail: str) -> Target:
    folder = str((root / address).absolute()) if kind == "mail" and address else address
    return Target(kind, folder, detail)


def _refuse_family(trial: Trial, said: CreateAlert) -> None:
    """A name that stands for several queries is no query."""
    parts = members(trial.registry, said.query)
    if parts != (said.query,):
        raise BindError(
            f"{said.query!r} stands for {len(parts)} queries",
            f"they are {', '.join(parts[:5])}",
            f'watch one of them, such as "{parts[0]}"',
        )
