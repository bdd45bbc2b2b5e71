"""complete: what can come at a place of a text, as the parser and the names in force have it.

The parser is fed with what stands before the place. Its tables say which keywords it could go on
with, and which rules could begin with a name there, so a stream is offered where a stream can
stand and a column where a column can.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lark import UnexpectedToken

from streamgauge.language.expressions import AGGREGATES
from streamgauge.language.parse import Feed
from streamgauge.language.words import RESERVED, Piece, Stray, pieces, quoted, words
from streamgauge.operators.scalar_functions import SCALAR_FUNCTIONS
from streamgauge.sources.formats import FORMATS
from streamgauge.sources.table import DECLARED
from streamgauge.streams.schema import TYPES

# Names that are offered at most; who has more types another letter.
MOST = 200
UNITS = ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")
BUDGETS = ("MEMORY", "CPU", "PROBES")
SIZES = ("B", "KB", "MB", "GB")
_KINDS = frozenset(
    {"QUERY", "STREAM", "TABLE", "VIEW", "WINDOW", "FUNCTION", "AGGREGATE", "SUMMARY", "ALERT"}
    | {"SINK"}
)
_OF_COLUMNS = frozenset({"BY", "EACH", "KEY", "TIME", "CHANGES", "WIDTH"})
_NAMES = ("IDENT", "_COMMA")
_FORMATS = {name.upper(): kind.formats for name, kind in DECLARED.items() if kind.formats}


class Word(NamedTuple):
    """A word that can come, as it is written, and what it is."""

    word: str
    kind: str


class Completion(NamedTuple):
    """Words that can stand from a place on; what is there up to the cursor is their beginning."""

    start: int
    words: tuple[Word, ...]


def _nothing(_name: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Known:
    """Names in force.

    Parameters
    ----------
    names
        By kind: query, stream, table, view, window, function, summary, alert, sink.
    columns
        Columns of whatever can stand in FROM, by its name.
    """

    names: dict[str, Collection[str]] = field(default_factory=dict)
    columns: Callable[[str], Sequence[str]] = _nothing


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a word is wanted: pieces of its statement, those before it, and what was fed."""

    statement: Sequence[Piece]
    before: Sequence[Piece]
    kinds: Sequence[str]
    expected: frozenset[str]
    rules: frozenset[str]

    def written(self, name: str) -> str:
        """A name in quotes where it would be read as a keyword here."""
        return quoted(name, RESERVED | self.expected)


def complete(text: str, offset: int, known: Known | None = None) -> Completion:
    """What can come at a place of a text.

    Parameters
    ----------
    text
        A script; what stands after the place may be unfinished or wrong.
    offset
        The place, in characters.
    known
        Names in force.

    Examples
    --------
    >>> known = Known({"stream": ["plant"]}, {"plant": ["series", "value"]}.__getitem__)
    >>> complete("SELECT va FROM plant", 9, known).words
    (Word(word='value', kind='column'), Word(word='VAR', kind='function'))
    >>> complete("SELECT AVG(value) FROM pl", 25, known)
    Completion(start=23, words=(Word(word='plant', kind='stream'),))
    """
    offset = max(0, min(offset, len(text)))
    start = _start(text[:offset])
    if start is None:
        return Completion(offset, ())
    prefix = text[start:offset]
    spot = _spot(text, start)
    if spot is None:
        return Completion(start, ())
    found = _matching(_names(spot, known or Known()), prefix.lstrip('"'))
    keys = () if prefix.startswith('"') else _keywords(spot)
    return Completion(start, (*found, *_matching(keys, prefix)))


def _start(before: str) -> int | None:
    """Where the word at the end of a text begins; None inside a text in quotes or a comment."""
    try:
        cut = pieces(before)
        # A letter more is a piece, or a part of one, everywhere but in a comment.
        if cut == pieces(before + "x"):
            return None
    except Stray as stray:
        place: int = stray.args[0]
        open_name = before[place] == '"' and "\n" not in before[place:]
        return place if open_name else None
    last = cut[-1] if cut else None
    touches = last is not None and last.start + len(last.text) == len(before)
    if last is None or not touches or last.kind == "SIGN":
        return len(before)
    return last.start if last.kind == "WORD" else None


