"""Routes of the language, and of what is declared besides streams and queries."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query, Response

from streamgauge.execute.outcome import Outcome
from streamgauge.language.parse import parse_all
from streamgauge.language.statements import (
    Ask,
    Change,
    CreateFunction,
    CreateQuery,
    CreateSummary,
    CreateView,
    CreateWindow,
    Describe,
    Explain,
    Show,
    Statement,
)
from streamgauge.server.access import Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.shapes import Outcomes, Rows, ScriptText, said

router = APIRouter(tags=["language"])

MOST_ROWS = 1000
# Dropping what authors may create is theirs too.
AUTHORED = ("query", "window", "view", "summary")
Limit = Annotated[int, Query(ge=1, le=10_000)]


def role_of(statement: Statement) -> str:
    """Who may run a statement.

    Questions and what they are made of are for authors. Streams and tables reach
    files and addresses of the machine, so they are for admins, below the data roots. Functions run
    Python, which is a role of its own above admin. Operators name any file.

    >>> role_of(Show("queries")), role_of(Change("drop", "stream", ("plant",)))
    ('reader', 'admin')
    """
    if isinstance(statement, Show | Describe | Explain):
        return "reader"
    if isinstance(statement, Ask | CreateQuery | CreateWindow | CreateView | CreateSummary):
        return "author"
    if isinstance(statement, CreateFunction):
        return "functions"
    authored = isinstance(statement, Change) and statement.kind in AUTHORED
    return "author" if authored else "admin"


@router.post("/statements", response_model=Outcomes)
def run(sent: ScriptText, desk: AtDesk, caller: Reader) -> Response:
    """Run statements of the language, all or none; each needs the role that fits what it does."""
    for statement, _, _ in parse_all(sent.text):
        caller.need(role_of(statement))
    with desk.changing() as trial:
        outcomes = desk.script(trial, caller).run(sent.text)
    return said({"outcomes": [_as_dict(desk, outcome) for outcome in outcomes]})


def _as_dict(desk: Desk, outcome: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {"did": outcome.did, "names": list(outcome.names)}
    if isinstance(outcome.shown, pa.Table):
        told["columns"] = outcome.shown.column_names
        told |= rows_of(desk, outcome.shown, MOST_ROWS)
    elif outcome.shown is not None:
        told["text"] = desk.problems.hidden(outcome.shown)
    return told


def rows_of(desk: Desk, table: pa.Table, limit: int) -> dict[str, Any]:
    """The first rows of a table."""
    rows = table.slice(0, limit).to_pylist()
    return {"rows": [_hidden(desk, row) for row in rows], "total": table.num_rows}


def _hidden(desk: Desk, row: dict[str, Any]) -> dict[str, Any]:
    hide = desk.problems.hidden
    return {name: hide(cell) if isinstance(cell, str) else cell for name, cell in row.items()}


@router.get("/tables", response_model=Rows)
def tables(desk: AtDesk, _caller: Reader, limit: Limit = MOST_ROWS) -> Response:
    """Stored tables."""
    return said(
        rows_of(desk, desk.shown(Show("tables")).drop_columns(["origin", "failure"]), limit)
    )


@router.get("/windows", response_model=Rows)
def windows(desk: AtDesk, _caller: Reader, limit: Limit = MOST_ROWS) -> Response:
    """Named windows."""
    return said(rows_of(desk, desk.shown(Show("windows")), limit))


@router.get("/summaries", response_model=Rows)
def summaries(desk: AtDesk, _caller: Reader, limit: Limit = MOST_ROWS) -> Response:
    """Summaries that promising queries are judged by."""
    return said(rows_of(desk, desk.shown(Show("summaries")), limit))


@router.get("/agents", response_model=Rows)
def agents(
    desk: AtDesk, _caller: Reader, stream: str | None = None, limit: Limit = MOST_ROWS
) -> Response:
    """Who feeds the streams, whether they are heard, what they sent of what they read."""
    return said(rows_of(desk, desk.gauge.agents(stream), limit))


@router.get("/agents/objects", response_model=Rows)
def objects(
    desk: AtDesk, _caller: Reader, stream: str | None = None, limit: Limit = MOST_ROWS
) -> Response:
    """What agents look at, with the widths of the bounds."""
    return said(rows_of(desk, desk.gauge.objects(stream), limit))
