"""Routes for whoever writes in the language: what is wrong, what can come, what a query says."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from streamgauge.execute.ask import check_parameters
from streamgauge.execute.known import known_names
from streamgauge.execute.names import members
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.show import explained
from streamgauge.execute.trial import Trial
from streamgauge.execute.wording import text_of
from streamgauge.kernel.errors import ParseError, StreamgaugeError
from streamgauge.language.complete import complete
from streamgauge.language.parse import Parsed, parse_each
from streamgauge.language.places import named_place
from streamgauge.language.statements import (
    Ask,
    CreateFunction,
    CreateQuery,
    CreateTable,
    Explain,
    Show,
    Statement,
)
from streamgauge.language.words import RESERVED, not_names, words
from streamgauge.plan.bidding import taken
from streamgauge.plan.memory import memory_of
from streamgauge.plan.offer import Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.server.access import Caller, Name, Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.shapes import NAME_LENGTH, SCRIPT_LENGTH, ScriptText, Sent, said
from streamgauge.server.statements import role_of

router = APIRouter(tags=["language"])

# Plans of one statement that are told, and problems of one script.
MOST_PLANS = 5
MOST_PROBLEMS = 50
_DECLARES = re.compile(r"CREATE\s+(?!(STANDING\s+)?QUERY\b)", re.IGNORECASE)


class CheckText(ScriptText):
    """Statements to look at, and the name that a single SELECT would get."""

    name: str | None = Field(None, min_length=1, max_length=NAME_LENGTH)


class PlaceShape(BaseModel):
    """Where in a text, in characters; line and column count from 1."""

    line: int
    column: int
    offset: int
    length: int


class FoundProblem(BaseModel):
    """A problem and its place."""

    title: str
    detail: str
    hint: str
    place: PlaceShape


class Foreseen(BaseModel):
    """A query as it would stand: what it is owed, who would answer it, what that takes."""

    name: str
    answers: str
    contract: str
    cadence: str
    technique: str
    spends: str
    bytes: int | None
    plan: str


class CheckedStatement(BaseModel):
    """A statement: what it is, what it would do to what, and whether that was tried."""

    kind: str
    names: list[str]
    did: str
    role: str
    tried: bool
    line: int
    offset: int
    length: int
    queries: list[Foreseen]


class Checked(BaseModel):
    """What a script would do; nothing was changed."""

    statements: list[CheckedStatement]
    problems: list[FoundProblem]


class CompleteText(Sent):
    """A script and a place in it, in characters."""

    text: str = Field(max_length=SCRIPT_LENGTH, examples=["SELECT AVG(value) FROM "])
    offset: int = Field(ge=0, le=SCRIPT_LENGTH)


class WordShape(BaseModel):
    """A word as it is written, and what it is."""

    word: str
    kind: str


class Completed(BaseModel):
    """Words that can stand from a place on."""

    from_: int = Field(alias="from")
    words: list[WordShape]


class Words(BaseModel):
    """Keywords: all, those that are never names, and those that are names only in quotes."""

    words: list[str]
    reserved: list[str]
    quoted: list[str]


class QueryWords(BaseModel):
    """The question of a query with all its terms; null when no text says the same."""

    name: str
    version: int
    text: str | None
    question: str


@router.post("/check", response_model=Checked)
def check(sent: CheckText, desk: AtDesk, caller: Reader) -> Response:
    """Read statements and try them without keeping anything; what is wrong is the answer.

    A stream is tried for admins only, since that reaches files; tables and functions never are,
    since they would be read and loaded. After a declaration that was not tried the other
    statements are only read.
    """
    script = _Checking(desk, caller, sent.text, sent.name)
    script.run()
    return said({"statements": script.statements, "problems": script.problems[:MOST_PROBLEMS]})


class _Checking:
    """Statements of a text, tried one after another on a registry that is thrown away."""

    def __init__(self, desk: Desk, caller: Caller, text: str, name: str | None) -> None:
        self.desk = desk
        self.caller = caller
        self.text = text
        self.name = name
        expected = desk.catalog.expected()
        self.known = expected.queries
        self.trial = Trial(expected)
        self.statements: list[dict[str, Any]] = []
        self.problems: list[dict[str, Any]] = []
        self._trying = True

    def run(self) -> None:
        try:
            parts = parse_each(self.text)
        except ParseError as error:
            self._note(error, Parsed(error, self.text, 0))
            return
        questions = sum(isinstance(part.said, Ask) for part in parts)
        for part in parts:
            if isinstance(part.said, ParseError):
                # What it would have declared is missing for those that follow.
                self._trying = self._trying and not _DECLARES.match(part.text)
                self._note(part.said, part)
            else:
                name = self.name if questions == 1 else None
                self._look(part, part.said, name)

    def _look(self, part: Parsed, statement: Statement, name: str | None) -> None:
        self._trying = self._trying and self._may_try(statement)
        told: dict[str, Any] = {
            "kind": kind_of(statement),
            "names": [],
            "did": "",
            "role": role_of(statement),
            "tried": self._trying,
            "line": self.text.count("\n", 0, part.start) + 1,
            "offset": part.start,
            "length": len(part.text),
            "queries": [],
        }
        self.statements.append(told)
        if not self._trying:
            return
        try:
            check_parameters(statement, part.text)
            outcome, registry = self._tried(statement, name)
        except StreamgaugeError as error:
            self._trying = not _DECLARES.match(part.text)
            told["tried"] = False
            self._note(error, part)
            return
        did = "" if isinstance(statement, Explain) else outcome.did
        told |= {"names": list(outcome.names), "did": did}
        told["queries"] = [self._foreseen(registry, n) for n in outcome.queries[:MOST_PLANS]]

    def _may_try(self, statement: Statement) -> bool:
        if isinstance(statement, CreateFunction | CreateTable):
            return False
        return self.caller.may("admin") or role_of(statement) != "admin"

    def _tried(self, statement: Statement, name: str | None) -> tuple[Outcome, Registry]:
        registry = self.trial.registry
        if isinstance(statement, Explain):
            if isinstance(statement.target, str):
                return Outcome("", members(registry, statement.target)), registry
            rehearsal = Trial(registry)
            return self.desk.script(rehearsal, self.caller).execute(
                statement.target
            ), rehearsal.registry
        if isinstance(statement, Show):
            # Showing answers reads them; here it is enough that the name is known.
            shown = members(registry, statement.name) if statement.name else ()
            return Outcome("", shown), registry
        return self.desk.script(self.trial, self.caller).execute(statement, name), registry

    def _foreseen(self, registry: Registry, name: str) -> dict[str, Any]:
        home = self.desk.gauge.home
        asked = registry.query(name).asked
        title, _, plan = explained(
            registry, name, shards=home.shards, epoch=home.committed()
        ).partition("\n")
        if name not in self.known:
            title = f"{name}, not registered"
        return {
            "name": name,
            "answers": "rows" if isinstance(asked, View) else "numbers",
            "contract": asked.owed,
            "cadence": str(asked.answer),
            **_cost(registry, asked),
            "plan": self.desk.problems.hidden(f"{title}\n{plan}"),
        }

    def _note(self, error: StreamgaugeError, part: Parsed) -> None:
        place = error.place
        if place is None:
            place = named_place(self.text, part.text, part.start, error.what)
        told = self.desk.problems.body(error)
        kept = {key: told[key] for key in ("title", "detail", "hint")}
        self.problems.append({**kept, "place": place._asdict()})


def kind_of(statement: Statement) -> str:
    """What a statement is, in words.

    >>> kind_of(Show("queries")), kind_of(CreateFunction("f", "m:f"))
    ('show', 'create function')
    """
    name = type(statement).__name__
    if isinstance(statement, CreateQuery) and statement.replace:
        return "alter query"
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    return spaced.strip()


def _cost(registry: Registry, asked: Query | View) -> dict[str, Any]:
    """Who would answer a query, what of the error it spends, and what it keeps."""
    offer = taken(asked, Statistics.of(registry, asked))
    if isinstance(asked, View):
        kind, why = memory_of(asked.plan)
        return {"technique": offer.technique, "spends": f"keeps {why} ({kind})", "bytes": None}
    return {"technique": offer.technique, "spends": offer.spends, "bytes": offer.nbytes}


@router.post("/complete", response_model=Completed)
def completion(sent: CompleteText, desk: AtDesk, _caller: Reader) -> Response:
    """What can come at a place of a text: keywords of the grammar, and names that fit there."""
    found = complete(sent.text, sent.offset, known_names(desk.catalog.expected()))
    return said({"from": found.start, "words": [word._asdict() for word in found.words]})


@router.get("/queries/{name}/text", response_model=QueryWords)
def words_of(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """A query in the language, with all its terms, to be changed and sent back."""
    registry = desk.catalog.expected()
    standing = registry.query(name)
    text = text_of(registry, standing.asked)
    asked = {"text": text, "question": str(standing.asked)}
    return said({"name": name, "version": standing.version, **asked})


@router.get("/words", response_model=Words)
def keywords(_caller: Reader) -> Response:
    """The keywords of the language."""
    return said({"words": words(), "reserved": sorted(RESERVED), "quoted": sorted(not_names())})
