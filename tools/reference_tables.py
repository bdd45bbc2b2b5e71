"""The parts of the reference that are derived from tables in the code, such as that of metrics.

`make tables` writes them into their pages; `python tools/reference_tables.py` names those that are
old.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from streamgauge.server.metrics.metric import MetricGroup
from streamgauge.server.metrics.table import EVERY, GROUPS
from streamgauge.server.prometheus import dashboard
from streamgauge.sources.source_kind import SourceKind
from streamgauge.sources.table import DECLARED
from streamgauge.targets.table import KINDS
from streamgauge.targets.target_kind import TargetKind

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference"
BEGIN, END = "<!-- made by tools/reference_tables.py: {} -->\n", "<!-- end -->\n"


def line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def metrics() -> str:
    """All metrics by group, and which of them the dashboard does not draw."""
    return "\n\n".join((*map(_group, GROUPS), _not_drawn())) + "\n"


def _group(group: MetricGroup) -> str:
    rows = [
        line((f"`{m.shown}`", m.kind, ", ".join(m.labels) or "-", m.text)) for m in group.metrics
    ]
    table = "\n".join((line(("metric", "type", "labels", "meaning")), "|---|---|---|---|", *rows))
    return "\n\n".join(filter(None, (f"## {group.title}", group.before, table, group.after)))


def _not_drawn() -> str:
    panels = json.loads(dashboard())["panels"]
    asked = " ".join(target["expr"] for panel in panels for target in panel.get("targets", ()))
    drawn = set(re.findall(r"\bstreamgauge_\w+", asked))
    left = "\n".join(f"- `{metric.shown}`" for metric in EVERY if metric.shown not in drawn)
    return (
        "## Not on the dashboard\n\nThe dashboard that comes with the package uses all but these, "
        f"which are for rules and for looking closer:\n\n{left}"
    )


def targets() -> str:
    """All kinds of targets, of alerts and of sinks."""
    head = line(("target", "of", "what arrives"))
    rows = [line((_code(k.written), _goods(k), k.text)) for k in KINDS.values()]
    return "\n".join((head, "|---|---|---|", *rows)) + "\n"


def _goods(kind: TargetKind) -> str:
    return ", ".join(
        filter(None, ("alerts" if kind.sender else "", "sinks" if kind.writer else ""))
    )


def sources() -> str:
    """All kinds of sources as statements have them, with the options of each."""
    head = line(("source", "rows", "options"))
    rows = [line((_code(kind.written), _rows_of(kind), _forms(kind))) for kind in DECLARED.values()]
    return "\n".join((head, "|---|---|---|", *rows)) + "\n"


def _forms(kind: SourceKind) -> str:
    return ", ".join(_code(option.form) for option in kind.options if option.written) or "-"


def _rows_of(kind: SourceKind) -> str:
    return kind.text + (f" [How to](../how-to/{kind.how_to})." if kind.how_to else "")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def source_keys() -> str:
    """All kinds of sources as project files have them."""
    rows = [line((f"`{name}`", _keys(kind), _rows_of(kind))) for name, kind in DECLARED.items()]
    return "\n".join((line(("kind", "keys", "rows")), "|---|---|---|", *rows)) + "\n"


def _keys(kind: SourceKind) -> str:
    return ", ".join(f"`{key}`" for key in kind.keys if key != "kind") or "-"


# The page, the name of its part, and what makes it.
PARTS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("metrics.md", "metrics", metrics),
    ("language.md", "targets", targets),
    ("language.md", "sources", sources),
    ("project-file.md", "sources", source_keys),
)


def renewed() -> Iterator[tuple[Path, str, str]]:
    """Each page with its text as it is and as it should be."""
    for page in dict.fromkeys(page for page, _, _ in PARTS):
        text = new = (PAGES / page).read_text(encoding="utf-8")
        for name, make in ((name, make) for other, name, make in PARTS if other == page):
            head, begin, rest = new.partition(BEGIN.format(name))
            assert begin, f"{page} has no part {name!r}"
            new = f"{head}{begin}\n{make()}\n{END}{rest.partition(END)[2]}"
        yield PAGES / page, text, new


def main() -> int:
    """Name the pages that are old; with `--write`, renew them."""
    old = [(path, new) for path, text, new in renewed() if text != new]
    for path, new in old:
        if "--write" in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
        sys.stdout.write(f"{path.name}\n")
    return 0 if "--write" in sys.argv[1:] else len(old)


if __name__ == "__main__":
    raise SystemExit(main())
