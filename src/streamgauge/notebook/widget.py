"""Drawn: the widget behind a live answer; it needs anywidget."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from streamgauge.contracts.picture import BAD, COLOURS, GOOD, KNOWN, PLAIN
from streamgauge.notebook.bundle import bundle


def style() -> str:
    """The style of the widget, with the colours that answers have everywhere in a notebook."""
    named = {"exact": PLAIN, "good": GOOD, "bad": BAD}
    named |= {f"charge-{place}": colour for place, colour in enumerate(COLOURS)}
    values = " ".join(f"--{name}: {colour};" for name, colour in named.items())
    painted = "\n".join(
        f".streamgauge .charge-{place} {{ fill: {colour}; background: {colour}; }}"
        for place, colour in enumerate(COLOURS)
    )
    own = files("streamgauge.notebook").joinpath("widget.css").read_text(encoding="utf-8")
    return f".streamgauge {{ {values} }}\n{painted}\n{own}"


class Drawn(anywidget.AnyWidget):
    """What the browser knows of a live answer.

    Parameters
    ----------
    name
        Name of the query.
    state
        `live`, or why it is no longer.
    lines
        The newest answer and the ones before it, for each group.
    more
        Groups that are not shown.
    charges
        Names of charges, in the order of their colours.
    """

    _esm = bundle("widget.js")
    _css = style()
    name = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Unicode("live").tag(sync=True)
    lines: traitlets.List[Any] = traitlets.List().tag(sync=True)
    more = traitlets.Int(0).tag(sync=True)
    charges = traitlets.List(list(KNOWN)).tag(sync=True)
