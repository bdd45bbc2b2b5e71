"""The table of functions and its page agree."""

from __future__ import annotations

from pathlib import Path

from streamgauge.operators.scalar_functions import SCALAR_FUNCTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "functions.md"


def test_the_page_lists_every_function() -> None:
    calls = PAGE.read_text().split("## Operators")[0]
    lines = [line for line in calls.splitlines() if line.startswith("| `")]
    expected = [
        f"| `{item.signature}` | {item.returns} | {item.summary} |"
        for item in SCALAR_FUNCTIONS.values()
    ]
    assert lines == expected
