"""CREATE ALERT: from what was written to the alert that it means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamgauge.execute.declare import placed
from streamgauge.execute.entry import enter
from streamgauge.execute.names import members
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import Login
from streamgauge.kernel.time import instant, instant_text
from streamgauge.language.statements import CreateAlert
from streamgauge.plan.alert import Alert, Target
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.targets.table import address_of

Pairs = tuple[tuple[str, str], ...]


def create_alert(trial: Trial, said: CreateAlert, root: Path, *, replace: bool = False) -> Outcome:
    """CREATE ALERT: the same again changes nothing; OR REPLACE makes a new version of it."""
    if said.query:
        _refuse_family(trial, said)
    targets = tuple(_target(root, *written) for written in said.targets)
    group = _group(trial.registry, said)
    alert = Alert(said.name, said.query, said.when, said.level, said.clear, group, targets)
    known = trial.registry.alerts.get(said.name)
    old = None if known is None else known.alert
    return enter(trial, "alert", alert, old, replace=said.replace or replace)


def _group(registry: Registry, said: CreateAlert) -> tuple[Any, ...]:
    """The values of a group as answers have them: 3 is 3.0 in a column of floats."""
    standing = registry.queries.get(said.query)
    if not said.group or standing is None or not isinstance(standing.asked, Query):
        return said.group
    asked = standing.asked
    if len(asked.cells) != len(said.group):
        return said.group
    kinds = dict(registry.stream(asked.stream).schema.columns)
    pairs = zip(asked.cells, said.group, strict=True)
    return tuple(_fitting(column, kinds.get(column, ""), value) for column, value in pairs)


def _fitting(column: str, kind: str, value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "float" and number:
        return float(value)
    if kind == "int" and number and float(value).is_integer():
        return int(value)
    fits = {
        "float": number,
        "int": False,
        "bool": isinstance(value, bool),
        "string": isinstance(value, str),
        "time": isinstance(value, str),
    }
    if value is not None and not fits.get(kind, True):
        raise BindError(
            f"{value!r} is no group",
            f"column {column!r} holds {kind}",
            "write the value as the answers show it",
        )
    return instant_text(instant(value)) if kind == "time" and value is not None else value


def _target(root: Path, kind: str, address: str, detail: str, login: Pairs) -> Target:
    stored = address_of(kind, address, root)
    return Target(kind, stored, detail, Login.of(**placed(dict(login), root)))


def _refuse_family(trial: Trial, said: CreateAlert) -> None:
    """A name that stands for several queries is no query."""
    parts = members(trial.registry, said.query)
    if parts != (said.query,):
        raise BindError(
            f"{said.query!r} stands for {len(parts)} queries",
            f"they are {', '.join(parts[:5])}",
            f'watch one of them, such as "{parts[0]}"',
        )
