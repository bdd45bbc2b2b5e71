"""CREATE SINK: from what was written to the sink that it means."""

from __future__ import annotations

from pathlib import Path

from streamgauge.execute.declare import placed
from streamgauge.execute.names import members
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import Login
from streamgauge.language.statements import CreateSink
from streamgauge.plan.sink import Destination, Sink


def create_sink(trial: Trial, said: CreateSink, root: Path, *, replace: bool = False) -> Outcome:
    """CREATE SINK: the same again changes nothing; OR REPLACE goes on where the old one was."""
    parts = [part for name in said.queries for part in members(trial.registry, name)]
    queries = tuple(dict.fromkeys(parts))
    login = placed(dict(said.login), root)
    to = Destination(*said.target, Login.of(**login))
    sink = Sink(said.name, queries, to, said.history)
    known = trial.registry.sinks.get(said.name)
    if known is not None and known.sink == sink:
        return Outcome("unchanged sink", (said.name,))
    if known is not None and not (said.replace or replace):
        raise BindError(
            f"sink {said.name!r} exists already",
            f"it is {known.sink}",
            "write CREATE OR REPLACE SINK, or choose another name",
        )
    trial.apply({"do": "sink", "sink": sink.as_dict()})
    return Outcome("created sink" if known is None else "replaced sink", (said.name,))
