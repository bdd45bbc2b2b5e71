"""Golden files: text and bytes that may change only on purpose.

`REGOLD=1 pytest ...` writes them anew, to be read as a diff before it is kept.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"


def regolding() -> bool:
    """Whether this run writes golden files instead of comparing with them."""
    return bool(os.environ.get("REGOLD"))


def assert_golden(name: str, found: str | bytes) -> None:
    """Compare with a golden file, or write it when REGOLD is set."""
    path = GOLDEN / name
    data = found.encode() if isinstance(found, str) else found
    if regolding():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    expected = path.read_bytes()
    if isinstance(found, str):
        # As text, so that a failure shows the lines that differ.
        assert found == expected.decode(), f"tests/golden/{name}; REGOLD=1 writes it anew"
    assert data == expected, f"tests/golden/{name} differs; REGOLD=1 writes it anew"


def assert_answers_kept(found: list[dict[str, Any]], stored: list[dict[str, Any]]) -> None:
    """Compare answers with those that were stored beside a state, perhaps by an older release.

    Older answers had no slope and no share, and their charges only a width, with its rounding.
    """
    assert len(found) == len(stored)
    for one, other in zip(found, stored, strict=True):
        answer, known = dict(one), {"slope": 0.0, "share": 1.0, **other}
        charges, before = answer.pop("charges"), known.pop("charges")
        assert answer == known
        if all("below" in charge for charge in before) and charges == before:
            continue
        assert not any("below" in charge for charge in before)
        told, expected = (
            {c["by"]: (c["width"], c["delta"]) for c in part if c["width"] != 0.0}
            for part in (charges, before)
        )
        assert told == {
            by: (width if width is None else pytest.approx(width, rel=1e-12), delta)
            for by, (width, delta) in expected.items()
        }
