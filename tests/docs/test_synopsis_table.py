"""The table of synopses says what the registry holds; REGOLD=1 writes it anew."""

from __future__ import annotations

import re

import pytest

from streamgauge.synopses import FAMILIES, REGISTRY
from tests.goldens import regolding
from tools.synopsis_table import PAGE, PAGES, page_with, table

pytestmark = pytest.mark.slow


def test_the_page_shows_what_the_registry_holds() -> None:
    made = page_with(table())
    if regolding():
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "REGOLD=1 writes the table anew"


def test_every_synopsis_has_one_line() -> None:
    lines = re.findall(r"^\| \[?`(\w+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(lines) == sorted(REGISTRY)
    assert sum(len(family.KINDS) for family in FAMILIES) == len(REGISTRY), "a name is taken twice"


def test_every_page_of_a_family_is_linked() -> None:
    text = PAGE.read_text(encoding="utf-8")
    pages = {page.name for page in PAGES.glob("*.md")} - {PAGE.name}
    assert pages == set(re.findall(r"^- \[[^\]]+\]\((\w+\.md)\)", text, re.MULTILINE))
