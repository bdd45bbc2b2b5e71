"""The pages about summaries name all there is: aggregates, functions, needs."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import streamgauge as sg
from streamgauge import functions
from streamgauge.operators.aggregate import ACROSS, SUMMARIES
from streamgauge.synopses.synopsis import Need
from tools.check_links import ROOT

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs" / "guide" / "summaries.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
SEMANTICS = (ROOT / "docs" / "reference" / "semantics.md").read_text(encoding="utf-8")


def test_the_guide_names_every_summary() -> None:
    for name in (*(name for name in SUMMARIES if name not in ACROSS), "median"):
        assert f"sg.{name}(" in GUIDE
        assert f"sg.{name}(" in API
        assert f"`{name}" in SEMANTICS


def test_the_pages_name_every_function() -> None:
    for name in functions.__all__:
        assert re.search(rf"\bsgf\.{name}\b", GUIDE), name
        assert f"`functions.{name}(" in API, name


@pytest.mark.parametrize("name", functions.__all__)
def test_the_api_page_shows_the_signature(name: str) -> None:
    """Every parameter by its name, and every plain default as it is."""
    (shown,) = re.findall(rf"`functions\.{name}\((.*?)\)` \|", API)
    for parameter in inspect.signature(getattr(functions, name)).parameters.values():
        default: Any = parameter.default
        text = parameter.name
        if default is not inspect.Parameter.empty:
            text += "=" + (f'"{default}"' if isinstance(default, str) else repr(default))
        assert text in shown, f"{name}: {text}"


def test_the_api_page_names_every_need() -> None:
    for name in Need.__dataclass_fields__:
        assert f"`{name}`" in API


def test_the_refusals_of_the_guide_are_real() -> None:
    """What the guide says is refused is refused, with an error that says what to do."""
    list_on_change = sg.Query("q", "s", sg.top_k("x", 3), window=sg.Range("1 minute"))
    with pytest.raises(sg.StreamgaugeError, match="top_k answers whole lists"):
        list_on_change._bind_summary({})
    for window in (None, sg.Rows(10), sg.Partition("x", 3)):
        asked = sg.Query("q", "s", sg.median("x"), window=window)
        with pytest.raises(sg.StreamgaugeError, match="needs a window of time"):
            asked._bind_summary({})
