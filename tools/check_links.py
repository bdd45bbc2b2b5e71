"""Find links in the Markdown documents that lead nowhere.

Relative links must name a file or folder of this repository, and the heading if they name one.
Links to other sites are not followed. Run it as `python tools/check_links.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_OTHER_SITE = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)


def documents(root: Path = ROOT) -> list[Path]:
    """The Markdown files at the top of the repository and below docs."""
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])


def links(text: str) -> Iterator[str]:
    """Targets of the links in a document, code left out.

    >>> list(links("see [the guide](docs/guide.md#start) and `[not](this)`"))
    ['docs/guide.md#start']
    """
    for match in _LINK.finditer(_CODE.sub("", _FENCE.sub("", text))):
        yield match[1] or match[2]


def anchors(text: str) -> set[str]:
    """Names by which the headings of a document can be linked.

    >>> sorted(anchors("# Life of a `query`, in short"))
    ['life-of-a-query-in-short']
    """
    titles = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(document: Path) -> list[str]:
    """One line for each relative link of a document that does not resolve."""
    text = document.read_text(encoding="utf-8")
    return [
        f"{document.name}: {link}"
        for link in links(text)
        if not _OTHER_SITE.match(link) and not _resolves(document, link)
    ]


def _resolves(document: Path, link: str) -> bool:
    path, _, anchor = unquote(link).partition("#")
    target = document.parent / path if path else document
    if not target.exists():
        return False
    if not anchor or target.suffix != ".md":
        return True
    return anchor in anchors(target.read_text(encoding="utf-8"))


def main() -> int:
    """Print what is broken; the exit code says whether anything is."""
    found = documents()
    broken = [line for document in found for line in broken_links(document)]
    for line in broken:
        print(f"broken link in {line}", file=sys.stderr)
    print(f"{len(found)} documents, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
