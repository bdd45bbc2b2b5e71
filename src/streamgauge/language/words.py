"""From text to pieces: words, numbers, texts and signs, each with its place.

One regular expression cuts the text. Whether a word is a keyword is decided by the parser, which
knows what it can go on with; only the reserved words are never names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from lark import Lark

from streamgauge.language.alternatives import ALTERNATIVES

MAX_DEPTH = 100
MAX_LENGTH = 1_000_000

NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
STRING = r"'(?:[^']|'')*'"
QUOTED = r'"(?:[^"]|"")+"'
COMMENT = r"--[^\n]*|/\*.*?\*/"

SIGNS = {
    ";": "_SEMICOLON", "(": "_OPEN", ")": "_CLOSE", "[": "_SQUARE", "]": "_END_SQUARE",
    ",": "_COMMA", ".": "_DOT", "*": "_STAR", "+": "_PLUS", "-": "_MINUS", "/": "_SLASH",
    "%": "_MOD", "||": "_JOINED", "=": "_EQUAL", "!=": "_UNEQUAL", "<>": "_UNEQUAL",
    "<": "_LESS", "<=": "_AT_MOST", ">": "_MORE", ">=": "_AT_LEAST",
}  # fmt: skip

RESERVED = frozenset(
    {
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "BY",
        "LIMIT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "JOIN",
        "ON",
        "USING",
        "AS",
        "AND",
        "OR",
        "NOT",
        "IN",
        "IS",
        "BETWEEN",
        "LIKE",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "NULL",
        "TRUE",
        "FALSE",
        "DISTINCT",
        "CREATE",
        "WITH",
    }
)

# Words of SQL that the grammar does not have. Without AS none of them is an alias: a clause that
# is not supported must be refused, not read as the name of what stands before it.
UNSUPPORTED = frozenset(
    [
        "ANY",
        "APPLY",
        "CONNECT",
        "DELETE",
        "ESCAPE",
        "ESCAPED",
        "EXCLUDE",
        "FETCH",
        "FOLLOWING",
        "GLOB",
        "GROUPING",
        "IGNORE",
        "ILIKE",
        "INSERT",
        "INTO",
        "ISNULL",
        "LATERAL",
        "MATCH",
        "MERGE",
        "MINUS",
        "NATURAL",
        "NOTNULL",
        "NULLS",
        "OFFSET",
        "OVER",
        "OVERLAPS",
        "PIVOT",
        "POSITIONAL",
        "PRECEDING",
        "QUALIFY",
        "RECURSIVE",
        "REGEXP",
        "REPLACE",
        "RESPECT",
        "RETURNING",
        "RLIKE",
        "SAMPLE",
        "SETS",
        "SIMILAR",
        "SOME",
        "START",
        "STRAIGHT",
        "TABLESAMPLE",
        "TOP",
        "UNPIVOT",
        "UPDATE",
        "VALUES",
    ]
)

# Words that say something only before a bracket or a constant, and are names elsewhere.
BEFORE_BRACKET = frozenset(
    {"ISTREAM", "DSTREAM", "RSTREAM", "RESAMPLE", "FILTER", "CAST", "EXISTS", "COLLAPSE"}
)
BEFORE_CONSTANT = {
    "TIMESTAMP": ("STRING",),
    "INTERVAL": ("STRING", "NUMBER"),
}

_PIECE = re.compile(
    rf"(?P<SPACE>\s+|{COMMENT})|(?P<WORD>[^\W\d]\w*)|(?P<NUMBER>{NUMBER})|(?P<STRING>{STRING})"
    rf"|(?P<QUOTED>{QUOTED})|(?P<PARAMETER>\$[^\W\d]\w*)|(?P<SIGN>\|\||<>|!=|<=|>=|[-;()\[\],.*+/%=<>])",
    re.DOTALL,
)
_STRANGE = re.compile("[\0\ud800-\udfff]")


def strange(text: str) -> int | None:
    """Where a text has a character that no file can hold, or None."""
    if text.isascii() and "\0" not in text:
        return None
    found = _STRANGE.search(text)
    return None if found is None else found.start()


class Stray(ValueError):
    """A place in a text that nothing can begin with; `args` holds it."""


class Piece(NamedTuple):
    """A piece of a text: its kind, where it starts, as written.

    Kinds are WORD, NUMBER, STRING, QUOTED, PARAMETER and SIGN.
    """

    kind: str
    start: int
    text: str


def pieces(text: str) -> list[Piece]:
    r"""Cut a text into pieces; spaces and comments are left out.

    Raises
    ------
    Stray
        With the place, when a character fits nowhere or a quote or comment is not closed.

    Examples
    --------
    >>> [piece.text for piece in pieces("SELECT a -- the first\nFROM s")]
    ['SELECT', 'a', 'FROM', 's']
    """
    stray = strange(text)
    if stray is not None:
        raise Stray(stray)
    found, end = [], 0
    for match in _PIECE.finditer(text):
        if match.start() != end:
            raise Stray(end)
        end = match.end()
        kind = match.lastgroup
        if kind != "SPACE":
            assert kind is not None
            found.append(Piece(kind, match.start(), match.group()))
    if end != len(text):
        raise Stray(end)
    return found


def pieces_from(text: str, place: int) -> Iterator[tuple[int, str]]:
    """Pieces that begin at a place of a text or after it, as far as it can be cut.

    >>> next(pieces_from("EVERY 5 MINUTES", 7))
    (8, 'MINUTES')
    """
    while (match := _PIECE.match(text, place)) is not None:
        if match.lastgroup != "SPACE":
            yield place, match.group()
        place = match.end()


@lru_cache(maxsize=1)
def words() -> tuple[str, ...]:
    """All keywords, in upper case and alphabetical order.

    >>> "ISTREAM" in words(), "THROUGHOUT" in words()
    (True, True)
    """
    named = (terminal.pattern.value for terminal in grammar().terminals)
    return tuple(sorted(word for word in named if word.isalpha() and word.isupper()))


@lru_cache(maxsize=1)
def grammar() -> Lark:
    """The grammar with its tables."""
    text = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    for name, lines in ALTERNATIVES.items():
        text = text.replace(f"<{name}>", "\n    | ".join(lines))
    return Lark(text, parser="lalr", lexer="basic")


@lru_cache(maxsize=1)
def not_names() -> frozenset[str]:
    """Keywords that must be quoted to be names: some place takes either, and prefers the keyword.

    >>> "time" in not_names(), "EVERY" in not_names()
    (False, True)
    """
    table = grammar().parse_interactive().parser_state.parse_conf.states
    known = set(words())
    rows = (row.keys() for row in table.values() if "IDENT" in row)
    return RESERVED | frozenset(word for row in rows for word in row if word in known)


@lru_cache(maxsize=1)
def not_aliases() -> frozenset[str]:
    """Words that are an alias only after AS or in quotes: keywords, and other words of SQL.

    >>> sorted({"FULL", "EVERY", "TOTAL"} & not_aliases())
    ['EVERY', 'FULL']
    """
    return RESERVED | UNSUPPORTED | frozenset(words())


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def quoted(name: str, keywords: Set[str] | None = None) -> str:
    """A name as it is written, in quotes only where they are needed.

    Parameters
    ----------
    name
        The name.
    keywords
        Words that are read as keywords at its place; None: wherever it stands.

    Examples
    --------
    >>> quoted("value"), quoted("select"), quoted("two words"), quoted("rows", {"RESAMPLE"})
    ('value', '"select"', '"two words"', 'rows')
    """
    taken = not_names() if keywords is None else keywords
    if _PLAIN_NAME.fullmatch(name) and not (name.isascii() and name.upper() in taken):
        return name
    return '"' + name.replace('"', '""') + '"'
