"""Mistakes: from a place in a text to an error that says what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from streamgauge.kernel.errors import ParseError, Place
from streamgauge.language.words import (
    MAX_DEPTH,
    MAX_LENGTH,
    SIGNS,
    Piece,
    not_aliases,
    pieces_from,
    words,
)

_WINDOW = "a window is written [RANGE 5 MINUTES], [ROWS 100] or [NOW]"
_SIGN_OF = {kind: sign for sign, kind in SIGNS.items() if sign != "<>"}
_SHOWN = 100
_BEFORE_BY = frozenset({"GROUP", "ORDER"})
# A clause that is there twice, or a word that is not known.
_MEANT = re.compile(r"([A-Z].*) is written twice|unknown \w+ '(\w+)'")


class Misuse(ValueError):
    """Something that is grammatical and has no meaning; where it is is known to whoever built it.

    Parameters
    ----------
    what, hint
        The first and the last part of the error to be.
    place
        Where the clause begins, once that is known.
    """

    def __init__(self, what: str, hint: str, place: int = 0) -> None:
        super().__init__(what, hint)
        self.what = what
        self.hint = hint
        self.place = place


@dataclass(frozen=True, slots=True)
class Blame:
    """A piece that does not fit: all pieces, its number, what could stand there and before it."""

    text: str
    part: Sequence[Piece]
    at: int
    expected: frozenset[str]
    expected_before: frozenset[str]


def place_of(text: str, place: int) -> str:
    r"""Line, column, and the line itself with a mark under the place.

    >>> print(place_of("SELECT a\nFORM s", 9))
    line 2, column 1
        FORM s
        ^
    """
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : len(text) if end < 0 else end].rstrip("\r")
    column = place - start
    shift = max(0, column - _SHOWN // 2)
    shown = line[shift : shift + _SHOWN]
    shown = "".join(c if c.isprintable() else "?" if c != "\t" else " " for c in shown)
    number = text.count("\n", 0, place) + 1
    return f"line {number}, column {column + 1}\n    {shown}\n    {' ' * (column - shift)}^"


def _error(what: str, text: str, place: int, hint: str, length: int = 1) -> ParseError:
    error = ParseError(what, place_of(text, place), hint)
    error.place = Place.at(text, place, min(length, len(text) - place))
    return error


def strayed(text: str, place: int) -> ParseError:
    """The error of a character that fits nowhere."""
    found = text[place]
    line = text.find("\n", place)
    rest = (len(text) if line < 0 else line) - place
    if found == "'":
        hint = "end it with ', and write '' for a quote"
        return _error("a text is not closed", text, place, hint, rest)
    if text.startswith('""', place):
        hint = 'write a name between the quotes: "my name"'
        return _error("a name is empty", text, place, hint, 2)
    if found == '"':
        return _error("a quoted name is not closed", text, place, 'end it with "', rest)
    if found == "!":
        return _error("unexpected '!'", text, place, "write NOT, or != for unequal")
    shown = f"'{found}'" if found.isprintable() else f"character U+{ord(found):04X}"
    hint = "write texts in single quotes and unusual names in double quotes"
    return _error(f"unexpected {shown}", text, place, hint)


def misused(text: str, misuse: Misuse) -> ParseError:
    """The error of something without meaning."""
    place, length = _within(text, misuse)
    return _error(misuse.what, text, place, misuse.hint, length)


def _within(text: str, misuse: Misuse) -> tuple[int, int]:
    """The word that is meant, in the clause that begins at a place, else what begins there."""
    named = _MEANT.match(misuse.what)
    place = misuse.place
    if named is not None:
        twice, seen = named[1] is not None, 0
        # Of ON CHANGE the second word tells it from the ON of a join.
        meant = {*re.findall("[A-Z]+", named[1])} - {"ON"} if twice else {named[2].upper()}
        for start, piece in pieces_from(text, place):
            if piece == ";":
                break
            seen += piece.upper() in meant
            if seen == 1 + twice:
                return start, len(piece)
    found = next(pieces_from(text, place), None)
    return (place, 1) if found is None else (found[0], len(found[1]))


def too_deep(text: str, place: int) -> ParseError:
    """The error of brackets in brackets in brackets."""
    hint = "name inner queries in WITH, and leave needless brackets out"
    return _error(f"nested deeper than {MAX_DEPTH} levels", text, place, hint)


def too_long(text: str, place: int, length: int) -> ParseError:
    """The error of a statement that is longer than any that a person or a program should write."""
    hint = f"at most {MAX_LENGTH} are read; put long lists of values into a table"
    return _error(f"a statement of {length} characters", text, place, hint, length)


def blamed(blame: Blame) -> ParseError:
    """The error of a piece that does not fit, or of the word before it that was misspelled."""
    at = blame.at
    if at > 0:
        before = blame.part[at - 1]
        meant = _meant(before, blame.expected_before, 0.7)
        if meant and before.text.upper() not in blame.expected_before:
            return _unexpected(blame.text, before, f"did you mean {meant}?")
        # The word before BY was taken for a name, and BY for the term.
        earlier = blame.part[at - 2] if at > 1 and before.text.upper() == "BY" else None
        meant = "" if earlier is None else _meant(earlier, _BEFORE_BY, 0.6)
        if earlier is not None and meant and meant != earlier.text.upper():
            return _unexpected(blame.text, earlier, f"did you mean {meant}?")
    if at >= len(blame.part):
        last = blame.part[-1] if blame.part else None
        end = last.start + len(last.text) if last else 0
        return _error("unexpected end", blame.text, end, _hint(blame), 0)
    return _unexpected(blame.text, blame.part[at], _hint(blame))


def _unexpected(text: str, piece: Piece, hint: str) -> ParseError:
    shown = piece.text if len(piece.text) <= 40 else piece.text[:37] + "..."
    return _error(f"unexpected {shown!r}", text, piece.start, hint, len(piece.text))


def _meant(piece: Piece, expected: frozenset[str], cutoff: float) -> str:
    """The keyword that was probably meant, or nothing."""
    if piece.kind != "WORD":
        return ""
    possible = sorted(expected & set(words()))
    found = get_close_matches(piece.text.upper(), possible, n=1, cutoff=cutoff)
    return found[0] if found else ""


def _hint(blame: Blame) -> str:
    """The most useful next step."""
    piece = blame.part[blame.at] if blame.at < len(blame.part) else None
    refused = "" if piece is None else _not_alias(blame, piece) or _unsupported(blame, piece)
    if refused:
        return refused
    meant = "" if piece is None else _meant(piece, blame.expected, 0.6)
    if meant and piece is not None and meant != piece.text.upper():
        return f"did you mean {meant}?"
    special = _special(blame, piece)
    return special or "expected " + _listed(blame.expected)


# What to write instead of a word of SQL that is not supported.
_INSTEAD = {
    "NATURAL": "write JOIN ... USING (column) with the columns that are to be equal",
    "LATERAL": "write a subquery in WHERE, or JOIN ... ON",
    "POSITIONAL": "write JOIN ... ON with the columns that are to be equal",
    "STRAIGHT": "write JOIN ... ON; Streamgauge chooses the order of a join itself",
    "FETCH": "write LIMIT 10",
    "TOP": "write LIMIT 10 at the end of the query",
    "OFFSET": "leave OFFSET out; LIMIT 10 gives the first rows",
    "OVER": "write the window after the stream: FROM ticks [ROWS 100]",
    "QUALIFY": "write HAVING, or LIMIT 10",
    "MINUS": "write EXCEPT",
    "REGEXP": "write LIKE 'a%'",
    "RLIKE": "write LIKE 'a%'",
    "ILIKE": "write LOWER(column) LIKE 'a%'",
    "ISNULL": "write IS NULL",
    "NOTNULL": "write IS NOT NULL",
    **dict.fromkeys(
        ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"),
        "rows come from the source of a stream: add files, or push rows to POST "
        "/v1/streams/NAME/rows",
    ),
}


def _not_alias(blame: Blame, piece: Piece) -> str:
    """The hint for a word of SQL that stands where only an alias could."""
    word = piece.text.upper()
    possible = piece.kind == "WORD" and {"AS", "IDENT"} <= blame.expected
    if not possible or word not in not_aliases():
        return ""
    after = blame.part[blame.at + 1].text.upper() if blame.at + 1 < len(blame.part) else ""
    if (word, after) == ("WITHIN", "GROUP"):
        return "write QUANTILE(column, 0.5)"
    if after in ("JOIN", "OUTER", "LEFT", "RIGHT", "INNER", "SEMI", "ANTI") and word != "LATERAL":
        joins = "supported are JOIN, LEFT, RIGHT, FULL, SEMI, ANTI, ASOF and CROSS JOIN"
        return f"{_INSTEAD[word]}; {joins}" if word in _INSTEAD else joins
    if word in _INSTEAD:
        return _INSTEAD[word]
    return f'{word} is a keyword; as a name it is written AS "{piece.text}"'


def _unsupported(blame: Blame, piece: Piece) -> str:
    """The hint for a word of SQL that is known and not supported, wherever it stands."""
    word = piece.text.upper()
    known = piece.kind == "WORD" and word not in blame.expected
    return _INSTEAD.get(word, "") if known else ""


# Words that begin a clause, which cannot stand inside a bracket that holds an expression.
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "EVERY", "WITHIN")


def _special(blame: Blame, piece: Piece | None) -> str:
    before = [part.text.upper() for part in blame.part[: blame.at]]
    found = "" if piece is None else piece.text.upper()
    if not before and piece is None:
        return "write a statement, such as SELECT AVG(value) FROM plant [RANGE 5 MINUTES]"
    if before[-1:] == ["SELECT"] and found == "FROM":
        return "name what to select, or write SELECT * FROM"
    if before[-1:] == ["/"] and found == "*":
        return "a comment is not closed; end it with */"
    if before[-1:] == [";"]:
        return "one statement at a time; use a script for several"
    if before.count("[") > before.count("]"):
        return _WINDOW
    if found == "[":
        return "a window stands right after the name of a stream: FROM ticks [RANGE 5 MINUTES]"
    if before.count("CASE") > before.count("END") and (piece is None or found in _CLAUSES):
        return "a CASE is not closed: write END before it"
    if before.count("(") > before.count(")") and (piece is None or found in _CLAUSES):
        return "a bracket is not closed: write ) before it"
    if found == ")" and before.count(")") >= before.count("("):
        return "there is no bracket to close"
    return _clause_hint(blame, before, found)


def _clause_hint(blame: Blame, before: list[str], found: str) -> str:
    expected = blame.expected
    if expected == {"TIMER", "WATCH"}:
        return "write BY TIMER or BY WATCH, or GROUP BY and ORDER BY before the terms"
    if "FROM" in expected and "SELECT" in before and "FROM" not in before:
        if found and found not in words():
            return f"write a comma before {blame.part[blame.at].text!r}, or an operator"
        return "a query needs FROM: SELECT ... FROM stream [RANGE 5 MINUTES]"
    if "USING" in expected and "JOIN" in before:
        return "a join needs ON condition or USING (column); CROSS JOIN has neither"
    if found == "=" and before[-1:] == ["="]:
        return "write a single ="
    if found in words() and "IDENT" in expected:
        return f'{found} is a keyword; as a name it is written "{found.lower()}"'
    if blame.part[blame.at : blame.at + 1] and blame.part[blame.at].kind == "QUOTED":
        return "texts are written in single quotes; double quotes are for names"
    return ""


def _listed(expected: frozenset[str]) -> str:
    """What could stand there, in words, the plainest first."""
    if expected >= {"IDENT", "NUMBER", "CASE"}:
        return " or ".join(["an expression", *(["*"] if "_STAR" in expected else [])])
    plain = {"IDENT": "a name", "NUMBER": "a number", "STRING": "a text in quotes"}
    names = [plain[kind] for kind in plain if kind in expected]
    signs = [_SIGN_OF[kind] for kind in sorted(expected) if kind in _SIGN_OF]
    keys = sorted(expected & set(words()))
    end = ["the end"] if "$END" in expected else []
    found = names + keys + [f"'{sign}'" for sign in signs] + end
    shown = found if len(found) <= 8 else [*found[:7], f"{len(found) - 7} more"]
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
