"""The shapes of what is sent and given, as the description of the interface has them."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

NAME_LENGTH = 200
TEXT_LENGTH = 100_000
SCRIPT_LENGTH = 2_000_000


class Sent(BaseModel):
    """What a client sends; a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid")


class QueryText(Sent):
    """A question."""

    text: str = Field(min_length=1, max_length=TEXT_LENGTH, examples=["SELECT COUNT(*) FROM s"])


class NewQuery(QueryText):
    """A question and its name."""

    name: str = Field(min_length=1, max_length=NAME_LENGTH)


class ScriptText(Sent):
    """Statements of the language."""

    text: str = Field(max_length=SCRIPT_LENGTH, examples=["SHOW QUERIES"])


class LateRows(Sent):
    """What becomes of late rows: drop, allow or revise, by how long."""

    policy: str = "drop"
    by: str = "0 s"


class NewStream(Sent):
    """A stream: as the text of CREATE STREAM, or field by field."""

    text: str | None = Field(None, max_length=TEXT_LENGTH)
    name: str = Field("", max_length=NAME_LENGTH)
    source: dict[str, str | int | float | bool] = Field(
        default_factory=dict, examples=[{"kind": "plant", "n_sensors": 10}]
    )
    columns: dict[str, str] = Field(default_factory=dict)
    time: str = ""
    key: list[str] = Field(default_factory=list)
    tick: str | None = None
    gap: str | None = None
    keep: str | None = None
    future: str | None = None
    late: LateRows | None = None
    changes: str | None = None
    capacity: int | None = Field(None, ge=1, le=2**31)
    width: str | None = None
    idle: str | None = None


class ChargeShape(BaseModel):
    """A cause of error: what it adds to the interval, in all, below and above its value."""

    by: str
    width: float | None
    delta: float
    below: float | None
    above: float | None


class AnswerShape(BaseModel):
    """A number with its bar; ends without a bound are null."""

    query: str
    version: int
    group: list[Any]
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    as_of: str
    epoch: int
    revision: int
    coverage: float
    basis: str
    charges: list[ChargeShape]
    contract_met: bool
    slope: float | None
    share: float


class RowChangeShape(BaseModel):
    """A row that came (count above 0) or went."""

    query: str
    version: int
    row: dict[str, Any]
    count: int
    as_of: str
    epoch: int
    missing: int
    contract_met: bool
    share: float
    unseen: float | None
    coverage: float


class WaitingShape(BaseModel):
    """Why a query has no answer yet, and the event time of the check that may give one."""

    why: str
    until: str | None
    text: str


class QueryShape(BaseModel):
    """A standing query.

    `status` is running, paused, suspended, or waiting until a change is in force. `note` says why a
    query is suspended, or what its answers miss.
    """

    name: str
    answers: str
    streams: list[str]
    question: str
    text: str | None
    cadence: str
    contract: dict[str, Any]
    status: str
    version: int
    epoch: int
    groups: int
    latest: list[AnswerShape]
    waiting: WaitingShape | None
    note: str


class QueryPage(BaseModel):
    """Some queries by name; `next` is the cursor of those that follow."""

    epoch: int
    total: int
    queries: list[QueryShape]
    next: str | None


class History(BaseModel):
    """Answers, or changes of rows, oldest first; `next` is the cursor of those that follow."""

    epoch: int
    answers: list[AnswerShape | RowChangeShape]
    next: str | None


class Newest(BaseModel):
    """The newest answers of each group, or the rows that are held."""

    epoch: int
    answers: list[AnswerShape] | None = None
    rows: list[dict[str, Any]] | None = None
    total: int


class StreamShape(BaseModel):
    """A stream: its declaration and how far it has come."""

    name: str
    declaration: dict[str, Any]
    in_force: bool
    rows: int
    late: int | None
    lateness: float
    dead_letters: int
    reached: str | None
    idle_since: str | None
    interruption: dict[str, Any]
    agents: dict[str, int]
    feed: dict[str, str] | None
    readers: int


class Rows(BaseModel):
    """Rows of a table, at most `limit` of `total`."""

    rows: list[dict[str, Any]]
    total: int


class Plan(BaseModel):
    """A plan as text."""

    name: str
    plan: str


class Outcomes(BaseModel):
    """What each statement did or shows."""

    outcomes: list[dict[str, Any]]


def plain(value: Any) -> Any:
    """A value as JSON can say it: times as text, numbers that are none as null.

    >>> plain({"heat": [1.5, float("inf")]})
    {'heat': [1.5, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


def said(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
    """A value as a response."""
    return JSONResponse(plain(value), status, headers)
