"""The documentation holds: links resolve, Python blocks compile, and prompts give what they show.

A block with `>>>` is run as a doctest, so it must do without Java; write other blocks without
prompts and they are only compiled.
"""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from textwrap import dedent

import pytest

from tools.check_links import ROOT, anchors, broken_links, documents, links

BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(document: Path) -> list[str]:
    return [dedent(match[2]) for match in BLOCK.finditer(document.read_text(encoding="utf-8"))]


def name(document: Path) -> str:
    return str(document.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", documents(), ids=name)


@every_document
def test_links_resolve(document: Path) -> None:
    assert broken_links(document) == []


@every_document
def test_python_blocks_compile(document: Path) -> None:
    for block in blocks(document):
        if ">>>" not in block:
            ast.parse(block, filename=name(document))


@pytest.mark.slow
@every_document
def test_prompts_give_what_they_show(document: Path) -> None:
    prompts = "\n".join(block for block in blocks(document) if ">>>" in block)
    example = doctest.DocTestParser().get_doctest(prompts, {}, name(document), None, 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append)
    assert not report, "".join(report)


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[good](there.md) [good](there.md#a-heading) [site](https://example.org)\n"
        "[gone](gone.md) [no heading](there.md#another)\n"
        "```\n[code](gone.md)\n```\n"
    )
    assert broken_links(page) == ["page.md: gone.md", "page.md: there.md#another"]


def test_links_and_anchors_are_read() -> None:
    assert list(links("[a](b.md 'title') ![c](d.png)\n[e]: f.md")) == ["b.md", "d.png", "f.md"]
    assert anchors("## Two words\n### `code` here") == {"two-words", "code-here"}
