"""Where in a text an error is that was found later than its grammar, when places are gone."""

from __future__ import annotations

import re

from streamgauge.kernel.errors import Place
from streamgauge.language.words import pieces

_NAMED = re.compile(r"'([^']+)'|\"([^\"]+)\"|(\$\w+)")


def named_place(text: str, statement: str, start: int, what: str) -> Place:
    """Where a statement of a text writes what an error names; the whole statement if nowhere.

    Parameters
    ----------
    text, statement, start
        A script, one of its statements, and where that begins.
    what
        The first part of an error, with names in quotes.

    Examples
    --------
    >>> said = "SELECT AVG(valeu) FROM plant"
    >>> named_place(said, said, 0, "unknown column 'valeu'")
    Place(line=1, column=12, offset=11, length=5)
    >>> named_place(said, said, 0, "a contract that nothing holds").length == len(said)
    True
    """
    cut = pieces(statement)
    for match in _NAMED.finditer(what):
        name = next(group for group in match.groups() if group)
        for piece in cut:
            bare = piece.text[1:-1] if piece.kind in ("QUOTED", "STRING") else piece.text
            if bare == name or (piece.kind == "WORD" and bare.lower() == name.lower()):
                return Place.at(text, start + piece.start, len(piece.text))
        if (at := statement.find(name)) >= 0:
            return Place.at(text, start + at, len(name))
    return Place.at(text, start, len(statement))
