"""Plots: bars as bands, answers as steps, interruptions in grey."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.dates import num2date

import streamgauge as sg
from streamgauge.kernel.errors import BindError, MissingRuntime
from streamgauge.notebook import plots

pytestmark = pytest.mark.slow

SECOND = 1_000_000
FIRST = sg.Answer(
    "heat",
    20.0,
    19.5,
    20.5,
    as_of=0,
    charges=(sg.Charge.even("late rows", 1.0),),
    basis="late rows",
)
COURSE = [
    FIRST,
    replace(FIRST, as_of=10 * SECOND, value=21.0, low=20.5, high=21.5),
    replace(
        FIRST,
        as_of=20 * SECOND,
        low=18.0,
        high=22.0,
        basis="interrupted",
        charges=(sg.Charge.even("late rows", 1.0), sg.Charge.even("interruption", 3.0)),
    ),
    replace(FIRST, as_of=30 * SECOND),
]


@pytest.fixture(autouse=True)
def drawing() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
        pyplot.close("all")


def bands(ax: object) -> list[FillBetweenPolyCollection]:
    found = ax.get_children()  # type: ignore[attr-defined]
    return [child for child in found if isinstance(child, FillBetweenPolyCollection)]


def test_the_band_is_the_bar_and_the_line_the_value() -> None:
    ax = sg.plot(COURSE)
    (line,) = ax.lines
    assert line.get_drawstyle() == "steps-post"
    assert list(np.asarray(line.get_ydata())) == [20.0, 21.0, 20.0, 20.0, 20.0]
    (band,) = bands(ax)
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (18.0, 22.0)
    assert ax.get_title(loc="left") == "heat"
    assert ax.get_legend() is None
    ax.figure.canvas.draw()


def test_interruptions_are_shaded_from_their_instant_to_the_next() -> None:
    (stripe,) = sg.plot(COURSE).patches
    x, width = stripe.get_x(), stripe.get_width()  # type: ignore[attr-defined]
    moments = [num2date(x), num2date(x + width)]
    assert moments == [datetime.fromtimestamp(at, UTC) for at in (20, 30)]


def test_the_contract_is_drawn_around_the_value() -> None:
    ax = sg.plot(COURSE, contract=sg.Contract.relative(0.1))
    _, below, above = ax.lines
    assert list(np.asarray(below.get_ydata()))[:2] == pytest.approx([18.0, 18.9])
    assert list(np.asarray(above.get_ydata()))[:2] == pytest.approx([22.0, 23.1])
    assert len(sg.plot(COURSE, contract=sg.Contract.exact()).lines) == 1


def test_charges_are_stacked_beneath() -> None:
    ax = sg.plot(COURSE, charges=True)
    (below,) = [other for other in ax.figure.axes if other is not ax]
    first, second = bands(below)
    assert [band.get_label() for band in (first, second)] == ["interruption", "late rows"]
    assert second.get_paths()[0].vertices[:, 1].max() == 4.0
    own = pyplot.figure().subplots(2)
    assert sg.plot(COURSE, ax=own[0], charges=own[1]) is own[0]
    assert len(bands(own[1])) == 2
    with pytest.raises(BindError, match="no place for the charges"):
        sg.plot(COURSE, ax=own[0], charges=True)


def test_groups_have_colours_and_a_legend() -> None:
    both = [replace(a, group=(g,)) for a in COURSE for g in ("a", "b")]
    ax = sg.plot(both)
    assert len({line.get_color() for line in ax.lines}) == 2
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["heat a", "heat b"]
    assert len(ax.patches) == 1, "the same interruption is shaded once"
    with pytest.raises(BindError, match="one group at a time"):
        sg.plot(both, charges=True)


def test_revisions_replace_what_they_revise() -> None:
    revised = [*COURSE, replace(FIRST, value=19.0, revision=1)]
    assert np.asarray(sg.plot(revised).lines[0].get_ydata())[0] == 19.0


def test_nothing_and_infinity_can_be_drawn() -> None:
    gap = replace(FIRST, as_of=40 * SECOND, value=None, low=math.nan, high=math.nan)
    wild = replace(FIRST, as_of=50 * SECOND, low=-math.inf, high=math.inf)
    ax = sg.plot([*COURSE, gap, wild])
    low, high = ax.get_ylim()
    assert low < 18.0 < 22.0 < high
    ax.figure.canvas.draw()
    sg.plot([FIRST]).figure.canvas.draw()


def test_too_much_and_nothing_at_all_are_refused() -> None:
    with pytest.raises(BindError, match="nothing to draw"):
        sg.plot([])
    with pytest.raises(BindError, match="too many groups"):
        sg.plot([replace(FIRST, group=(number,)) for number in range(9)])


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "pyplot", None)
    with pytest.raises(MissingRuntime) as caught:
        sg.plot(COURSE)
    assert caught.value.hint == "pip install 'streamgauge[notebook]'"
