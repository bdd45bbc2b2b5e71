"""Board: what a list shows of every standing query, in columns, with its newest answer."""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Literal, NamedTuple

import pyarrow as pa
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel

from streamgauge.contracts.answer import Answer, Charge, finite
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.time import instant_text
from streamgauge.log.home import Home
from streamgauge.plan.registry import Listed, Standing, streams_of
from streamgauge.plan.shadows import is_shadow
from streamgauge.plan.view import View
from streamgauge.results.change_log import epoch_answers, epochs_after
from streamgauge.server.access import Reader
from streamgauge.server.beside import Beside, Held, Patient, Sideline
from streamgauge.server.desk import Desk
from streamgauge.server.problems import Refused
from streamgauge.server.shapes import NAME_LENGTH, said

router = APIRouter(tags=["queries"])

STATES = ("met", "broken", "degraded", "suspended", "paused", "waiting")
# Who widens a bar from outside: the contract is not met, and the query is not to blame.
OUTSIDE = frozenset(("interruption", "late rows"))
# Thousands of queries take seconds to read while the job is busy.
PATIENCE_SECONDS = 1.0
# The epoch of a list whose answers were not read yet.
UNREAD = -1
MOST = 20_000
MOST_TRAILS = 200
# Epochs that are looked through for the last answers of some queries.
TRAIL_EPOCHS = 60
# Answers to different requests that are kept ready, and bytes from which they are squeezed.
MOST_KEPT = 4
SQUEEZE_BYTES = 4096
State = Literal["met", "broken", "degraded", "suspended", "paused", "waiting"]
Newest = tuple[int, dict[str, list[Answer]]]
Order = Literal["name", "widest", "newest"]


class BoardPage(BaseModel):
    """Queries in columns: place i of each belongs to query i.

    `epoch` is that of the answers, -1 while they are read for the first time.
    `counts` are of all that fit `search`, by state; `silent` are agents that are not heard, by
    stream. Of a grouped query the answer is that of its worst group. A view has no answer;
    `held` is how many rows it has. `strains` are widths relative to what is owed, null without
    bound or where no width is owed; `saved` and `suppressed` are shares of checks and messages;
    `audits` say what the auditor found: now (it looks), held or alarm.
    """

    epoch: int
    total: int
    counts: dict[str, int]
    silent: dict[str, list[str]]
    names: list[str]
    states: list[str]
    kinds: list[str]
    versions: list[int]
    contracts: list[str]
    streams: list[list[str]]
    groups: list[int]
    held: list[int | None]
    group: list[list[Any]]
    values: list[float | None]
    lows: list[float | None]
    highs: list[float | None]
    confidences: list[float | None]
    bases: list[str | None]
    charges: list[list[list[Any]]]
    met: list[bool | None]
    as_of: list[str | None]
    epochs: list[int | None]
    coverages: list[float | None]
    shares: list[float | None]
    strains: list[float | None]
    saved: list[float | None]
    suppressed: list[float | None]
    audits: list[str | None]


class Trails(BaseModel):
    """The last answers by query, oldest first: each is epoch, as_of, value, low, high, met."""

    epoch: int
    groups: dict[str, list[Any]]
    trails: dict[str, list[list[Any]]]


@dataclass(frozen=True, slots=True)
class Row:
    """One query as the list shows it."""

    standing: Standing
    state: str
    streams: tuple[str, ...]
    groups: int
    answer: Answer | None
    held: Held | None
    strain: float | None
    saved: float | None
    suppressed: float | None
    audit: str | None


class Lookup(NamedTuple):
    """Which rows are wanted, in which order."""

    search: str = ""
    state: str | None = None
    order: str = "name"
    offset: int = 0
    limit: int = MOST
    shadows: bool = False


class Kept(NamedTuple):
    """A response that is ready: its tag, and its body plain and squeezed."""

    tag: str
    plain: bytes
    squeezed: bytes | None


class Board:
    """Puts the list together, once for all who ask while nothing changes.

    Parameters
    ----------
    desk
        What is registered, and the newest answers.
    patience
        Seconds that one who asks waits for answers that are being read; then the list has those
        of before, and at first none.
    """

    def __init__(self, desk: Desk, patience: float = PATIENCE_SECONDS) -> None:
        self.desk = desk
        self.newest = Patient[Newest](desk.newest.read, (UNREAD, {}), patience=patience)
        self.sideline = Sideline(desk.gauge, desk.catalog.committed)
        self._lock = threading.Lock()
        self._seen: tuple[int, dict[str, Listed], Beside] | None = None
        self._rows: list[Row] = []
        self._kept: dict[Lookup, Kept] = {}

    def response(self, lookup: Lookup) -> Kept:
        """The list as it is sent; worked out when something changed, else given again."""
        with self._lock:
            beside = self.sideline.read()
            epoch, newest = self.newest.now()
            now = epoch, self.desk.listed(), beside
            if now != self._seen:
                self._seen, self._kept = now, {}
                self._rows = [row_of(item, newest, beside) for item in now[1].values()]
            if lookup not in self._kept:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[lookup] = _kept(page(self._rows, lookup, epoch, beside.silent))
            return self._kept[lookup]

    def trails(self, names: list[str], limit: int) -> dict[str, Any]:
        """The last answers of some queries, of a grouped one those of the group it is listed by."""
        with self._lock:
            _, newest = self.newest.now()
        registry = self.desk.catalog.expected().queries
        wanted: dict[str, tuple[Any, ...]] = {}
        for name in names:
            if name in registry:
                version = registry[name].version
                current = [a for a in newest.get(name, ()) if a.version == version]
                wanted[name] = worst(current).group if current else ()
        home = self.desk.gauge.home
        return {
            "epoch": home.committed(),
            "groups": {name: list(group) for name, group in wanted.items()},
            "trails": _trails(home, wanted, limit),
        }