def _spot(text: str, start: int) -> _Spot | None:
    before = pieces(text[:start])
    begin = max((n for n, piece in enumerate(before) if piece.text == ";"), default=-1) + 1
    before = before[begin:]
    feed = Feed(before)
    kinds = []
    try:
        while feed.at < len(before):
            token = feed.token()
            kinds.append(token.type)
            feed.shift(token)
    except UnexpectedToken:
        return None
    rest = _after(text[start:])
    return _Spot([*before, *rest], before, kinds, feed.expected(), feed.rules())


def _after(text: str) -> list[Piece]:
    """Pieces up to the end of a statement, as far as they can be cut."""
    try:
        cut = pieces(text)
    except Stray as stray:
        cut = pieces(text[: stray.args[0]])
    end = next((n for n, piece in enumerate(cut) if piece.text == ";"), len(cut))
    return cut[:end]


def _keywords(spot: _Spot) -> Iterator[Word]:
    more = {"WHEN"} if "_CASE_WHEN" in spot.expected else set()
    for word in sorted((spot.expected & set(words())) | more):
        yield Word(word, "keyword")


def _matching(found: Iterable[Word], prefix: str) -> tuple[Word, ...]:
    """Those that begin with what was typed and are more than it; columns first, each once."""
    low, kept = prefix.lower(), dict[Word, None]()
    for item in found:
        bare = item.word.lstrip('"').lower()
        if bare.startswith(low) and (bare != low or not low):
            kept[item] = None
            if len(kept) == MOST:
                break
    return tuple(kept)


def _names(spot: _Spot, known: Known) -> Iterator[Word]:
    if "IDENT" not in spot.expected:
        return
    rules, kinds = spot.rules, spot.kinds
    if kinds[-1:] == ["_DOT"]:
        yield from _columns_of(spot, known)
    elif "atom" in rules:
        yield from _columns(spot, known)
        yield from (Word(spot.written(alias or name), "source") for name, alias in _sources(spot))
        yield from _functions(known)
    elif "from_name" in rules:
        yield from _listed(spot, known, "stream", "view", "table", "query")
    elif "window_name" in rules:
        yield from _listed(spot, known, "window")
    elif "type" in rules:
        yield from (Word(name.upper(), "type") for name in TYPES)
    elif "watched" in rules:
        yield from _listed(spot, known, "query")
    elif "budget" in rules:
        yield from (Word(name, "budget") for name in BUDGETS)
    elif not rules:
        yield from _units(spot)
    elif "alias" not in rules:
        yield from _by_anchor(spot, known)


def _units(spot: _Spot) -> Iterator[Word]:
    if spot.kinds[-1:] == ["NUMBER"]:
        size = any(piece.text.upper() in BUDGETS for piece in spot.before[-2:])
        yield from (Word(unit, "unit") for unit in (SIZES if size else UNITS))


def _by_anchor(spot: _Spot, known: Known) -> Iterator[Word]:
    """Names where only a name can stand; the last word before them says of what kind."""
    kinds = spot.kinds
    at = len(kinds)
    while at and kinds[at - 1] in _NAMES:
        at -= 1
    anchor = kinds[at - 1] if at else ""
    further = at < len(kinds)
    opener = kinds[at - 2] if anchor == "_OPEN" and at > 1 else ""
    if anchor in _KINDS:
        kind = "function" if anchor == "AGGREGATE" else anchor.lower()
        yield from () if kinds[0] == "CREATE" else _listed(spot, known, kind)
    elif anchor == "OF" or kinds[0] == "EXPLAIN":
        yield from _listed(spot, known, "query")
    elif anchor == "DESCRIBE":
        yield from _listed(spot, known, *known.names)
    elif anchor == "FORMAT":
        formats = next((_FORMATS[kind] for kind in kinds if kind in _FORMATS), FORMATS)
        yield from (Word(name, "format") for name in formats)
    elif anchor == "ON" or (opener == "RESAMPLE" and not further):
        yield from _listed(spot, known, "stream")
    elif anchor in _OF_COLUMNS or opener in ("USING", "RESAMPLE", "IDENT"):
        yield from _columns(spot, known)


