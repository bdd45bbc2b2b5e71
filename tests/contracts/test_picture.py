"""Pictures of answers: what they say, that names cannot become markup, that the parts add up."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import streamgauge as sg
from streamgauge.contracts.picture import COLOURS, KNOWN, ROWS, bar_svg, colours, number_text
from streamgauge.contracts.shown import Answers, PlanText

PLAIN = sg.Answer("heat", 101.7, 101.2, 102.2, as_of=0, confidence=0.95)
CHARGED = replace(
    PLAIN, basis="kll", charges=(sg.Charge.even("kll", 0.6, 0.05), sg.Charge.even("late rows", 0.4))
)
UNBOUND = replace(
    PLAIN,
    low=-math.inf,
    high=math.inf,
    basis="interrupted",
    contract_met=False,
    coverage=0.75,
    charges=(sg.Charge.even("interruption", math.inf), sg.Charge.even("filter", 2.0)),
)
NOTHING = replace(PLAIN, value=None, low=math.nan, high=math.nan, basis="nothing")
EVIL = '<img src=x onerror="alert(1)">'


def widths(drawn: str) -> list[float]:
    """Widths of the parts of a bar, without its track and its mark."""
    rects = ET.fromstring(drawn).findall("rect")
    return [float(rect.attrib["width"]) for rect in rects[1:-1]]


class Tags(HTMLParser):
    """Which tags and attributes a text has."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs)}


def test_an_answer_says_all_that_it_is() -> None:
    shown = CHARGED._repr_html_()
    for text in (
        "heat",
        "101.7",
        "[101.2, 102.2] at 95 % confidence",
        "kll 0.6, fails 5 %",
        "late rows 0.4",
    ):
        assert text in shown
    assert "contract met" in shown
    assert "1970-01-01T00:00:00Z" in shown
    label = re.findall(r'role="img" aria-label="([^"]*)"', shown)
    widened = "widened by kll 0.6, fails 5 %, late rows 0.4"
    assert label == [f"101.7 in [101.2, 102.2] at 95 % confidence, kll, {widened}, contract met"]


def test_the_parts_of_a_bar_are_in_proportion() -> None:
    first, second = widths(bar_svg(CHARGED))
    assert first / second == pytest.approx(1.5, rel=0.01)
    (only,) = widths(bar_svg(PLAIN))
    assert only == pytest.approx(first + second, abs=0.02)


def test_what_is_without_bound_fills_its_line() -> None:
    assert sum(widths(bar_svg(UNBOUND, width=140))) == pytest.approx(140.0, abs=0.02)
    shown = UNBOUND._repr_html_()
    assert "interruption without bound" in shown
    assert "[unbounded, unbounded]" in shown
    assert "contract not met" in shown
    assert "covers 75 %" in shown


def test_nothing_has_no_bar_but_a_line() -> None:
    assert len(ET.fromstring(bar_svg(NOTHING)).findall("rect")) == 1
    assert "no bar" in NOTHING._repr_html_()


def test_bars_of_one_query_share_a_scale() -> None:
    narrow = replace(PLAIN, group=("a",), low=101.6, high=101.8)
    wide = replace(PLAIN, group=("b",))
    drawn = re.findall(r"<svg.*?</svg>", Answers([narrow, wide])._repr_html_())
    (small,), (large,) = map(widths, drawn)
    assert large / small == pytest.approx(5.0, rel=0.02)


def test_long_lists_are_cut_and_say_so() -> None:
    shown = Answers([PLAIN] * (ROWS + 3))._repr_html_()
    assert shown.count("<svg") == ROWS
    assert "and 3 more" in shown


def test_lists_and_plans_are_what_they_were() -> None:
    assert repr(Answers([PLAIN])) == repr([PLAIN])
    assert repr(PlanText("a\nb")) == repr("a\nb")


def test_no_name_becomes_markup() -> None:
    evil = replace(
        CHARGED, query=EVIL, group=(EVIL, None), basis=EVIL, charges=(sg.Charge.even(EVIL, 1.0),)
    )
    row = sg.RowChange(EVIL, {EVIL: EVIL}, -2, as_of=0, missing=3, share=0.5, unseen=12.0)
    question = sg.Query(EVIL, EVIL, sg.avg(EVIL), window=sg.Latest(), where=sg.col(EVIL) == EVIL)
    for value in (evil, Answers([evil, evil]), row, question, PlanText(f"{EVIL}\n{EVIL}")):
        tags = Tags()
        tags.feed(value._repr_html_())
        assert not tags.seen & {"img", "script", "onerror", "src"}
        assert "&lt;img" in value._repr_html_()


def test_known_charges_keep_their_colours() -> None:
    painted = colours(["kll", "late rows", "a synopsis of mine"])
    assert painted["late rows"] == COLOURS[KNOWN.index("late rows")]
    assert len(set(painted.values())) == 3


@pytest.mark.parametrize("light", [1.0, 0.0056])
def test_colours_stand_out_on_white_and_on_black(light: float) -> None:
    """A part of a picture needs three to one."""
    for colour in COLOURS:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        own = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        bright, dark = max(own, light), min(own, light)
        assert (bright + 0.05) / (dark + 0.05) >= 3.0, colour


def test_numbers_read_as_on_the_page() -> None:
    texts = {
        1234567.891: "1,234,570",
        1234567.0: "1,234,567",
        -0.25: "-0.25",
        0.0: "0",
        2.5e12: "2.500e+12",
        1e-5: "1.000e-05",
    }
    assert {value: number_text(value) for value in texts} == texts
