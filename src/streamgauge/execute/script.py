"""Scripts: statements one after another, tried on a copy of the registry, kept all or none."""

from __future__ import annotations

from pathlib import Path

from streamgauge.execute import declare
from streamgauge.execute.alerts import create_alert
from streamgauge.execute.ask import ask, check_parameters, create_query
from streamgauge.execute.confine import Confined
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.show import describe, explain, show
from streamgauge.execute.sinks import create_sink
from streamgauge.execute.tables import alter_table, create_table
from streamgauge.execute.trial import Trial, located
from streamgauge.kernel.errors import BindError, Place, StreamgaugeError
from streamgauge.kernel.roots import Roots
from streamgauge.language.parse import parse, parse_all
from streamgauge.language.places import named_place
from streamgauge.language.statements import (
    Advance,
    AlterTable,
    Ask,
    Change,
    CreateAlert,
    CreateFunction,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateSummary,
    CreateTable,
    CreateView,
    CreateWindow,
    Describe,
    Explain,
    Query,
    Show,
    Statement,
    Terms,
)
from streamgauge.reading import Reader


class Script:
    """Runs statements on a trial.

    Parameters
    ----------
    reader
        What answers are read from.
    trial
        Where changes are tried.
    root
        Directory that relative paths start from.
    replace
        Whether CREATE of something that is there brings it to the new form, as project files do.
    roots
        Directories that paths are kept to; None for an operator, who may name any.
    """

    def __init__(
        self,
        reader: Reader,
        trial: Trial,
        *,
        root: Path | None = None,
        replace: bool = False,
        roots: Roots | None = None,
    ) -> None:
        self.reader = reader
        self.trial = trial
        self.root = root or Path.cwd()
        self.replace = replace
        self._confined = None if roots is None else Confined(roots, reader.home.root, self.root)

    def run(self, text: str, name: str | None = None) -> list[Outcome]:
        """Run all statements of a text; `name` is for the one question without a name in it."""
        statements = parse_all(text)
        _check_name(name, [statement for statement, _, _ in statements])
        outcomes = []
        for statement, own, line in statements:
            try:
                check_parameters(statement, own)
                outcomes.append(self.execute(statement, name))
            except StreamgaugeError as error:
                error.place = error.place or _place(text, own, line, error)
                if len(statements) == 1:
                    raise
                raise located(error, line) from error
        return outcomes

    def execute(self, said: Statement, name: str | None = None) -> Outcome:
        """Run one statement."""
        trial, replace = self.trial, self.replace
        if self._confined is not None:
            said = self._confined.statement(said)
        if isinstance(said, Ask):
            return ask(trial, said, name)
        if isinstance(said, CreateQuery):
            return create_query(trial, said, replace=replace)
        if isinstance(said, CreateStream):
            return declare.create_stream(trial, said, self.root)
        if isinstance(said, CreateWindow):
            return declare.create_window(trial, said, replace=replace)
        if isinstance(said, CreateTable):
            return create_table(trial, said, self.reader, self.root, replace=replace)
        if isinstance(said, AlterTable):
            return alter_table(trial, said)
        if isinstance(said, CreateFunction):
            return declare.create_function(trial, said, self.reader.home, replace=replace)
        if isinstance(said, CreateView):
            return declare.create_view(trial, said, replace=replace)
        if isinstance(said, Change):
            return declare.change(trial, said)
        if isinstance(said, Advance):
            return declare.advance(trial, said)
        if isinstance(said, CreateSummary):
            return declare.create_summary(trial, said, replace=replace)
        if isinstance(said, CreateAlert):
            return create_alert(trial, said, self.root, replace=replace)
        if isinstance(said, CreateSink):
            return create_sink(trial, said, self.root, replace=replace)
        return self._shown(said)

    def _shown(self, said: Show | Describe | Explain) -> Outcome:
        registry = self.trial.registry
        if isinstance(said, Show):
            return Outcome("", (), show(self.reader, registry, said.what, said.name))
        if isinstance(said, Describe):
            return Outcome("", (), describe(registry, said.name))
        return Outcome("", (), explain(self.reader, self.trial, said.target, analyze=said.analyze))


def parse_query(text: str) -> Query:
    """The query of a text that has no terms and no name."""
    said = parse(text)
    if not isinstance(said, Ask) or said.terms != Terms():
        raise BindError(
            "a view is a query and nothing else",
            f"got {type(said).__name__}",
            "write SELECT ... FROM ..., without terms such as EVERY after it",
        )
    return said.query


def _place(text: str, own: str, line: int, error: StreamgaugeError) -> Place:
    """Where a statement that begins in a line writes what an error names."""
    before = sum(len(part) + 1 for part in text.split("\n")[: line - 1])
    return named_place(text, own, text.index(own, before), error.what)


def _check_name(name: str | None, statements: list[Statement]) -> None:
    questions = sum(isinstance(statement, Ask) for statement in statements)
    if name is not None and questions != 1:
        raise BindError(
            f"the name {name!r} is for one SELECT",
            f"the text has {questions} without a name of their own",
            "write CREATE QUERY name AS SELECT ... for each",
        )
