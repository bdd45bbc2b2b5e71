"""Damaged statements: texts that are nearly right, for fuzzing the language."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamgauge.language.render import render
from streamgauge.language.words import SIGNS, pieces, words
from tests.kit.statements import statements

SCRAPS = (
    *sorted(SIGNS), "0", "1.5", "1e999", "9" * 40, "''", "'x'", "'", '"', '""', "/*", "*/", "--",
    "\0", "\ud800", "\u00e9", "a", "!", "\n", "((((((((", "))))", "[[", "]]", "5%",
)  # fmt: skip


@st.composite
def damaged(draw: DrawFn) -> str:
    """A statement with some of its pieces left out, doubled, swapped or replaced."""
    parts = [piece.text for piece in pieces(render(draw(statements())))]
    scraps = st.sampled_from(SCRAPS) | st.sampled_from(words())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(parts)))
        move = draw(st.sampled_from(("drop", "add", "swap", "replace", "double")))
        if move == "add":
            parts.insert(at, draw(scraps))
        elif move == "drop":
            del parts[at : at + 1]
        elif move == "replace":
            parts[at : at + 1] = [draw(scraps)]
        elif move == "double":
            parts[at:at] = parts[at : at + 3]
        else:
            parts[at : at + 2] = parts[at : at + 2][::-1]
    return draw(st.sampled_from((" ", " ", ""))).join(parts)


noise = st.one_of(
    st.text(max_size=60),
    st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")),
    st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.lists(st.sampled_from(SCRAPS), max_size=40).map(" ".join),
)
