"""Metrics of queries: the newest answer of each with its bar, and what evaluating it took.

Of a grouped query the worst group is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.contract import Contract
from streamgauge.server.metrics.home_reading import HomeReading, query_labels, seconds
from streamgauge.server.metrics.metric import MetricGroup, Series

LABELS = ("query", "version")


class Answered(NamedTuple):
    """The newest answers of a query, one for each group, with its lag and age in seconds."""

    contract: Contract
    answers: Sequence[Answer]
    lag: float | None = None
    age: float | None = None

    @property
    def sole(self) -> Answer | None:
        """The answer of a query without groups."""
        return None if any(answer.group for answer in self.answers) else self.answers[0]


def _answered(home: HomeReading) -> Iterator[tuple[tuple[str, str], Answered]]:
    for standing in home.listed:
        found = home.standings.answers.get(standing.name)
        if found:
            age = seconds(home.now - min(answer.as_of for answer in found))
            lag = home.lag(standing, found)
            labels = query_labels(standing.name, standing.version)
            yield labels, Answered(standing.asked.contract, found, lag, age)


def _given(home: HomeReading) -> Iterator[tuple[tuple[str, str], int]]:
    for standing in home.listed:
        labels = query_labels(standing.name, standing.version)
        yield labels, home.given.get((standing.name, standing.version), 0)


def _deferred(home: HomeReading) -> Iterator[tuple[tuple[str, str], tuple[int, int]]]:
    for standing in home.listed:
        pair = home.standings.deferred.get(standing.name)
        if pair is not None:
            yield query_labels(standing.name, standing.version), pair


def _spared(deferred: tuple[int, int]) -> float | None:
    checks, evaluations = deferred
    return 1.0 - evaluations / checks if checks else None


def _value(found: Answered) -> float | None:
    return None if found.sole is None else found.sole.value


def _low(found: Answered) -> float | None:
    return None if found.sole is None else found.sole.low


def _high(found: Answered) -> float | None:
    return None if found.sole is None else found.sole.high


def _held_width(found: Answered) -> float | None:
    widths = [a.high - a.low for a in found.answers if a.value is not None]
    return max(widths, default=None)


def promised_width(found: Answered) -> float | None:
    """The width that is owed, from end to end; none where it is not in units of the answer."""
    contract = found.contract
    if contract.tolerance in ("exact", "absolute"):
        return 2.0 * contract.within
    if contract.tolerance == "relative":
        sizes = [abs(answer.value) for answer in found.answers if answer.value is not None]
        # The narrowest is what the group with the least room is owed.
        return 2.0 * contract.within * min(sizes, default=math.nan)
    return None


ANSWERED = Series(LABELS, _answered)
GIVEN = Series(LABELS, _given)
DEFERRED = Series(LABELS, _deferred)
METRICS = MetricGroup(
    "Queries",
    (
        ANSWERED.gauge(
            "query_value",
            "Newest answer of a query without groups; read it with low and high.",
            _value,
        ),
        ANSWERED.gauge("query_low", "Lower end of the bar of that answer.", _low),
        ANSWERED.gauge("query_high", "Upper end of the bar of that answer.", _high),
        ANSWERED.gauge(
            "query_held_width", "Width of the bar, high - low; of the widest group.", _held_width
        ),
        ANSWERED.gauge(
            "query_promised_width",
            "Width that the contract allows, from end to end; none for RANK and BEST.",
            promised_width,
        ),
        ANSWERED.gauge(
            "query_confidence_ratio",
            "Probability that the bar holds the truth; of the least sure group.",
            lambda found: min(answer.confidence for answer in found.answers),
        ),
        ANSWERED.gauge(
            "query_coverage_ratio",
            "Share of window or members the answer rests on; of the least group.",
            lambda found: min(answer.coverage for answer in found.answers),
        ),
        ANSWERED.gauge(
            "query_share_ratio",
            "Share of regions that was looked at; of the least group.",
            lambda found: min(answer.share for answer in found.answers),
        ),
        ANSWERED.gauge(
            "query_contract_met",
            "1 when the newest answers of all groups keep the contract.",
            lambda found: all(answer.contract_met for answer in found.answers),
        ),
        ANSWERED.gauge(
            "query_groups", "Groups that have an answer.", lambda found: len(found.answers)
        ),
        ANSWERED.gauge(
            "query_lag_seconds",
            "Event time that the oldest group is behind the newest row of its streams.",
            lambda found: found.lag,
        ),
        ANSWERED.gauge(
            "query_age_seconds",
            "Time since the instant that the answer of the oldest group is of.",
            lambda found: found.age,
        ),
        DEFERRED.gauge(
            "query_deferral_ratio", "Share of checks that a deferred query was spared.", _spared
        ),
        GIVEN.counter("query_answers", "Answers given; of a view, changes of its rows.", float),
        DEFERRED.counter(
            "query_checks",
            "Ticks at which a deferred query could have been evaluated, over its groups.",
            lambda deferred: deferred[0],
        ),
        DEFERRED.counter(
            "query_evaluations",
            "Evaluations of a deferred query, over its groups.",
            lambda deferred: deferred[1],
        ),
    ),
    before="Every series has the labels `query` and `version`; altering a query begins new ones.",
    after="""\
`promised_width` is from end to end, twice what `WITHIN` says, so that it compares with
`held_width`; of a relative width, that of the smallest value. A query that answers on change stands
until something changes: its lag and age are the time since its last answer, not a delay.""",
)
