"""Rehearsal: what bringing a project to a gauge would change, before anything does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.execute.ask import check_parameters
from streamgauge.execute.declare import put_stream
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError, ParseError, StreamgaugeError
from streamgauge.language.parse import parse_all
from streamgauge.language.statements import (
    Advance,
    AlterTable,
    Change,
    CreateQuery,
    CreateTable,
    CreateWindow,
    Describe,
    Explain,
    Show,
    Statement,
)
from streamgauge.plan.query import Query
from streamgauge.plan.windowless import stored_form
from streamgauge.reading import Reader
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

_PLACE = re.compile(r"(?<=line )\d+, column \d+")


@dataclass(frozen=True, slots=True)
class Refused:
    """A statement or entry that does not fit, and where it stands."""

    place: str
    error: StreamgaugeError

    def located(self) -> StreamgaugeError:
        """The error, with its place."""
        error = self.error
        return type(error)(error.what, f"{self.place}: {error.detail}", error.hint)


@dataclass(slots=True)
class Rehearsal:
    """Changes of a project, tried one after another; those that do not fit are gathered.

    Parameters
    ----------
    reader
        The gauge.
    trial
        Where the changes are tried.
    """

    reader: Reader
    trial: Trial
    outcomes: list[Outcome] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)

    def put_stream(self, stream: Stream) -> None:
        """Declare a stream."""
        self.outcomes.append(put_stream(self.trial, stream))

    def put_window(self, name: str, window: Window) -> None:
        """Create a window, or resize it."""
        self._execute(CreateWindow(name, window), f"windows.{name}", Path())

    def put_queries(self, queries: Iterable[Query]) -> None:
        """Register queries, or alter those of another form."""
        queries = list(queries)
        self.declared.update(query.name for query in queries)
        known = self.trial.registry.queries
        fresh = [query for query in queries if query.name not in known]
        changed = [q for q in queries if q.name in known and known[q.name].asked != q]
        try:
            stored_form(queries, self.trial.registry)
            self.trial.register(list(fresh))
            self.trial.alter(list(changed))
        except StreamgaugeError as error:
            self.refused.append(Refused("queries", error))
            return
        for did, some in (("registered", fresh), ("altered", changed)):
            if some:
                self.outcomes.append(Outcome(did, tuple(query.name for query in some)))

    def put_script(self, path: Path, text: str) -> None:
        """Bring a file of statements; each that does not fit is refused, the others hold."""
        try:
            statements = parse_all(text)
        except ParseError as error:
            place = ":".join([str(path), *_PLACE.findall(error.detail)[:1]]).replace(
                ", column ", ":"
            )
            self.refused.append(Refused(place, error))
            return
        lines = text.split("\n")
        for statement, own, line in statements:
            column = lines[line - 1].find(own.split("\n")[0]) + 1
            self._execute(statement, f"{path}:{line}:{column}", path.parent, own)

    def _execute(self, statement: Statement, place: str, root: Path, text: str = "") -> None:
        script = Script(self.reader, self.trial, root=root, replace=True)
        try:
            _check_declares(statement)
            check_parameters(statement, text)
            outcome = script.execute(statement)
        except StreamgaugeError as error:
            self.refused.append(Refused(place, error))
            return
        self.outcomes.append(outcome)
        self.declared.update(outcome.queries)


def _check_declares(statement: Statement) -> None:
    acts = isinstance(statement, (Advance, AlterTable, Change, Describe, Explain, Show))
    altering = (isinstance(statement, CreateQuery) and statement.replace) or (
        isinstance(statement, CreateWindow) and statement.resize
    )
    if acts or altering or (isinstance(statement, CreateTable) and statement.refresh):
        raise BindError(
            "a project file declares, it does not act",
            f"a statement of kind {type(statement).__name__}",
            "write CREATE statements and SELECTs; run others with streamgauge sql",
        )
