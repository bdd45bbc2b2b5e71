"""Any text is a statement or a ParseError, never anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from streamgauge.kernel.errors import ParseError
from streamgauge.language.parse import parse, parse_all, parse_directly
from streamgauge.language.render import render
from tests.kit.damaged import damaged, noise

pytestmark = pytest.mark.slow


def outcome(read: Callable[[str], Any], text: str) -> Any:
    """What a text is read as, or the parts of its error."""
    try:
        return read(text)
    except ParseError as error:
        return error.args


def survives(text: str) -> None:
    """Parse in each way; what parses must render and parse again to itself."""
    found = outcome(parse_directly, text)
    assert outcome(parse, text) == found
    if isinstance(found, tuple):
        assert found[1].startswith("line ")
        assert found[2]
    else:
        assert parse(render(found)) == found


@settings(max_examples=120)
@given(damaged())
def test_damaged_statements(text: str) -> None:
    survives(text)


@settings(max_examples=250)
@given(noise)
def test_noise(text: str) -> None:
    survives(text)
    assert outcome(parse_all, text) is not None
