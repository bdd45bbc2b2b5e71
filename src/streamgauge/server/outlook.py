"""Routes behind the pages of a query and of the job: error budget, deferrals, shadow, epochs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from streamgauge.contracts.answer import Answer, Charge, finite
from streamgauge.contracts.contract import Contract
from streamgauge.gauge import Gauge
from streamgauge.kernel.time import instant_text
from streamgauge.log.journal import Journal, Page
from streamgauge.plan.planned_charges import planned
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.shadows import EXACT_SHADOW
from streamgauge.plan.technique import PlannedCharge, has_report, report, technique_of
from streamgauge.results.change_log import commits
from streamgauge.server.access import Name, Reader
from streamgauge.server.desk import AtDesk, Desk
from streamgauge.server.shapes import ChargeShape, Rows, said
from streamgauge.server.statements import rows_of

router = APIRouter(tags=["outlook"])

DEFERRAL = "deferral"
MOST_EPOCHS = 1000
# A commit that caught up may span many pages; the newest say enough.
MOST_PAGES = 100
TRIES = 5
# Chances of failure are differences from 1; further digits are rounding.
DIGITS = 12


class Budget(BaseModel):
    """Who may widen the bar (planned) and who does (held), widths from end to end.

    Widths are those of the group whose bar is widest; null where nobody knows beforehand.
    """

    name: str
    epoch: int
    group: list[Any] | None
    owed: ChargeShape | None
    planned: list[ChargeShape]
    held: list[ChargeShape]


class Shadow(BaseModel):
    """The query that works out the truth beside this one; null when there is none."""

    name: str | None


class Refusal(BaseModel):
    """A change that the job refused, and in which epoch."""

    epoch: int
    title: str
    detail: str
    hint: str


class EpochShape(BaseModel):
    """What one commit says of its epochs, those after `start`."""

    epoch: int
    start: int
    landed_at: str
    seconds: float
    rows: int
    answers: int
    late: int
    dead: int
    state_bytes: int
    missed: int
    overloaded: int
    share: float
    refused: list[Refusal]


class Epochs(BaseModel):
    """Commits, oldest first."""

    epoch: int
    epochs: list[EpochShape]


@router.get("/queries/{name}/budget", response_model=Budget)
def budget(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """What the contract grants, who was given how much of it, and who holds how much now."""
    registry = desk.catalog.expected()
    standing = registry.query(name)
    epoch, newest = desk.newest.read()
    widest = _widest([a for a in newest.get(name, []) if a.version == standing.version])
    contract = standing.asked.contract
    planned = planned_charges(registry, standing, widest)
    owed = None if contract.tolerance == "best" else _owed(contract, widest)
    return said(
        {
            "name": name,
            "epoch": epoch,
            "group": None if widest is None else list(widest.group),
            "owed": None if owed is None else owed.as_dict(),
            "planned": [charge.as_dict() for charge in planned],
            "held": [] if widest is None else [_rounded(charge) for charge in widest.charges],
        }
    )


def _rounded(charge: Charge) -> dict[str, Any]:
    return {**charge.as_dict(), "delta": round(charge.delta, DIGITS)}


def _widest(answers: list[Answer]) -> Answer | None:
    known = [answer for answer in answers if answer.value is not None]
    return max(known, key=lambda answer: answer.high - answer.low, default=None)


def _owed(contract: Contract, answer: Answer | None) -> Charge:
    """The contract as a charge; its width is unbounded where only an answer would tell it."""
    return Charge.even("contract", _in_units(contract, contract.within, answer), _chance(contract))


def _in_units(contract: Contract, within: float, answer: Answer | None) -> float:
    """A half-width of a contract as a width in units of the answer."""
    if within == float("inf"):
        return within
    if contract.tolerance in ("exact", "absolute"):
        return 2.0 * within
    if contract.tolerance == "relative" and answer is not None and answer.value is not None:
        return 2.0 * within * abs(answer.value)
    return float("inf")


def _chance(contract: Contract) -> float:
    return round(1.0 - contract.confidence, DIGITS)


def planned_charges(registry: Registry, standing: Standing, answer: Answer | None) -> list[Charge]:
    """The causes that have a share of the error that is owed, as EXPLAIN names them.

    Parameters
    ----------
    registry
        What is registered.
    standing
        The query.
    answer
        Its newest answer, in whose units a share of the value is told.
    """
    contract = standing.asked.contract
    granted = [c for c in planned(registry, standing) if c.within is not None]
    if contract.tolerance == "exact" or (not granted and technique_of(standing).rows):
        return []
    spent = [_charge(contract, charge, answer) for charge in _standing_in(granted, answer)]
    whole, chance = _in_units(contract, contract.within, answer), _chance(contract)
    width, delta = sum(part.width for part in spent), sum(part.delta for part in spent)
    # What the plan keeps back beside them.
    left = max(0.0, whole - width) if finite(whole) is not None else 0.0
    spare = max(0.0, round(chance - delta, DIGITS))
    spent = [part for part in spent if part.width > 0.0 or part.delta > 0.0]
    return [*spent, Charge.even("kept back", left, spare)] if left or spare else spent


def _charge(contract: Contract, planned: PlannedCharge, answer: Answer | None) -> Charge:
    assert planned.within is not None, "no share of the width was granted"
    width = _in_units(contract, planned.within, answer)
    return Charge.even(planned.by, width, round(planned.delta, DIGITS))


def _standing_in(planned: list[PlannedCharge], answer: Answer | None) -> list[PlannedCharge]:
    """Of causes that stand for each other those that the answer names."""
    named = {charge.by for charge in answer.charges} if answer else set()
    replaced = {charge.instead for charge in planned if charge.by in named}
    return [
        charge
        for charge in planned
        if charge.by not in replaced and (not charge.instead or charge.by in named)
    ]


@router.get("/queries/{name}/deferrals", response_model=Rows)
def deferrals(
    name: Name,
    desk: AtDesk,
    _caller: Reader,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
) -> Response:
    """What the cells of a deferred query are doing: regime, model, evaluations, next deadline."""
    if not has_report(desk.catalog.expected().query(name), "deferrals"):
        # Others have no cells, and the state need not be read to know it.
        return said(rows_of(desk, report("deferral columns").empty_table(), limit))
    return said(rows_of(desk, cells_of(desk.gauge, name), limit))


def cells_of(gauge: Gauge, name: str | None = None) -> pa.Table:
    """Return the cells of the deferred queries, or of one, as of the last epoch."""
    for _ in range(TRIES):
        epoch = gauge.home.committed()
        try:
            return gauge.deferrals(name)
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if gauge.home.committed() == epoch:
                raise
    return report("deferral columns").empty_table()


@router.get("/queries/{name}/shadow", response_model=Shadow)
def shadow(name: Name, desk: AtDesk, _caller: Reader) -> Response:
    """Which query, if one, gives the exact values that this one is audited by."""
    registry = desk.catalog.expected()
    registry.query(name)
    beside = EXACT_SHADOW + name
    return said({"name": beside if beside in registry.queries else None})


@router.get("/epochs", response_model=Epochs)
def epochs(
    desk: AtDesk,
    _caller: Reader,
    newest: Annotated[int, Query(ge=1, le=MOST_EPOCHS)] = 100,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """What the newest commits after an epoch say, oldest first."""
    epoch = desk.gauge.home.committed()
    found = commits(desk.gauge.home, after=max(after, epoch - newest))
    return said({"epoch": epoch, "epochs": [_told(desk, record) for record in found]})


def _told(desk: Desk, record: dict[str, Any]) -> dict[str, Any]:
    """A commit with what its pages add, without the shares of the shards."""
    numbers = range(record["start"] + 1, record["epoch"] + 1)[-MOST_PAGES:]
    pages = [Journal(desk.gauge.home).page(number) for number in numbers]
    copied = ("epoch", "start", "seconds", "rows", "answers", "late", "state_bytes")
    return {
        **{name: record[name] for name in copied},
        "landed_at": instant_text(pages[-1].landed_at),
        "dead": sum(page.dead for page in pages),
        "missed": record.get("missed", 0),
        "overloaded": record.get("overloaded", 0),
        "share": record.get("share", 1.0),
        "refused": [error for page in pages for error in _refused(desk, page)],
    }


def _refused(desk: Desk, page: Page) -> Iterator[dict[str, Any]]:
    hidden = desk.problems.hidden
    for error in page.refused:
        yield {
            "epoch": page.number,
            "title": hidden(error["message"]),
            "detail": hidden(error["detail"]),
            "hint": hidden(error["hint"]),
        }
