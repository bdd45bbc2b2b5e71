"""The synopsis of the how-to is a file that works, and every block of the page runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools.check_links import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "how-to" / "add_a_synopsis.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python ?([\w.]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE)


def test_the_blocks_of_the_page_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name, text), *others = BLOCKS
    assert name == "octaves.py"
    (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert len(others) == 4
        for place, (_, block) in enumerate(others):
            exec(compile(block, f"add_a_synopsis.md block {place}", "exec"), {"__name__": "page"})
    finally:
        sys.modules.pop("octaves", None)


def test_the_table_names_what_a_synopsis_writes() -> None:
    """Every member that the example defines is explained, but for what explains itself."""
    defined = set(re.findall(r"^    (?:def )?(\w+)(?: = |\()", BLOCKS[0][1], re.MULTILINE))
    plain = {"__init__", "_merge", "_subtract", "validate"}
    assert defined - plain <= set(re.findall(r"`(\w+)`", PAGE))
