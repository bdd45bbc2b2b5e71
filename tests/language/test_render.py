"""What is rendered parses to the same statement, by shape or directly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from streamgauge.language.parse import parse, parse_all, parse_directly
from streamgauge.language.render import render
from streamgauge.language.statements import Statement
from tests.kit.statements import statements
from tests.profile import examples

pytestmark = pytest.mark.slow


@settings(max_examples=examples(150))
@given(statements())
def test_rendered_text_parses_to_the_same_statement(statement: Statement) -> None:
    text = render(statement)
    assert parse_directly(text) == statement, text
    assert parse(text) == statement, text
    assert render(parse(text)) == text


@settings(max_examples=30)
@given(statements(), statements())
def test_a_script_of_two_gives_both(first: Statement, second: Statement) -> None:
    text = f"{render(first)};\n/* between */ {render(second)} -- end"
    found = parse_all(text)
    assert [statement for statement, _, _ in found] == [first, second]
    assert [own for _, own, _ in found] == [render(first), render(second)]


@pytest.mark.parametrize("op", ["-", "/", "%"])
def test_brackets_on_the_right_stay(op: str) -> None:
    text = f"SELECT a {op} (b {op} c) AS x FROM s [NOW]"
    assert render(parse(text)) == text
    assert render(parse(f"SELECT (a {op} b) {op} c AS x FROM s [NOW]")) != text
