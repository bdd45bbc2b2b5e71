"""Switching: queries paused, resumed, and suspended because what answers them failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.plan.standing import Standing
from streamgauge.plan.suspension import Suspension

SUSPENDED = "suspended"
_KEPT = ("since", "code", "why", "sharing")


def switched(old: Standing, do: str, epoch: int) -> Standing:
    """A query after PAUSE or RESUME."""
    if do == "pause":
        if old.suspended is not None:
            raise BindError(
                f"query {old.name!r} is suspended",
                f"since epoch {old.suspended.since}: {old.suspended.why}",
                f"write RESUME QUERY {old.name} first, or DROP QUERY {old.name}",
            )
        return replace(old, status="paused", epoch=epoch)
    return replace(old, status="running", epoch=epoch, suspended=None)


def next_version(old: Standing, epoch: int) -> Standing:
    """A query of another version: one that was suspended runs, since the new one may not fail."""
    status = old.status if old.suspended is None else "running"
    return replace(
        old, version=old.version + 1, status=status, epoch=epoch, born=epoch, suspended=None
    )


def suspend(queries: dict[str, Standing], record: dict[str, Any]) -> None:
    """Suspend the versions of queries that a record names; one resumed since then is as it was."""
    why = Suspension(**{name: record[name] for name in _KEPT})
    failed = {(number, version) for number, version in record["queries"]}
    for name, standing in queries.items():
        if (standing.id, standing.version) in failed and standing.born <= why.since:
            queries[name] = replace(standing, status=SUSPENDED, epoch=why.since, suspended=why)


def lacking(queries: Iterable[Standing], records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records that would suspend a query that runs or is paused."""
    born = {(one.id, one.version): one.born for one in queries if one.suspended is None}
    late = float("inf")
    return [
        record
        for record in records
        if any(born.get((n, version), late) <= record["since"] for n, version in record["queries"])
    ]