def _listed(spot: _Spot, known: Known, *kinds: str) -> Iterator[Word]:
    for kind in kinds:
        for name in sorted(known.names.get(kind, ())):
            yield Word(spot.written(name), kind)


def _functions(known: Known) -> Iterator[Word]:
    own = known.names.get("function", ())
    listed = sorted({*(name.upper() for name in (*AGGREGATES, *SCALAR_FUNCTIONS)), *own})
    return (Word(name, "function") for name in listed)


def _columns_of(spot: _Spot, known: Known) -> Iterator[Word]:
    """Columns of the source that is named before the dot."""
    source = _bare(spot.before[-2]) if len(spot.before) > 1 else ""
    named = {alias or name: name for name, alias in _sources(spot)}
    for column in known.columns(named.get(source, source)):
        yield Word(spot.written(column), "column")


def _columns(spot: _Spot, known: Known) -> Iterator[Word]:
    """Columns of what the statement reads; of everything that could be read before it says so."""
    if spot.kinds[:2] == ["CREATE", "STREAM"] and "AS" not in spot.kinds:
        yield from (Word(spot.written(name), "column") for name in _declared(spot.before))
        return
    names = [name for name, _ in _sources(spot)] or sorted(known.names.get("stream", ()))
    for name in names:
        for column in known.columns(name):
            yield Word(spot.written(column), "column")


def _declared(part: Sequence[Piece]) -> Iterator[str]:
    """Columns in the bracket of CREATE STREAM name (a FLOAT, ...)."""
    wanted = False
    for piece in part:
        if piece.text == ")":
            return
        if wanted and piece.kind in ("WORD", "QUOTED"):
            yield _bare(piece)
        wanted = piece.text in ("(", ",")


def _sources(spot: _Spot) -> list[tuple[str, str]]:
    """What the statement reads: names after FROM and JOIN with their aliases, inner ones too."""
    found: list[tuple[str, str]] = []
    part, at = spot.statement, 0
    while at < len(part):
        word = part[at].text.upper()
        at += 1
        summarised = word == "ON" and any(p.text.upper() == "SUMMARY" for p in part[:2])
        if not (word in ("FROM", "JOIN") or summarised):
            continue
        more = True
        while more and at < len(part):
            if [p.text.upper() for p in part[at : at + 2]] == ["RESAMPLE", "("]:
                at += 2
            if part[at : at + 1] == [] or part[at].kind not in ("WORD", "QUOTED"):
                break
            name = _bare(part[at])
            at = _past_window(part, at + 1)
            alias, at = _alias(part, at)
            at = _past_window(part, at)
            found.append((name, alias))
            more = at < len(part) and part[at].text == ","
            at += more
    return found


def _past_window(part: Sequence[Piece], at: int) -> int:
    if at < len(part) and part[at].text == "[":
        while at < len(part) and part[at].text != "]":
            at += 1
        return min(at + 1, len(part))
    return at


def _alias(part: Sequence[Piece], at: int) -> tuple[str, int]:
    said = at < len(part) and part[at].text.upper() == "AS"
    at += said
    piece = part[at] if at < len(part) else None
    if piece is None or piece.kind not in ("WORD", "QUOTED"):
        return "", at
    if not said and piece.kind == "WORD" and piece.text.upper() in words():
        return "", at
    return _bare(piece), at + 1


def _bare(piece: Piece) -> str:
    """A name without its quotes."""
    return piece.text[1:-1].replace('""', '"') if piece.kind == "QUOTED" else piece.text
