"""Which files decide what a kernel compiles to."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from streamgauge.kernel import kernel_text
from streamgauge.kernel.kernel_text import deciding, definitions
from streamgauge.kernel.signatures import modules_with_kernels

MAIN = """
from streamgauge.words import SENTENCE
from streamgauge.numbers import LIMIT
from streamgauge.inner import step
from streamgauge import whole
from streamgauge.kernel.jit import compiled

SCALE = 2 * LIMIT

def spoken():
    return SENTENCE

@compiled
def walk(x):
    return step(x) * SCALE + whole.A
"""
FILES = {
    "main": MAIN,
    "words": "from streamgauge.numbers import LIMIT\nSENTENCE = str(LIMIT)\n",
    "numbers": "from streamgauge.words import SENTENCE\nLIMIT = 3\nSAID = SENTENCE\n",
    "inner": "from streamgauge.deep import E\n@compiled\ndef step(x):\n    return x + E\n",
    "deep": "E = 1\n",
    "whole": "from streamgauge.far import B\nA = B\n",
    "far": "B = 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kernel_text, "ROOT", tmp_path)
    definitions.cache_clear()
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_names_are_followed_from_kernels_and_no_further(package: Path) -> None:
    found = {path.stem for path in deciding(package / "main.py")}
    assert found == {"main", "numbers", "inner", "deep", "whole", "far"}


def test_a_module_without_kernels_decides_nothing_but_itself(package: Path) -> None:
    assert deciding(package / "words.py") == {package / "words.py"}


@pytest.mark.slow
def test_words_of_errors_leave_most_kernels_as_they_are() -> None:
    definitions.cache_clear()
    errors = kernel_text.ROOT / "kernel" / "errors.py"
    files = [Path(str(find_spec(module).origin)) for module in modules_with_kernels()]
    decided = [deciding(file) for file in files]
    assert sum(errors in found for found in decided) < len(files) / 4
    walk = decided[files.index(kernel_text.ROOT / "drift" / "walk.py")]
    assert {path.stem for path in walk} >= {"walk", "answer", "timer", "peaks", "evaluate"}
