"""The reference page of the language: its examples parse, and it names every keyword."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamgauge.language.parse import parse, parse_all
from streamgauge.language.render import render
from streamgauge.language.words import RESERVED, words

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "language.md").read_text("utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text[:30])
def test_examples_parse_and_render(example: str) -> None:
    for statement, _, _ in parse_all(example):
        assert parse(render(statement)) == statement


def test_every_keyword_is_on_the_page() -> None:
    named = {word.upper() for word in re.findall(r"[A-Za-z]+", PAGE)}
    assert set(words()) - named == set()


def test_every_reserved_word_is_listed() -> None:
    listed = re.search(r"Never names without quotes: `(.*?)`", PAGE, re.DOTALL)
    assert listed is not None
    assert set(listed[1].split()) == RESERVED
