"""Scan of access logs: where the fields of each line lie, found in one compiled pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.kernel.jit import compiled

# Fields that are text, and numbers; a text field that is not there has a start of -1.
HOST, USER, METHOD, PATH, PROTOCOL, REFERER, AGENT = range(7)
TS, STATUS, BYTES = range(3)
N_TEXTS, N_NUMBERS = 7, 3

FINE, NO_TIME, BAD_TIME, NO_REQUEST, BAD_STATUS, BAD_BYTES, BAD_REST = range(7)

_MONTHS = np.frombuffer(b"JanFebMarAprMayJunJulAugSepOctNovDec", np.uint8)
_LONGEST = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_SPACE, _QUOTE, _OPEN, _CLOSE, _MINUS, _ESCAPE = 32, 34, 91, 93, 45, 92
_STAMP_BYTES = 26
_STAMP_SIGNS = ((2, 47), (6, 47), (11, 58), (14, 58), (17, 58), (20, 32))
# What has to stand behind a closing quote: a number, another quote, or anything apart.
_A_NUMBER, _A_QUOTE, _ANYTHING = range(3)


def scan(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    r"""Places of texts (field, line, start or stop), numbers (field, line), and faults of lines.

    >>> text = b'::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 5'
    >>> line = np.frombuffer(text, np.uint8)
    >>> _, numbers, faults = scan(line, np.array([0]), np.array([len(line)]))
    >>> numbers[:, 0].tolist(), faults.tolist()
    ([971211336000000, 200, 5], [0])
    """
    texts = np.full((N_TEXTS, len(starts), 2), -1, dtype=np.int64)
    numbers = np.zeros((N_NUMBERS, len(starts)), dtype=np.int64)
    faults = np.zeros(len(starts), dtype=np.int8)
    _scan_lines(data, starts, stops, texts, numbers, faults)
    return texts, numbers, faults


@compiled
def _scan_lines(data: Any, starts: Any, stops: Any, texts: Any, numbers: Any, faults: Any) -> None:
    for n in range(len(starts)):
        faults[n] = _scan_line(data, starts[n], stops[n], texts, numbers, n)


@compiled
def _scan_line(data: Any, at: Any, stop: Any, texts: Any, numbers: Any, n: Any) -> Any:
    at = _scan_who(data, at, stop, texts, n)
    if at < 0:
        return NO_TIME
    if stop - at < _STAMP_BYTES + 1 or data[at + _STAMP_BYTES] != _CLOSE:
        return BAD_TIME
    stamp = _stamp(data, at)
    if stamp == _NEVER:
        return BAD_TIME
    numbers[TS, n] = stamp
    at += _STAMP_BYTES + 1
    if stop - at < 3 or data[at] != _SPACE or data[at + 1] != _QUOTE:
        return NO_REQUEST
    close = _closing(data, at + 2, stop, _A_NUMBER)
    if close < 0:
        return NO_REQUEST
    _scan_request(data, at + 2, close, texts, n)
    at, status = _number(data, close + 2, stop)
    if at - close - 2 != 3 or (at < stop and data[at] != _SPACE):
        return BAD_STATUS
    numbers[STATUS, n] = status
    at += 1
    if stop - at >= 1 and data[at] == _MINUS:
        at += 1
    else:
        first = at
        at, numbers[BYTES, n] = _number(data, first, stop)
        if at == first or at - first > 18:
            return BAD_BYTES
    if at < stop and data[at] != _SPACE:
        return BAD_BYTES
    return _scan_rest(data, at + 1, stop, texts, n)


@compiled
def _scan_who(data: Any, at: Any, stop: Any, texts: Any, n: Any) -> Any:
    """Host and user; gives where the time begins, -1 when there is none."""
    first = at
    while at < stop and data[at] != _SPACE:
        at += 1
    _keep(data, first, at, texts, HOST, n)
    at += 1
    while at < stop and data[at] != _SPACE:
        at += 1
    at += 1
    first = at
    # A user may have spaces in his name: what ends it is the bracket of the time.
    while at + 1 < stop and not (data[at] == _SPACE and data[at + 1] == _OPEN):
        at += 1
    if at + 1 >= stop or at <= first or texts[HOST, n, 0] < 0:
        return -1
    _keep(data, first, at, texts, USER, n)
    return at + 2


@compiled
def _scan_request(data: Any, at: Any, stop: Any, texts: Any, n: Any) -> None:
    """Method, path and protocol; what is not of that shape is all path."""
    first, last = at, stop
    while first < stop and data[first] != _SPACE:
        first += 1
    if first == stop:
        _keep(data, at, stop, texts, PATH, n)
        return
    _keep(data, at, first, texts, METHOD, n)
    while data[last - 1] != _SPACE:
        last -= 1
    # The name of the protocol is HTTP/ and a number; a path may have spaces.
    named = stop - last >= 6 and data[last] == 72 and data[last + 4] == 47
    if named and last - 1 > first:
        _keep(data, last, stop, texts, PROTOCOL, n)
        _keep(data, first + 1, last - 1, texts, PATH, n)
    else:
        _keep(data, first + 1, stop, texts, PATH, n)


@compiled
def _scan_rest(data: Any, at: Any, stop: Any, texts: Any, n: Any) -> Any:
    """Referer and agent of the combined format; what comes after them is not read."""
    if at >= stop:
        return FINE
    if data[at] != _QUOTE:
        return BAD_REST
    close = _closing(data, at + 1, stop, _A_QUOTE)
    if close < 0:
        return BAD_REST
    _keep(data, at + 1, close, texts, REFERER, n)
    at = close + 3
    close = _closing(data, at, stop, _ANYTHING)
    if close < 0:
        return BAD_REST
    _keep(data, at, close, texts, AGENT, n)
    return FINE


@compiled
def _keep(data: Any, at: Any, stop: Any, texts: Any, field: Any, n: Any) -> None:
    """Note a field; nothing, or a lone minus, stands for none."""
    if stop > at and not (stop == at + 1 and data[at] == _MINUS):
        texts[field, n, 0] = at
        texts[field, n, 1] = stop


@compiled
def _closing(data: Any, at: Any, stop: Any, behind: Any) -> Any:
    """The quote that closes a field. Old servers leave quotes inside as they are."""
    while at < stop:
        if data[at] == _ESCAPE:
            at += 1
        elif data[at] == _QUOTE:
            if behind == _ANYTHING and (at + 1 == stop or data[at + 1] == _SPACE):
                return at
            if at + 2 < stop and data[at + 1] == _SPACE:
                following = data[at + 2]
                if behind == _A_NUMBER and 48 <= following <= 57:
                    return at
                if behind == _A_QUOTE and following == _QUOTE:
                    return at
        at += 1
    return -1


@compiled
def _number(data: Any, at: Any, stop: Any) -> Any:
    """A whole number, and where it ends."""
    value = np.int64(0)
    while at < stop and 48 <= data[at] <= 57:
        value = value * 10 + (np.int64(data[at]) - 48)
        at += 1
    return at, value


_NEVER = -(2**63)


@compiled
def _stamp(data: Any, at: Any) -> Any:
    """Microseconds of 10/Oct/2000:13:55:36 -0700."""
    for k, sign in _STAMP_SIGNS:
        if data[at + k] != sign:
            return _NEVER
    for k in (0, 1, 7, 8, 9, 10, 12, 13, 15, 16, 18, 19, 22, 23, 24, 25):
        if not 48 <= data[at + k] <= 57:
            return _NEVER
    month = 0
    while month < 12 and not (
        data[at + 3] == _MONTHS[3 * month]
        and data[at + 4] == _MONTHS[3 * month + 1]
        and data[at + 5] == _MONTHS[3 * month + 2]
    ):
        month += 1
    _, day = _number(data, at, at + 2)
    _, year = _number(data, at + 7, at + 11)
    _, hour = _number(data, at + 12, at + 14)
    _, minute = _number(data, at + 15, at + 17)
    _, second = _number(data, at + 18, at + 20)
    _, zone_hour = _number(data, at + 22, at + 24)
    _, zone_minute = _number(data, at + 24, at + 26)
    sign = data[at + 21]
    if month == 12 or hour > 23 or minute > 59 or second > 60 or (sign != 43 and sign != _MINUS):
        return _NEVER
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 28 if month == 1 and not leap else _LONGEST[month]
    if day < 1 or day > longest or year < 1 or zone_hour > 23 or zone_minute > 59:
        return _NEVER
    zone = zone_hour * 60 + zone_minute
    minutes = hour * 60 + minute - (zone if sign == 43 else -zone)
    return ((_days(year, month + 1, day) * 1440 + minutes) * 60 + second) * 1_000_000


@compiled
def _days(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970; years are counted from March, so that a leap day comes last."""
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
