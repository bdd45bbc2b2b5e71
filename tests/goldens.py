"""Golden files: text and bytes that may change only on purpose.

`REGOLD=1 pytest ...` writes them anew, to be read as a diff before it is kept.
"""

from __future__ import annotations

import os
from pathlib import Path

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
