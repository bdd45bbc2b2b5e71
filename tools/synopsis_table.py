"""The pages and the table of all registered synopses, as in docs/reference/synopses/index.md.

Run it as `python tools/synopsis_table.py`; with `--write` it puts them into the page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses import FAMILIES
from streamgauge.synopses.synopsis import Expiring, Subtractable, Synopsis

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference" / "synopses"
PAGE = PAGES / "index.md"
HEAD = ("synopsis", "answers", "takes", "weights", "merging", "window", "replay", "specimen owes")
BEGIN, END = "<!-- made by tools/synopsis_table.py -->\n", "<!-- end -->\n"
WEIGHTS = {"none": "none", "positive": "positive", "strict": "taken back", "any": "any"}
UNITS = {"additive": " of the weight", "relative": " of the value", "rank": " in rank"}


def table() -> str:
    """The pages, and one table for each family with its heading."""
    families = [(family.__name__.rpartition(".")[2], family.KINDS) for family in FAMILIES]
    return "\n".join([_contents(), *(_family(name, kinds) for name, kinds in families)])


def _contents() -> str:
    """A list of the pages, each by its title."""
    titles = {
        page.name: page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for page in sorted(PAGES.glob("*.md"))
        if page != PAGE
    }
    return "".join(f"- [{title}]({name})\n" for name, title in titles.items())


def _family(name: str, kinds: tuple[type[Synopsis], ...]) -> str:
    lines = [f"### {name.capitalize()}\n", _line(HEAD), _line(("---",) * len(HEAD))]
    lines += [_line(_cells(kind)) for kind in kinds]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(kind: type[Synopsis]) -> tuple[str, ...]:
    return (
        _linked(kind.name),
        ", ".join(answer.__name__ for answer in kind.answers),
        kind.takes,
        WEIGHTS[kind.weights],
        kind.merging,
        _window(kind),
        "same bytes" if kind.repeatable else "other bytes",
        promise(kind.specimen(0).guarantee),
    )


def _linked(name: str) -> str:
    """Name of a synopsis, linked to its section where a page has one."""
    heading = re.compile(rf"^#+ `?{re.escape(name)}`?$", re.MULTILINE)
    for page in sorted(PAGES.glob("*.md")):
        if page != PAGE and heading.search(page.read_text(encoding="utf-8")):
            return f"[`{name}`]({page.name}#{name})"
    return f"`{name}`"


def _window(kind: type[Synopsis]) -> str:
    """How a sliding window of it is kept."""
    if issubclass(kind, Expiring):
        return "expires"
    if issubclass(kind, Subtractable):
        return "subtract panes"
    return "" if kind.merging == "none" else "merge panes"


def promise(guarantee: Guarantee) -> str:
    """A law in a few words.

    >>> promise(Guarantee("rank", 0.05)), promise(Guarantee("relative", 0.1, 0.05))
    ('0.05 in rank, surely', '0.1 of the value, 95%')
    """
    if guarantee.law == "exact":
        return "exact"
    if guarantee.epsilon == float("inf"):
        return "what its bar says, no width beforehand"
    sure = f"{100 * (1 - guarantee.delta):.3g}%" if guarantee.delta else "surely"
    return f"{guarantee.epsilon:.2g}{UNITS[guarantee.law]}, {sure}"


def page_with(made: str) -> str:
    """Text of the page with this table in it."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + made + END + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    """Show the table, or write it into the page."""
    if "--write" in arguments:
        PAGE.write_text(page_with(table()), encoding="utf-8")
    else:
        sys.stdout.write(table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
