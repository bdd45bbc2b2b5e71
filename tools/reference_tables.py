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
    rows = [line((f"`{k.written}`".replace("|", "\\|"), _goods(k), k.text)) for k in KINDS.values()]
    return "\n".join((head, "|---|---|---|", *rows)) + "\n"


def _goods(kind: TargetKind) -> str:
    return ", ".join(
        filter(None, ("alerts" if kind.sender else "", "sinks" if kind.writer else ""))
    )


# The page, the name of its part, and what makes it.
PARTS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("metrics.md", "metrics", metrics),
    ("language.md", "targets", targets),
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