def worst(answers: list[Answer]) -> Answer:
    """The answer that needs attention most: not met before met, then the widest.

    >>> narrow, wide = Answer("a", 1.0, 1.0, 1.0, 0), Answer("a", 5.0, 4.0, 6.0, 0)
    >>> worst([narrow, wide]).value
    5.0
    """
    if len(answers) == 1:
        return answers[0]
    return min(answers, key=lambda answer: (answer.contract_met, -_width(answer)))


def _width(answer: Answer) -> float:
    return float("inf") if answer.value is None else answer.high - answer.low


def strain(contract: Contract, answer: Answer) -> float | None:
    """How far the bar reaches relative to what is owed; None where no width is owed.

    >>> strain(Contract.absolute(2.0), Answer("a", 5.0, 4.0, 6.0, 0))
    0.5
    """
    if answer.value is None or contract.tolerance in ("rank", "best"):
        return None
    reach = max(answer.high - answer.value, answer.value - answer.low)
    owed = contract.within
    if contract.tolerance == "relative":
        owed *= abs(answer.value)
    if owed:
        return reach / owed
    return float("inf") if reach > 0.0 else 0.0


def state_of(item: Listed, answer: Answer | None, held: Held | None) -> str:
    """One of STATES: waiting until in force and answered, degraded by what is outside a query."""
    if not item.in_force:
        return "waiting"
    if item.standing.suspended is not None:
        return "suspended"
    if item.standing.status == "paused":
        return "paused"
    if held is not None:
        return "met" if held.met and held.share >= 1.0 else "degraded"
    if answer is None:
        return "waiting"
    if answer.contract_met:
        return "met"
    partial = answer.value is None or answer.coverage < 1.0 or answer.share < 1.0
    outside = any(charge.by in OUTSIDE for charge in answer.charges)
    return "degraded" if partial or outside or answer.basis == "interrupted" else "broken"


def row_of(item: Listed, newest: dict[str, list[Answer]], beside: Beside) -> Row:
    """One query with its worst answer."""
    standing = item.standing
    found = [a for a in newest.get(standing.name, ()) if a.version == standing.version]
    answer = worst(found) if found else None
    held = beside.held.get((standing.name, standing.version))
    streams = streams_of(standing.asked)
    return Row(
        standing,
        state_of(item, answer, held),
        streams,
        len(found),
        answer,
        held,
        None if answer is None else strain(standing.asked.contract, answer),
        beside.saved.get(standing.name),
        beside.kept_back(streams),
        beside.audits.get((standing.name, standing.version)),
    )


@lru_cache(4096)
def _words(contract: Contract, over_time: bool) -> str:
    return contract.words(over_time=over_time)


_texts = lru_cache(4096)(instant_text)


def _by_width(row: Row) -> tuple[float, str]:
    """Widest first; those without a bound before all others, those that owe no width last."""
    if row.answer is None:
        return 2.0, row.standing.name
    if row.strain is None:
        return (-float("inf") if row.answer.value is None else 1.0), row.standing.name
    return -row.strain, row.standing.name


def _by_change(row: Row) -> tuple[int, str]:
    given = 0 if row.answer is None else row.answer.epoch
    return -max(given, row.standing.epoch), row.standing.name


ORDERS = {"name": lambda row: row.standing.name, "widest": _by_width, "newest": _by_change}


