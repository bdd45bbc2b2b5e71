"""Spans: what a condition says of one column, so that regions can be left out or taken whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from streamgauge.operators.predicate import Predicate, Scalar

Span: TypeAlias = tuple[float, float]
Spans: TypeAlias = tuple[Span, ...]
# Texts that are in a set, or those that are not.
Words: TypeAlias = tuple[frozenset[str], bool]
Sets: TypeAlias = Spans | Words

_ALL: Spans = ((-math.inf, math.inf),)
_EVERY: Words = (frozenset(), False)
_NO_WORD: Words = (frozenset(), True)
# From here on neighbouring whole numbers are one float.
_WHOLE = 2**53


@dataclass(frozen=True, slots=True)
class Reach:
    """Values of a column with which a row may pass a condition.

    Parameters
    ----------
    spans
        Closed intervals of numbers, ascending and apart; None: any value may pass. A strict bound
        is the next number, so that the ends are right.
    words
        Texts, sorted; None: any may pass, or the column has numbers.
    whole
        Whether nothing else is asked: every row with such a value passes. A missing value passes
        only where there is no condition at all.
    """

    spans: Spans | None = None
    words: tuple[str, ...] | None = None
    whole: bool = False


def spans_of(predicate: Predicate | None, column: str) -> Reach:
    """What a condition says of one column.

    Examples
    --------
    >>> from streamgauge.operators.predicate import col
    >>> spans_of((col("x") >= 2) & (col("x") <= 5), "x")
    Reach(spans=((2.0, 5.0),), words=None, whole=True)
    >>> spans_of((col("x") >= 2) & (col("y") == "a"), "x")
    Reach(spans=((2.0, inf),), words=None, whole=False)
    >>> spans_of(col("y").isin("b", "a"), "y")
    Reach(spans=None, words=('a', 'b'), whole=True)
    >>> spans_of(None, "x")
    Reach(spans=None, words=None, whole=True)
    """
    if predicate is None:
        return Reach(whole=True)
    if _of_words(predicate, column):
        may, must = _words(predicate, column)
        listed = tuple(sorted(may[0])) if may[1] else None
        return Reach(None, listed, may == must)
    some, sure = _numbers(predicate, column)
    whole = some == sure
    return Reach(None if some == _ALL and not whole else some, None, whole)


def _of_words(predicate: Predicate, column: str) -> bool:
    own = predicate.column == column and any(isinstance(v, str) for v in predicate.values)
    return own or any(_of_words(part, column) for part in predicate.parts)


def _numbers(predicate: Predicate, column: str) -> tuple[Spans, Spans]:
    """Where a row may pass, and where it surely does."""
    op = predicate.op
    if op == "not":
        may, must = _numbers(predicate.parts[0], column)
        return _others(must), _others(may)
    if op in ("and", "or"):
        one, two = (_numbers(part, column) for part in predicate.parts)
        put = _common if op == "and" else _either
        return put(one[0], two[0]), put(one[1], two[1])
    if predicate.column != column or op == "is null":
        return _ALL, ()
    own = _compared(op, predicate.values)
    if all(abs(value) < _WHOLE for value in predicate.values if isinstance(value, int)):
        return own, own
    ends: Spans = ()
    for value in predicate.values:
        ends = _either(ends, ((float(value), float(value)),))
    # A number that is the same float as the bound may lie on either side of it.
    return _either(own, ends), _common(own, _others(ends))


def _compared(op: str, values: tuple[Scalar, ...]) -> Spans:
    if op in ("=", "in", "!="):
        found: Spans = ()
        for value in values:
            found = _either(found, ((float(value), float(value)),))
        return _others(found) if op == "!=" else found
    bound = float(values[0])
    if op == ">=":
        return ((bound, math.inf),)
    if op == "<=":
        return ((-math.inf, bound),)
    above = _others(((-math.inf, bound),))
    return above if op == ">" else _others(((bound, math.inf),))


def _others(spans: Spans) -> Spans:
    """All numbers outside."""
    found, start = [], -math.inf
    for low, high in spans:
        if low > start:
            found.append((start, math.nextafter(low, -math.inf)))
        if high == math.inf:
            return tuple(found)
        start = math.nextafter(high, math.inf)
    return (*found, (start, math.inf))


def _either(one: Spans, two: Spans) -> Spans:
    found: list[Span] = []
    for low, high in sorted((*one, *two)):
        if found and low <= math.nextafter(found[-1][1], math.inf):
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def _common(one: Spans, two: Spans) -> Spans:
    return _others(_either(_others(one), _others(two)))


def _words(predicate: Predicate, column: str) -> tuple[Words, Words]:
    """The same of texts."""
    op = predicate.op
    if op == "not":
        may, must = _words(predicate.parts[0], column)
        return (must[0], not must[1]), (may[0], not may[1])
    if op in ("and", "or"):
        one, two = (_words(part, column) for part in predicate.parts)
        put = _both_words if op == "and" else _any_words
        return put(one[0], two[0]), put(one[1], two[1])
    if predicate.column != column or op not in ("=", "in", "!="):
        return _EVERY, _NO_WORD
    own = (frozenset(str(value) for value in predicate.values), op != "!=")
    return own, own


def _both_words(one: Words, two: Words) -> Words:
    if one[1] and two[1]:
        return one[0] & two[0], True
    if one[1] or two[1]:
        inside, outside = (one, two) if one[1] else (two, one)
        return inside[0] - outside[0], True
    return one[0] | two[0], False


def _any_words(one: Words, two: Words) -> Words:
    neither = _both_words((one[0], not one[1]), (two[0], not two[1]))
    return neither[0], not neither[1]
