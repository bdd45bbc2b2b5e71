"""Plots of answers over event time: the value as it stood, inside its bar."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.contract import Contract
from streamgauge.contracts.picture import COLOURS, PLAIN, colours, group_text
from streamgauge.kernel.errors import BindError, MissingRuntime
from streamgauge.kernel.time import Instant
from streamgauge.results.change_log import as_answers

try:
    import matplotlib.pyplot as pyplot
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
except ImportError:
    pyplot = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Course: TypeAlias = list[Answer]

SERIES = 8
# What is without bound reaches this many spans of the known values beyond them.
BEYOND = 0.25


def plot(
    answers: pa.Table | Iterable[Answer],
    ax: Axes | None = None,
    *,
    contract: Contract | None = None,
    charges: bool | Axes = False,
) -> Axes:
    """Draw answers over event time, each from its instant to the next, the last to the edge.

    The band is the bar, the line in it the value. Grey stripes are times of interruption.

    Parameters
    ----------
    answers
        A table as `gauge.answers("heat")` gives it, or answers as values; of one query and up to
        eight groups.
    ax
        Where to draw; a new figure when None.
    contract
        What is owed; its width around the value is drawn with dashes.
    charges
        Whether to draw beneath who widened the bar, one on top of the other, or where to draw it.
        For one group only.

    Returns
    -------
    Axes
        Where it was drawn.
    """
    if pyplot is None:
        raise MissingRuntime(
            "matplotlib is not installed",
            "plots are drawn with it",
            "pip install 'streamgauge[notebook]'",
        )
    courses = _courses(answers)
    ax, below = _places(ax, charges, len(courses))
    for place, (name, course) in enumerate(courses.items()):
        _draw(ax, name, course, COLOURS[place], contract)
    for begin, end in _silences(courses.values()):
        ax.axvspan(begin, end, color=PLAIN, alpha=0.18, linewidth=0, zorder=0)
    ax.margins(x=0.0)
    _dress(ax, courses)
    if below is not None:
        _draw_charges(below, next(iter(courses.values())))
    return ax


def _places(ax: Axes | None, charges: bool | Axes, groups: int) -> tuple[Axes, Axes | None]:
    """Where answers are drawn, and who widened them."""
    if charges and groups > 1:
        raise BindError(
            "charges are drawn for one group at a time",
            f"there are answers of {groups}",
            "give the answers of one group, or leave charges=True out",
        )
    if ax is not None and charges is True:
        raise BindError(
            "there is no place for the charges",
            "ax holds the answers alone",
            "say where: plot(answers, ax=above, charges=below), or leave ax out",
        )
    if ax is not None:
        return ax, None if isinstance(charges, bool) else charges
    if not charges:
        return pyplot.subplots(figsize=(9.0, 3.4), layout="constrained")[1], None
    _, (above, below) = pyplot.subplots(
        2, figsize=(9.0, 4.8), sharex=True, height_ratios=(2.4, 1.0), layout="constrained"
    )
    return above, below


def _courses(answers: pa.Table | Iterable[Answer]) -> dict[str, Course]:
    """Answers by query and group, in the order of time, the last revision of each instant."""
    given = as_answers(answers) if isinstance(answers, pa.Table) else answers
    found: dict[str, dict[Instant, Answer]] = {}
    for answer in given:
        name = answer.query + (f" {group_text(answer.group)}" if answer.group else "")
        course = found.setdefault(name, {})
        known = course.get(answer.as_of)
        if known is None or known.revision <= answer.revision:
            course[answer.as_of] = answer
    if not 0 < len(found) <= SERIES:
        raise BindError(
            "there is nothing to draw" if not found else "too many groups for one picture",
            f"there are answers of {len(found)} groups, up to {SERIES} can be told apart",
            "give the answers of one query: sg.plot(gauge.answers('heat'))",
        )
    times = [as_of for course in found.values() for as_of in course]
    end = max(times) + (max(times) - min(times)) // 40
    return {
        name: _extended([course[key] for key in sorted(course)], end)
        for name, course in found.items()
    }


def _extended(course: Course, end: Instant) -> Course:
    """A course whose last answer stands until the end of the picture."""
    return [*course, replace(course[-1], as_of=end)]


def _moment(instant: Instant) -> datetime:
    return datetime.fromtimestamp(instant / 1e6, UTC)


def _draw(ax: Axes, name: str, course: Course, colour: str, contract: Contract | None) -> None:
    times: list[Any] = [_moment(answer.as_of) for answer in course]
    values = [math.nan if answer.value is None else answer.value for answer in course]
    known = [end for a in course for end in (a.low, a.high) if math.isfinite(end)]
    room = BEYOND * ((max(known) - min(known)) or 1.0) if known else 1.0
    lows = [_end(a.low, min(known, default=0.0) - room) for a in course]
    highs = [_end(a.high, max(known, default=0.0) + room) for a in course]
    ax.fill_between(times, lows, highs, step="post", color=colour, alpha=0.25, linewidth=0)
    ax.step(times, values, where="post", color=colour, linewidth=1.5, label=name)
    if times[0] == times[-1]:
        reach = [[values[0] - lows[0]], [highs[0] - values[0]]]
        ax.errorbar(times[:1], values[:1], reach, fmt="o", color=colour)
    if contract is not None and contract.within and contract.tolerance in ("absolute", "relative"):
        for sign in (-1.0, 1.0):
            owed = [
                value + sign * contract.within * (abs(value) if _relative(contract) else 1.0)
                for value in values
            ]
            label = f"owed: {contract}" if sign > 0 else None
            ax.step(times, owed, where="post", color=colour, linewidth=1.0, ls=":", label=label)


def _relative(contract: Contract) -> bool:
    return contract.tolerance == "relative"


def _end(value: float, edge: float) -> float:
    return edge if math.isinf(value) else value


def _silences(courses: Iterable[Course]) -> list[tuple[Any, Any]]:
    """Stretches of time in which some answer was interrupted, from its instant to the next."""
    spans = sorted(
        (answer.as_of, after.as_of)
        for course in courses
        for answer, after in pairwise(course)
        if answer.basis == "interrupted"
    )
    merged: list[tuple[Instant, Instant]] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return [(_moment(begin), _moment(end)) for begin, end in merged if end > begin]


def _dress(ax: Axes, courses: dict[str, Course]) -> None:
    """Titles and scales, quiet ones."""
    names = list(courses)
    _dress_time(ax)
    ax.grid(axis="y", color=PLAIN, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    handles, _ = ax.get_legend_handles_labels()
    if len(handles) > 1:
        ax.legend(frameon=False, fontsize="small", ncols=min(len(handles), 4), loc="best")
    queries = dict.fromkeys(answer.query for course in courses.values() for answer in course[:1])
    ax.set_title(names[0] if len(names) == 1 else ", ".join(queries), loc="left", fontsize="medium")


def _dress_time(ax: Axes) -> None:
    locator = AutoDateLocator(tz=UTC)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    words = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(words)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_charges(below: Axes, course: Course) -> None:
    """Who widened the bar, one on top of the other; what is without bound has no height."""
    names = sorted({charge.by for answer in course for charge in answer.charges})
    paint = colours(names)
    times: list[Any] = [_moment(answer.as_of) for answer in course]
    base = [0.0] * len(course)
    for name in names:
        top = [
            low + sum(c.width for c in answer.charges if c.by == name and math.isfinite(c.width))
            for low, answer in zip(base, course, strict=True)
        ]
        below.fill_between(
            times, base, top, step="post", color=paint[name], linewidth=0, label=name
        )
        base = top
    _dress_time(below)
    below.margins(x=0.0, y=0.35)
    below.set_ylim(bottom=0.0)
    below.set_ylabel("width", fontsize="small")
    if names:
        below.legend(frameon=False, fontsize="small", ncols=min(len(names), 4), loc="upper left")