def page(
    rows: list[Row], lookup: Lookup, epoch: int, silent: dict[str, list[str]]
) -> dict[str, Any]:
    """The rows that are wanted, as columns."""
    fitting = [
        row
        for row in rows
        if lookup.search in row.standing.name
        and (lookup.shadows or not is_shadow(row.standing.name))
    ]
    counted = Counter(row.state for row in fitting)
    chosen = [row for row in fitting if lookup.state in (None, row.state)]
    chosen.sort(key=ORDERS[lookup.order])
    return {
        "epoch": epoch,
        "total": len(chosen),
        "counts": {state: counted[state] for state in STATES},
        "silent": silent,
        **columns(chosen[lookup.offset : lookup.offset + lookup.limit]),
    }


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    """Rows turned to columns that JSON can say."""
    asked = [row.standing.asked for row in rows]
    answers = [row.answer for row in rows]
    return {
        "names": [row.standing.name for row in rows],
        "states": [row.state for row in rows],
        "kinds": ["rows" if isinstance(one, View) else "numbers" for one in asked],
        "versions": [row.standing.version for row in rows],
        "contracts": [_words(one.contract, one.over_time) for one in asked],
        "streams": [row.streams for row in rows],
        "groups": [row.groups for row in rows],
        "held": [row.held and row.held.rows for row in rows],
        "group": [a.group if a else () for a in answers],
        "values": [a and a.value for a in answers],
        "lows": [a and finite(a.low) for a in answers],
        "highs": [a and finite(a.high) for a in answers],
        "confidences": [a and a.confidence for a in answers],
        "bases": [a and a.basis for a in answers],
        "charges": [_paid(a.charges) if a else () for a in answers],
        "met": [a and a.contract_met for a in answers],
        "as_of": [a and _texts(a.as_of) for a in answers],
        "epochs": [a and a.epoch for a in answers],
        "coverages": [a and a.coverage for a in answers],
        "shares": [
            a.share if a else row.held and row.held.share
            for row, a in zip(rows, answers, strict=True)
        ],
        "strains": [None if row.strain is None else finite(row.strain) for row in rows],
        "saved": [row.saved for row in rows],
        "suppressed": [row.suppressed for row in rows],
        "audits": [row.audit for row in rows],
    }


def _paid(charges: Iterable[Charge]) -> list[list[Any]]:
    return [[charge.by, finite(charge.width)] for charge in charges]


def _kept(found: dict[str, Any]) -> Kept:
    plain = json.dumps(found, separators=(",", ":")).encode()
    tag = f'"{blake2b(plain, digest_size=12).hexdigest()}"'
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    large = len(plain) >= SQUEEZE_BYTES
    return Kept(tag, plain, squeeze.compress(plain) + squeeze.flush() if large else None)


def _trails(
    home: Home, wanted: dict[str, tuple[Any, ...]], limit: int
) -> dict[str, list[list[Any]]]:
    """The last answers by name and group; those of earlier versions show what a change did."""
    found: dict[str, list[list[Any]]] = {name: [] for name in wanted}
    lacking = set(wanted)
    for epoch in reversed(epochs_after(home, 0)[-TRAIL_EPOCHS:]):
        if not lacking:
            break
        given = epoch_answers(home, epoch, lacking)
        times = given["as_of"].cast(pa.int64()).to_pylist()
        shown = given.select(["query", "group", "value", "low", "high", "contract_met"])
        # Collected from the newest backwards and turned round at the end.
        for row, as_of in zip(reversed(shown.to_pylist()), reversed(times), strict=True):
            text = row["group"]
            if (tuple(json.loads(text)) if text else ()) == wanted[row["query"]]:
                found[row["query"]].append(
                    [epoch, _texts(as_of), *(row[part] for part in shown.column_names[2:])]
                )
        lacking = {name for name in lacking if len(found[name]) < limit}
    return {name: list(reversed(trail[:limit])) for name, trail in found.items()}


async def _board(request: Request) -> Board:
    board: Board = request.app.state.board
    return board


AtBoard = Annotated[Board, Depends(_board)]


@router.get("/board", response_model=BoardPage)
def listing(
    board: AtBoard,
    _caller: Reader,
    search: Annotated[str, Query(max_length=NAME_LENGTH, description="A part of the name.")] = "",
    state: State | None = None,
    order: Annotated[
        Order, Query(description="By name, widest bar for its contract, or newest change.")
    ] = "name",
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    shadows: Annotated[bool, Query(description="Those of the auditor too.")] = False,
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
    accept_encoding: Annotated[str, Header(max_length=1000)] = "",
) -> Response:
    """All queries with their newest answers, in columns; 304 while nothing changed."""
    kept = board.response(Lookup(search, state, order, offset, limit, shadows))
    headers = {"ETag": kept.tag, "Vary": "Accept-Encoding"}
    if if_none_match is not None and kept.tag in if_none_match:
        return Response(status_code=304, headers=headers)
    if kept.squeezed is not None and "gzip" in accept_encoding:
        headers["Content-Encoding"] = "gzip"
        return Response(kept.squeezed, media_type="application/json", headers=headers)
    return Response(kept.plain, media_type="application/json", headers=headers)


@router.get("/board/trails", response_model=Trails)
def trails(
    board: AtBoard,
    _caller: Reader,
    query: Annotated[list[str], Query(description="A name; give as many as are wanted.")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 60,
) -> Response:
    """The last answers of some queries at once, for small pictures beside their names."""
    if len(query) > MOST_TRAILS:
        raise Refused(
            "too many queries at once",
            f"{len(query)} names, {MOST_TRAILS} are possible",
            "ask for those that are in view",
            status=422,
        )
    return said(board.trails(query, limit))
