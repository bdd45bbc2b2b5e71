"""A statement filled into the shape of an earlier one is the one its own text says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.errors import ParseError
from streamgauge.language import template
from streamgauge.language.parse import parse, parse_directly
from streamgauge.language.statements import Statement

pytestmark = pytest.mark.slow

TEXTS = (
    "SELECT avg(v) AS a1 FROM s1 [RANGE {n} MINUTES SLIDE {n} s] WHERE k = {s} AND v > -{n}",
    "SELECT a FROM s [ROWS {n}] -- {n} of them\nWHERE a IN ({n}, {s}, {n}) LIMIT {n}",
    'SELECT "2 x", v*{n}+{n}.{n} FROM s WITHIN {n} PERCENT CONFIDENCE {n}% EVERY {n}ms',
    "SELECT case {n} when {n} then {s} end FROM s WHERE ts > TIMESTAMP {s} - INTERVAL {s} MINUTE",
    "CREATE QUERY q FOR EACH k IN ({s}, -{n}) AS SELECT x{n} FROM s [SINCE {s}]",
    "SELECT t.{n} FROM s /* {s} */ WHERE a = {n}e{n}",
)
NUMBERS = ("0", "1", "7", "007", "1.5", ".5", "2.", "1e3", "5E-1", "99999999999999999999", "1e999")
STRINGS = ("''", "'a'", "'it''s'", "'2026-01-01'", "'5'", "'-- no'", "'1.5'")


def outcome(read: object, text: str) -> Statement | tuple[str, str]:
    try:
        return read(text)  # type: ignore[operator, no-any-return]
    except ParseError as error:
        return error.what, error.detail


@settings(max_examples=200)
@given(st.data(), st.sampled_from(TEXTS))
def test_filling_a_shape_is_parsing(data: st.DataObject, text: str) -> None:
    while "{n}" in text:
        text = text.replace("{n}", data.draw(st.sampled_from(NUMBERS)), 1)
    while "{s}" in text:
        text = text.replace("{s}", data.draw(st.sampled_from(STRINGS)), 1)
    assert outcome(parse, text) == outcome(parse_directly, text)


def test_statements_that_differ_in_constants_share_one_shape() -> None:
    template._kept.cache_clear()
    for i in range(50):
        parse(f"SELECT avg(v) FROM plant [RANGE {i + 1} MINUTES] WHERE k = 's{i}' AND v > {i / 7}")
    assert template._kept.cache_info().misses == 1


@pytest.mark.parametrize("text", ["SELECT a FROM s WHERE k = 's1", "SELECT a\0 FROM s"])
def test_what_has_no_shape_is_parsed_by_itself(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_quoted_name_belongs_to_the_shape() -> None:
    assert parse('SELECT "1" FROM s') != parse('SELECT "2" FROM s')


def test_constants_of_two_types_are_two_statements() -> None:
    assert parse("SELECT 1 FROM s") != parse("SELECT 1.0 FROM s")
