"""parse: from text to statements.

lark makes the tables of the grammar; here words are fed to it. A word is a keyword when the parser
can go on with that keyword, and a name otherwise. No step recurses, so no input can be too deep
for Python; what is nested too deep for a reader is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lark import Token, Tree, UnexpectedToken
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser

from streamgauge.kernel.errors import ParseError
from streamgauge.language import words
from streamgauge.language.build import Steps, steps_of
from streamgauge.language.mistakes import (
    Blame,
    Misuse,
    blamed,
    misused,
    strayed,
    too_deep,
    too_long,
)
from streamgauge.language.statements import Statement
from streamgauge.language.template import filled
from streamgauge.language.words import MAX_DEPTH, MAX_LENGTH, Piece, Stray, pieces

__all__ = ["Feed", "Parsed", "parse", "parse_all", "parse_directly", "parse_each"]


def parse(text: str) -> Statement:
    """Read one statement, with or without a semicolon after it.

    Raises
    ------
    ParseError
        With the line, the column, the line itself and a mark under the place.

    Examples
    --------
    >>> from streamgauge.language.render import render
    >>> print(render(parse("select avg(price) from ticks [range 5 minutes] every 1 min")))
    SELECT AVG(price) FROM ticks [RANGE 5 MINUTES] EVERY 1 MINUTE
    """
    statement = filled(text, _compiled)
    return parse_directly(text) if statement is None else statement


def parse_all(text: str) -> list[tuple[Statement, str, int]]:
    r"""Read a script: statements with semicolons between them.

    Returns
    -------
    list of (Statement, str, int)
        Each statement, its own text and the line it starts in, counted from 1.

    Examples
    --------
    >>> [(part, line) for _, part, line in parse_all("SHOW QUERIES; -- all\nDESCRIBE heat;")]
    [('SHOW QUERIES', 1), ('DESCRIBE heat', 2)]
    """
    found = []
    line, counted = 1, 0
    for part in _statements(_cut(text), text):
        start = part[0].start
        line, counted = line + text.count("\n", counted, start), start
        own = _own(part, text)
        found.append((_statement(part, own, text), own, line))
    return found


class Parsed(NamedTuple):
    """One statement of a script: what it says or why it says nothing, its text and its start."""

    said: Statement | ParseError
    text: str
    start: int


def parse_each(text: str) -> list[Parsed]:
    """Read a script statement by statement; one that is wrong does not keep the others back.

    >>> [type(part.said).__name__ for part in parse_each("SHOW QUERY; SHOW QUERIES")]
    ['ParseError', 'Show']
    """
    found = []
    for part in _statements(_cut(text), text):
        own = _own(part, text)
        try:
            said: Statement | ParseError = _statement(part, own, text)
        except ParseError as error:
            said = error
        found.append(Parsed(said, own, part[0].start))
    return found


def _own(part: Sequence[Piece], text: str) -> str:
    last = part[-1]
    return text[part[0].start : last.start + len(last.text)]


def _statement(part: Sequence[Piece], own: str, text: str) -> Statement:
    statement = filled(own, _compiled)
    return _built(_compiled_part(part, text), text) if statement is None else statement


def parse_directly(text: str) -> Statement:
    """Read one statement without looking for an earlier one of the same shape."""
    return _built(_compiled(text), text)


def _cut(text: str) -> list[Piece]:
    try:
        return pieces(text)
    except Stray as stray:
        raise strayed(text, stray.args[0]) from None


def _statements(cut: Sequence[Piece], text: str) -> list[list[Piece]]:
    parts: list[list[Piece]] = [[]]
    for piece in cut:
        if piece.text == ";":
            parts.append([])
        else:
            parts[-1].append(piece)
    return [part for part in parts if part]


def _compiled(text: str) -> Steps:
    return _compiled_part(_cut(text), text)


def _compiled_part(part: Sequence[Piece], text: str) -> Steps:
    length = part[-1].start - part[0].start if part else 0
    if length > MAX_LENGTH:
        raise too_long(text, part[0].start, length)
    depth = 0
    for piece in part:
        if piece.text in ("(", "["):
            depth += 1
            if depth > MAX_DEPTH:
                raise too_deep(text, piece.start)
        elif piece.text in (")", "]"):
            depth -= 1
    try:
        steps = steps_of(_tree(part, text))
    except Misuse as misuse:
        raise misused(text, misuse) from None
    if steps.depth > 2 * MAX_DEPTH:
        raise too_deep(text, steps.deepest)
    return steps


def _built(steps: Steps, text: str) -> Statement:
    try:
        return steps.run()
    except Misuse as misuse:
        raise misused(text, misuse) from None


def _tree(part: Sequence[Piece], text: str) -> Tree[Token]:
    feed = Feed(part)
    try:
        while feed.at < len(part):
            feed.shift(feed.token())
        end = part[-1].start + len(part[-1].text) if part else len(text)
        found: Tree[Token] = feed.parser.feed_token(Token("$END", "", start_pos=end, end_pos=end))
        return found
    except UnexpectedToken:
        raise _error(part, feed.at, text) from None


def _error(part: Sequence[Piece], at: int, text: str) -> ParseError:
    """What is wrong at a piece: feed the pieces before it once more to see what could follow."""
    feed = Feed(part)
    before: frozenset[str] = frozenset()
    while feed.at < at:
        if feed.at == at - 1:
            before = feed.expected()
        feed.shift(feed.token())
    return blamed(Blame(text, part, at, feed.expected(), before))


class Feed:
    """A parser and the pieces it is fed with, one after another."""

    def __init__(self, part: Sequence[Piece]) -> None:
        self.part = part
        self.at = 0
        self.parser: InteractiveParser = words.grammar().parse_interactive()
        self.keywords = frozenset(words.words())
        self.open: list[str] = []

    def token(self) -> Token:
        """The piece in turn, as what the parser can make of it."""
        piece = self.part[self.at]
        kind, value = piece.kind, piece.text
        if kind == "SIGN":
            kind = words.SIGNS[value]
        elif kind == "QUOTED":
            kind, value = "IDENT", value[1:-1].replace('""', '"')
        elif kind == "WORD":
            kind = self._word(value)
        self._note(kind)
        end = piece.start + len(piece.text)
        return Token(kind, value, start_pos=piece.start, end_pos=end)

    def shift(self, token: Token) -> None:
        """Take a token and go on to the next piece."""
        self.parser.feed_token(token)
        self.at += 1

    def expected(self) -> frozenset[str]:
        """What the parser could go on with."""
        state = self.parser.parser_state
        row = state.parse_conf.states[state.position]
        kinds = (kind for kind in row if kind.isupper())
        return frozenset(kind for kind in kinds if self._accepts(kind))

    def _word(self, word: str) -> str:
        upper = word.upper() if word.isascii() else ""
        if upper in self.keywords and self._fits(upper):
            if upper == "WHEN" and self.open[-1:] == ["CASE"]:
                return "_CASE_WHEN"
            if upper in words.RESERVED or self._accepts(upper):
                return upper
        # A word of SQL is no alias, so the parser gets one that it cannot take.
        return upper if upper in words.not_aliases() and "alias" in self.rules() else "IDENT"

    def _fits(self, upper: str) -> bool:
        after = self.part[self.at + 1] if self.at + 1 < len(self.part) else None
        if upper in words.BEFORE_BRACKET:
            return after is not None and after.text == "("
        if upper in words.BEFORE_CONSTANT:
            return after is not None and after.kind in words.BEFORE_CONSTANT[upper]
        return True

    def _note(self, kind: str) -> None:
        # WHEN right inside a CASE begins its next branch; inside brackets it is that of a count.
        if kind in ("CASE", "_OPEN"):
            self.open.append(kind)
        elif kind in ("END", "_CLOSE") and self.open:
            self.open.pop()

    def rules(self) -> frozenset[str]:
        """Rules that could begin with a name here, as the grammar calls them."""
        row = self._shifting("IDENT")
        return frozenset() if row is None else frozenset(kind for kind in row if kind.islower())

    def _accepts(self, kind: str) -> bool:
        return self._shifting(kind) is not None

    def _shifting(self, kind: str) -> Mapping[str, Any] | None:
        """Where the parser would take a token of this kind: reduce as it would, change nothing."""
        state = self.parser.parser_state
        states, stack = state.parse_conf.states, state.state_stack
        depth, pushed = len(stack), list[int]()
        while True:
            row: Mapping[str, Any] = states[pushed[-1] if pushed else stack[depth - 1]]
            action = row.get(kind)
            if action is None:
                return None
            if action[0] is Shift:
                return row
            size = len(action[1].expansion)
            kept = min(size, len(pushed))
            del pushed[len(pushed) - kept :]
            depth -= size - kept
            after = states[pushed[-1] if pushed else stack[depth - 1]]
            pushed.append(after[action[1].origin.name][1])
            if kind == "$END" and pushed[-1] == state.parse_conf.end_state:
                return row
