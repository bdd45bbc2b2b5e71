"""What pages of the reference show of tables in the code is what the code has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.reference_tables import PARTS, renewed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("page", sorted({page for page, _, _ in PARTS}))
def test_the_page_shows_what_the_code_has(page: str) -> None:
    for path, text, new in renewed():
        if path.name == page:
            assert text == new, "make tables writes it anew"


def test_each_page_is_there_once() -> None:
    assert len({(page, name) for page, name, _ in PARTS}) == len(PARTS)
    assert all(isinstance(path, Path) and path.exists() for path, _, _ in renewed())
