"""Alternatives of the grammar that follow from the tables of sources and targets."""

from __future__ import annotations

from collections.abc import Iterator

from streamgauge.sources.source_kind import Option, SourceKind
from streamgauge.sources.table import DECLARED
from streamgauge.targets.table import KINDS, OF_ALERTS, OF_SINKS
from streamgauge.targets.target_kind import TargetKind

# Options that streams of any source have, or targets too: they stand in the grammar.
SHARED = ("idle", "user", "password_file", "password_env", "ca", "mechanism")
_TAKEN = {
    "text": "text", "name": "name", "word": "name", "number": "number", "whole": "whole",
    "moment": "moment", "span": "duration", "positive": "duration",
    "texts": "text (_COMMA text)*",
}  # fmt: skip


def _options() -> dict[str, Option]:
    """Options of sources by name; two sources with the same word write it in the same way."""
    found: dict[str, Option] = {}
    for option in (option for kind in DECLARED.values() for option in kind.options):
        if option.written and option.name not in SHARED:
            first = found.setdefault(option.name, option)
            assert (first.takes, first.choices) == (option.takes, option.choices), option.name
    return found


def _keywords(words: str) -> str:
    return " ".join(f'"{word}"' for word in words.split())


def _written(option: Option) -> Iterator[str]:
    """Each way to write an option."""
    words = _keywords(option.words)
    # Formats have been written in quotes too.
    taken = "(name | text)" if option.name == "format" else _TAKEN.get(option.takes, "")
    if option.takes:
        yield f"{words} {taken} -> option_{option.name}"
    for number, (word, _value) in enumerate(option.choices):
        yield f"{words} {_keywords(word)} -> option_{option.name}_{number}"


def _source(kind: SourceKind) -> str:
    """What stands after FROM, up to the options."""
    parts = [f'"{kind.name.upper()}"']
    if kind.address:
        parts.append("text" if kind.address.needed else "[text]")
    if kind.numbers:
        parts.append("[_OPEN number (_COMMA number)* _CLOSE]" if kind.brackets else "[number]")
    if kind.then:
        then = f"{_keywords(kind.then.words)} {_TAKEN[kind.then.takes]}"
        parts.append(then if kind.then_needed else f"[{then}]")
    return f"{' '.join(parts)} -> from_{kind.name}"


def _target(kind: TargetKind, *, formats: bool) -> str:
    """A target as it is written: TO, its name, its address, and what its kind has besides."""
    parts = [f'"TO" "{kind.name.upper()}" text']
    if kind.detail:
        parts.append(f'"{kind.detail.word}" text')
    if formats and kind.formats:
        parts.append('["FORMAT" (name | text)]')
    return " ".join([*parts, *(["login*"] if kind.login else [])])


OPTIONS = _options()
ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "sources": tuple(map(_source, DECLARED.values())),
    "source_options": tuple(one for option in OPTIONS.values() for one in _written(option)),
    "deliveries": tuple(f"{_target(KINDS[n], formats=False)} -> to_{n}" for n in OF_ALERTS),
    "outlets": tuple(f"{_target(KINDS[n], formats=True)} -> out_{n}" for n in OF_SINKS),
}
