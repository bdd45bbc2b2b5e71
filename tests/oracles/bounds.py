"""What a query over bounds sees at one check, by definition, in fractions; plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import pyarrow.parquet as pq

from streamgauge.contracts.answer import Charge
from streamgauge.plan.members import Members
from streamgauge.plan.query import Query
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from tests.oracles.windows import (
    DROPPED,
    USED,
    Group,
    Landed,
    Reading,
    View,
    passes,
)

# Names of members with their weights.
Listed = list[tuple[str, float]]


@dataclass(frozen=True)
class _Member:
    """The newest bound of a series and its weight; a width of None is no bound at all."""

    centre: Fraction
    width: Fraction | None
    weight: Fraction

    @property
    def low(self) -> Fraction:
        return self.centre - (self.width or Fraction(0)) / 2

    @property
    def high(self) -> Fraction:
        return self.centre + (self.width or Fraction(0)) / 2


@dataclass(frozen=True)
class _Bar:
    value: float | None
    low: float
    high: float
    unsure: bool


def read_bounds(
    query: Query, view: View, tables: Mapping[str, Table], known: Iterable[Group]
) -> dict[Group, Reading]:
    """The aggregate of each group that has a member with a value, or that has answered before."""
    used, dropped = view.of_fate(*USED), view.of_fate(DROPPED)
    newest = _newest(used, view.stream)
    # A dropped row that is older than the one in use loses to it here as well.
    on_time = _newest(used + dropped, view.stream)
    cells = _cells(query, tables, [*newest.values(), *on_time.values()], view.stream)
    readings = {}
    for group, listed in cells.items():
        found = _members(listed, newest, view.stream)
        if not found and group not in set(known):
            continue
        gone = sum(1 for name, _ in listed if name in newest and _gone(newest[name], view.stream))
        named = query.series is not None or query.members is not None
        there = len(listed) - gone
        coverage = len(found) / there if named and there else 1.0
        other = _bar(query.select.name, _members(listed, on_time, view.stream))
        readings[group] = _reading(_bar(query.select.name, found), other, coverage)
    return readings


def _newest(rows: Iterable[Landed], stream: Stream) -> dict[str, Landed]:
    ordered = sorted(rows, key=lambda row: (row.ts, row.arrival))
    return {_name(row, stream): row for row in ordered}


def _name(row: Landed, stream: Stream) -> str:
    return "|".join(str(row.values[column]) for column in stream.key)


def _cells(
    query: Query, tables: Mapping[str, Table], rows: list[Landed], stream: Stream
) -> dict[Group, Listed]:
    """Members of each group, by name."""
    if query.members is not None:
        return _of_table(query.members, tables[query.members.table].path)
    if query.series is not None:
        weights = query.weights or (1.0,) * len(query.series)
        return {(): list(zip(query.series, weights, strict=True))}
    cells: dict[Group, dict[str, None]] = {} if query.group_by else {(): {}}
    for row in rows:
        if query.where is None or passes(query.where, row.values) is True:
            group = tuple(row.values[column] for column in query.group_by)
            cells.setdefault(group, {})[_name(row, stream)] = None
    return {group: [(name, 1.0) for name in names] for group, names in cells.items()}


def table_groups(members: Members, tables: Mapping[str, Table]) -> Iterable[Group]:
    """The groups that a table of members has now."""
    return _of_table(members, tables[members.table].path)


def _of_table(members: Members, path: str) -> dict[Group, Listed]:
    cells: dict[Group, Listed] = {} if members.by else {(): []}
    for row in pq.read_table(path).to_pylist():
        weight = 1.0 if members.weight is None else row[members.weight]
        if members.where is not None and passes(members.where, row) is not True:
            continue
        if row[members.series] is not None and weight is not None and not math.isnan(weight):
            group = tuple(row[name] for name in members.by)
            cells.setdefault(group, []).append((str(row[members.series]), float(weight)))
    return {tuple(json.loads(json.dumps(group))): listed for group, listed in cells.items()}


def _gone(row: Landed, stream: Stream) -> bool:
    assert stream.value is not None
    return row.values.get(stream.value) is None


def _members(listed: Listed, newest: dict[str, Landed], stream: Stream) -> list[_Member]:
    assert stream.value is not None
    assert stream.width is not None
    found = []
    for name, weight in listed:
        row = newest.get(name)
        if row is None or _gone(row, stream):
            continue
        width = row.values.get(stream.width)
        wide = None if width is None or width < 0.0 else Fraction(width)
        found.append(_Member(Fraction(row.values[stream.value]), wide, Fraction(weight)))
    return found


def _bar(name: str, members: list[_Member]) -> _Bar:
    """Value and ends of an aggregate; unsure when a member has no bound."""
    unsure = any(member.width is None for member in members)
    if name == "count":
        return _Bar(float(len(members)), len(members), len(members), unsure)
    if not members:
        return _Bar(None, math.nan, math.nan, unsure)
    if name in ("min", "max"):
        pick = min if name == "min" else max
        value = pick(member.centre for member in members)
        low, high = pick(m.low for m in members), pick(m.high for m in members)
        return _Bar(float(value), float(low), float(high), unsure)
    mass = sum((m.weight for m in members), Fraction(0)) if name == "avg" else Fraction(1)
    if mass == 0:
        return _Bar(None, math.nan, math.nan, unsure)
    value = sum((m.weight * m.centre for m in members), Fraction(0)) / mass
    reach = sum((abs(m.weight / mass) * (m.high - m.centre) for m in members), Fraction(0))
    return _Bar(float(value), float(value - reach), float(value + reach), unsure)


def _reading(bar: _Bar, other: _Bar, coverage: float) -> Reading:
    """A bar, widened to hold the one that late rows would have made."""
    low, high = bar.low, bar.high
    unsure = bar.unsure
    charges: tuple[Charge, ...] = ()
    if bar.value is not None and high > low:
        charges = (Charge("filter", bar.value - low, high - bar.value),)
    if bar.value is not None and other.value is not None:
        low, high = min(low, other.low), max(high, other.high)
        unsure = unsure or other.unsure
        if low < bar.low or high > bar.high:
            charges = (*charges, Charge("late rows", bar.low - low, high - bar.high))
    if unsure:
        if bar.value is not None:
            low, high = -math.inf, math.inf
        charges = (*charges, Charge("interruption", math.inf, math.inf))
        return Reading(bar.value, low, high, coverage, "interrupted", charges)
    basis = "filter" if high > low else "exact"
    return Reading(bar.value, low, high, coverage, basis, charges)
