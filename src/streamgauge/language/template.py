"""Templates: thousands of statements that differ in their constants are parsed once.

A text is split at its numbers and texts. What remains is its shape. The steps that build a
statement are kept by shape; another text of the same shape only fills its constants in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from lark import Token

from streamgauge.kernel.errors import ParseError
from streamgauge.language.build import Steps
from streamgauge.language.mistakes import Misuse
from streamgauge.language.statements import CreateQuery, Statement
from streamgauge.language.words import (
    COMMENT,
    NUMBER,
    QUOTED,
    STRING,
    Stray,
    pieces,
    strange,
    words,
)

LONGEST = 4000
KEPT = 1024

_CONSTANT = re.compile(rf"((?<!\w){NUMBER}|{STRING}|{QUOTED}|{COMMENT})", re.DOTALL)
_NAMED = re.compile(r"CREATE\s+(?:STANDING\s+)?QUERY\s+([^\W\d]\w*)\s+(?:FOR|AS)\s", re.I)
# No sign or letter after this number would be read as a part of it.
_STANDS_FOR = {"n": "0.0e0", "s": "''"}

Shape = tuple[str, ...]


def filled(text: str, compiled: Callable[[str], Steps]) -> Statement | None:
    """The statement of a text by its shape, or None when it must be parsed by itself.

    Parameters
    ----------
    text
        One statement.
    compiled
        How a text becomes steps, for a shape not met before.
    """
    if len(text) > LONGEST or strange(text) is not None:
        return None
    named = _NAMED.match(text)
    if named is None or named[1].upper() in words():
        return _by_shape(text, compiled)
    # Thousands of queries differ in their names too; one stands for all of them.
    found = _by_shape(f"{text[: named.start(1)]}_{text[named.end(1) :]}", compiled)
    return replace(found, name=named[1]) if isinstance(found, CreateQuery) else None


def _by_shape(text: str, compiled: Callable[[str], Steps]) -> Statement | None:
    shape, kinds, constants = _split(text)
    try:
        steps = _kept(shape, kinds, compiled)
        return None if steps is None else steps.run(constants)
    except (ParseError, Misuse):
        # Places in a text of the same shape are not those of this one.
        return None


def _split(text: str) -> tuple[Shape, str, list[Token]]:
    """Shape, kinds and constants of a text; quoted names and comments belong to the shape."""
    parts = _CONSTANT.split(text)
    shape, kinds, constants = [parts[0]], "", []
    for constant, after in zip(parts[1::2], parts[2::2], strict=True):
        if constant[0] == "'":
            kinds += "s"
            constants.append(Token("STRING", constant))
        elif constant[0] in '"-/':
            kinds += "v"
            shape.append(constant)
        else:
            kinds += "n"
            constants.append(Token("NUMBER", constant))
        shape.append(after)
    return tuple(shape), kinds, constants


@lru_cache(maxsize=KEPT)
def _kept(shape: Shape, kinds: str, compiled: Callable[[str], Steps]) -> Steps | None:
    """The steps of a shape; None when cutting it into pieces finds other constants."""
    rest = iter(shape)
    text = next(rest)
    for kind in kinds:
        if kind == "n" and text.endswith("."):
            return None
        text += next(rest) if kind == "v" else _STANDS_FOR[kind]
        text += next(rest)
    try:
        cut = pieces(text)
    except Stray:
        return None
    found = "".join("ns"[piece.kind == "STRING"] for piece in cut if piece.kind in _LITERALS)
    return compiled(text) if found == kinds.replace("v", "") else None


_LITERALS = ("NUMBER", "STRING")
