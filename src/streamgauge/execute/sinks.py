"""CREATE SINK: from what was written to the sink that it means."""

from __future__ import annotations

from pathlib import Path

from streamgauge.execute.declare import placed
from streamgauge.execute.entry import enter
from streamgauge.execute.names import members
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.login import Login
from streamgauge.language.statements import CreateSink
from streamgauge.plan.sink import Destination, Sink
from streamgauge.targets.table import address_of


def create_sink(trial: Trial, said: CreateSink, root: Path, *, replace: bool = False) -> Outcome:
    """CREATE SINK: the same again changes nothing; OR REPLACE goes on where the old one was."""
    parts = [part for name in said.queries for part in members(trial.registry, name)]
    queries = tuple(dict.fromkeys(parts))
    login = placed(dict(said.login), root)
    kind, address, place = said.target
    to = Destination(kind, address_of(kind, address, root), place, Login.of(**login))
    sink = Sink(said.name, queries, to, said.history)
    known = trial.registry.sinks.get(said.name)
    old = None if known is None else known.sink
    return enter(trial, "sink", sink, old, replace=said.replace or replace)
