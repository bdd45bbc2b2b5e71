"""The notebooks of the examples run from the top and show what they showed before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook.running import EXAMPLES, PICTURE, assert_as_before, ran

pytestmark = pytest.mark.slow


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = ran(EXAMPLES / "tutorial.ipynb", tmp_path, monkeypatch)
    assert_as_before(EXAMPLES / "tutorial.ipynb", notebook)
    kinds = [set(out.get("data", {})) for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any(PICTURE in kind for kind in kinds), "the plot is drawn"
    texts = [out.data.get("text/html", "") for cell in notebook.cells
             for out in cell.get("outputs", []) if "data" in out]  # fmt: skip
    assert any("interruption" in text and "not met" in text for text in texts)


@pytest.mark.nightly
def test_promising_tuples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = EXAMPLES / "promising_tuples.ipynb"
    assert_as_before(path, ran(path, tmp_path, monkeypatch))
