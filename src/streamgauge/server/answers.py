"""Routes of answers: the newest, and all that were given."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from streamgauge.log.home import Home
from streamgauge.plan.view import View
from streamgauge.results.change_log import as_answers, epoch_answers, epochs_after
from streamgauge.results.row_blocks import as_row_changes, epoch_rows
from streamgauge.server.access import Name, Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.feed import Place
from streamgauge.server.shapes import History, Newest, said

router = APIRouter(tags=["answers"])

# Epochs that one request reads at most; a rare answer is found by following the cursor.
MOST_EPOCHS = 500
MOST_ROWS = 10_000
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]


@router.get("/queries/{name}/answers", response_model=History)
def history(
    name: Name,
    desk: AtDesk,
    _caller: Reader,
    after_epoch: Annotated[int, Query(ge=0, le=2**53)] = 0,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Limit = 100,
    newest: Annotated[bool, Query(description="The last ones instead of the first.")] = False,
) -> Response:
    """Answers after an epoch, oldest first; of a view, the rows that came and went."""
    of_rows = isinstance(desk.catalog.expected().query(name).asked, View)
    place = Place.of(cursor) if cursor else Place(after_epoch)
    home = desk.gauge.home
    epoch = home.committed()
    if newest:
        found = _last(home, name, of_rows, place, limit)
        return said({"epoch": epoch, "answers": found, "next": None})
    found, following = _first(home, name, of_rows, place, limit)
    return said({"epoch": epoch, "answers": found, "next": following})


def _given(home: Home, name: str, of_rows: bool, epoch: int) -> list[dict[str, Any]]:
    if of_rows:
        return [change.as_dict() for change in as_row_changes(epoch_rows(home, epoch, name))]
    return [answer.as_dict() for answer in as_answers(epoch_answers(home, epoch, (name,)))]


def _first(
    home: Home, name: str, of_rows: bool, place: Place, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Answers from a place on, and the cursor of what follows them."""
    found: list[dict[str, Any]] = []
    epochs = epochs_after(home, place.done)
    for epoch in epochs[:MOST_EPOCHS]:
        given, skip = _given(home, name, of_rows, epoch), place.skip(epoch)
        room = limit - len(found)
        found += given[skip : skip + room]
        if len(given) - skip > room:
            return found, str(Place(epoch, skip + room - 1)) if room else str(place)
        place = Place(epoch)
        if len(found) >= limit:
            break
    return found, str(place) if epochs and epochs[-1] > place.done else None


def _last(home: Home, name: str, of_rows: bool, place: Place, limit: int) -> list[dict[str, Any]]:
    """The last answers after a place, oldest first."""
    found: list[dict[str, Any]] = []
    for epoch in reversed(epochs_after(home, place.done)[-MOST_EPOCHS:]):
        given = _given(home, name, of_rows, epoch)[place.skip(epoch) :]
        found = [*given[max(len(given) - (limit - len(found)), 0) :], *found]
        if len(found) >= limit:
            break
    return found


@router.get("/queries/{name}/answers/latest", response_model=Newest)
def latest(name: Name, desk: AtDesk, _caller: Reader, limit: Limit = 1000) -> Response:
    """The newest answer of each group; of a view, the rows that it holds."""
    asked = desk.catalog.expected().query(name).asked
    if isinstance(asked, View):
        return _held(desk, name, asked, limit)
    epoch, by_query = desk.newest.read()
    found = by_query.get(name, [])
    shown = [answer.as_dict() for answer in found[:limit]]
    return said({"epoch": epoch, "answers": shown, "total": len(found)})


def _held(desk: Desk, name: str, view: View, limit: int) -> Response:
    home = desk.gauge.home
    if name not in desk.catalog.committed().queries:
        return said({"epoch": home.committed(), "rows": [], "total": 0})
    if view.stream_kind:
        # A stream of rows holds none: the last that were given stand for them.
        changes = _last(home, name, True, Place(0), limit)
        rows = [change["row"] for change in changes]
        return said({"epoch": home.committed(), "rows": rows, "total": len(rows)})
    table = desk.gauge.rows(name)
    rows = table.slice(0, limit).to_pylist()
    return said({"epoch": home.committed(), "rows": rows, "total": table.num_rows})
