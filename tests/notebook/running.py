"""Runs a notebook in a kernel of its own and tells what it showed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.goldens import regolding
from tools.check_links import ROOT

EXAMPLES = ROOT / "examples"
SHOWN = ("text/plain", "text/html", "image/svg+xml", "image/png")
# Pixels differ from one machine to another.
PICTURE = "image/png"
LONG_NUMBER = re.compile(r"\d+\.\d{6,}(e[-+]?\d+)?")


def ran(path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook as it is after a run from the top, without what differs from run to run."""
    here = place / "here"
    here.mkdir()
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "TMPDIR"):
        (place / name).mkdir()
        monkeypatch.setenv(name, str(place / name))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    notebook: Any = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--HistoryManager.enabled=False"],
        resources={"metadata": {"path": str(here)}},
    ).execute()
    assert list(here.iterdir()) == [], "a notebook leaves nothing behind"
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in SHOWN if kind in output.data}
    return notebook


def comparable(notebook: Any) -> list[Any]:
    """Its cells, without the pixels of pictures and with numbers rounded to six digits."""
    cells = []
    for cell in notebook.cells:
        outputs = []
        for output in cell.get("outputs", []):
            texts = output.get("data", {"text": output.get("text", "")})
            shown = {kind: _rounded(text) for kind, text in texts.items() if kind != PICTURE}
            outputs.append((output.output_type, shown))
        cells.append((cell.cell_type, cell.source, outputs))
    return cells


def _rounded(text: str) -> str:
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.6g}", text)


def assert_as_before(path: Path, notebook: Any) -> None:
    """Compare a notebook that ran with the stored one, or store it when REGOLD is set."""
    stored: Any = nbformat.read(path, as_version=4)
    same = comparable(notebook) == comparable(stored)
    if regolding() and not same:
        nbformat.write(notebook, path)
        return
    for found, before in zip(comparable(notebook), comparable(stored), strict=True):
        assert found == before, "REGOLD=1 writes it anew"
