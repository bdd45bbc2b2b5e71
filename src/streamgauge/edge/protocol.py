"""Messages between an agent and the coordinator, version 1: JSON, one object a message.

An agent sends *reports*; the coordinator answers each with a *reply*. A report with updates has a
number and is sent again until a reply acknowledges it; one without is a *beat*, which says only how
far the agent has told everything. `docs/reference/protocol.md` is the whole of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant, Update
from streamgauge.kernel.errors import SourceFailure

VERSION = 1
# A message larger than this is refused unread.
MAX_BYTES = 4 << 20
MAX_NAME = 500


@dataclass(slots=True)
class Report:
    """What an agent says.

    Parameters
    ----------
    agent
        Its name, one of a kind within a stream.
    boot
        Drawn when an agent starts with no memory of its own; numbers count within it.
    seq
        Number of this report: 1, 2, 3, ... A beat repeats the newest number.
    sent
        The agent's own clock at sending, uncorrected.
    through
        All that happened up to this instant is in reports up to `seq`. Corrected clock.
    objects
        Numbers given to keys since the last report: (number, key as texts).
    updates
        Values that passed their filters, in order of time.
    applied
        Grants that came into force without an update: (number, version).
    left
        Objects that are no longer known from an instant on: gone, or read as bad. (number, at).
        An object is known again with its next update.
    since
        Nothing is vouched for between what earlier reports vouched for and this instant: the agent
        did not run, or could not keep what happened. None when there is no such gap.
    readings
        Values it looked at since the numbered report before.

    Examples
    --------
    >>> report = Report("pump", "5f", 1, 10, 9, [(0, ("pump", "flow"))], [Update(0, 8, 2.5, 0)])
    >>> Report.decode(report.encode()) == report
    True
    """

    agent: str
    boot: str
    seq: int
    sent: int
    through: int
    objects: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    applied: list[tuple[int, int]] = field(default_factory=list)
    left: list[tuple[int, int]] = field(default_factory=list)
    since: int | None = None
    readings: int = 0

    @property
    def beat(self) -> bool:
        """Whether it carries nothing that must be kept."""
        told = self.objects or self.updates or self.applied or self.left
        return not told and self.since is None

    def encode(self) -> bytes:
        """Bytes as they travel."""
        body: dict[str, Any] = {
            "v": VERSION,
            "agent": self.agent,
            "boot": self.boot,
            "seq": self.seq,
            "sent": self.sent,
            "through": self.through,
        }
        if self.objects:
            body["objects"] = [[number, list(key)] for number, key in self.objects]
        if self.updates:
            body["updates"] = [_short(update) for update in self.updates]
        if self.applied:
            body["applied"] = self.applied
        if self.left:
            body["left"] = self.left
        if self.since is not None:
            body["since"] = self.since
        if self.readings:
            body["readings"] = self.readings
        return _dump(body)

    @classmethod
    def decode(cls, data: bytes) -> Report:
        """Read a report; raise SourceFailure with what is wrong with it."""
        body = _load(data)
        try:
            return cls(
                _text(body["agent"]),
                _text(body["boot"]),
                _whole(body["seq"]),
                _whole(body["sent"]),
                _whole(body["through"]),
                [(_whole(n), tuple(map(_text, key))) for n, key in body.get("objects", ())],
                [_update(*parts) for parts in body.get("updates", ())],
                [(_whole(n), _whole(version)) for n, version in body.get("applied", ())],
                [(_whole(n), _whole(at)) for n, at in body.get("left", ())],
                None if body.get("since") is None else _whole(body["since"]),
                max(0, _whole(body.get("readings", 0))),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged("report", error) from None


@dataclass(slots=True)
class Reply:
    """What the coordinator answers.

    Parameters
    ----------
    boot
        The boot it answers to; another one means that the agent must announce itself anew.
    ack
        Reports up to this number are on the coordinator's disk.
    echo, received, now
        The report's `sent`, and the coordinator's clock when it came and when this was sent.
    grants
        Widths that changed.
    sample
        Seconds between readings that queries need of this agent; None: as it likes.
    regions
        Per object the values that some query wants, as (low, high) pairs; absent: all values.
    known
        Whether the coordinator knows the agent's objects; if not, all are announced again.

    Examples
    --------
    >>> reply = Reply("5f", 1, 10, 11, 12, [Grant(0, 1, 0.5, 12)])
    >>> Reply.decode(reply.encode()) == reply
    True
    """

    boot: str
    ack: int
    echo: int
    received: int
    now: int
    grants: list[Grant] = field(default_factory=list)
    sample: float | None = None
    regions: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    known: bool = True

    def encode(self) -> bytes:
        """Bytes as they travel."""
        body: dict[str, Any] = {
            "v": VERSION,
            "boot": self.boot,
            "ack": self.ack,
            "echo": self.echo,
            "received": self.received,
            "now": self.now,
        }
        if self.grants:
            body["grants"] = [[g.number, g.version, _said(g.width), g.since] for g in self.grants]
        if self.sample is not None:
            body["sample"] = self.sample
        if self.regions:
            body["regions"] = [[n, _ends(region)] for n, region in self.regions.items()]
        if not self.known:
            body["known"] = False
        return _dump(body)

    @classmethod
    def decode(cls, data: bytes) -> Reply:
        """Read a reply; raise SourceFailure with what is wrong with it."""
        body = _load(data)
        try:
            return cls(
                _text(body["boot"]),
                _whole(body["ack"]),
                _whole(body["echo"]),
                _whole(body["received"]),
                _whole(body["now"]),
                [
                    Grant(_whole(n), _whole(version), _width(width), _whole(since))
                    for n, version, width, since in body.get("grants", ())
                ],
                None if body.get("sample") is None else _number(body["sample"]),
                {
                    _whole(n): [(_end(low, -1.0), _end(high, 1.0)) for low, high in region]
                    for n, region in body.get("regions", ())
                },
                bool(body.get("known", True)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged("reply", error) from None


def _dump(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def _load(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise SourceFailure(
            "a message is too large",
            f"{len(data)} bytes, at most {MAX_BYTES}",
            "send fewer updates in one report",
        )
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged("message", error) from None
    if not isinstance(body, dict):
        raise _damaged("message", ValueError(f"a {type(body).__name__}, not an object"))
    if body.get("v") != VERSION:
        raise SourceFailure(
            "a message of another version of the protocol",
            f"version {body.get('v')!r}, this side speaks {VERSION}",
            "run agents and coordinator of releases that speak the same version",
        )
    return body


def _damaged(what: str, error: Exception) -> SourceFailure:
    return SourceFailure(
        f"a {what} that cannot be read",
        f"{type(error).__name__}: {error}"[:300],
        "look at docs/reference/protocol.md for its shape",
    )


def _short(update: Update) -> list[Any]:
    """An update without the part that says nothing."""
    if math.isfinite(update.rate):
        return list(update)
    return list(update[:5]) if update.slope else list(update[:4])


def _update(*parts: Any) -> Update:
    number, at, value, version, *more = parts
    slope, rate, power = ([_number(m) for m in more] + [0.0, math.nan, math.nan][len(more) :])[:3]
    return Update(_whole(number), _whole(at), _number(value), _whole(version), slope, rate, power)


def _said(width: float) -> float | str:
    if width == NOTHING:
        return "nothing"
    return "every" if width == EVERY_READING else width


def _width(said: Any) -> float:
    if said == "nothing":
        return NOTHING
    if said == "every":
        return EVERY_READING
    width = _number(said)
    if width < 0.0:
        raise ValueError(f"a width of {width}")
    return width


def _ends(region: list[tuple[float, float]]) -> list[list[float | None]]:
    return [[end if math.isfinite(end) else None for end in pair] for pair in region]


def _end(said: Any, sign: float) -> float:
    return sign * math.inf if said is None else _number(said)


def _number(said: Any) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        raise ValueError(f"{said!r} is no number")
    return float(said)


def _whole(said: Any) -> int:
    if isinstance(said, bool) or not isinstance(said, int) or abs(said) >= 2**62:
        raise ValueError(f"{said!r} is no whole number")
    return said


def is_name(said: Any) -> bool:
    """Whether this can name an agent or be part of a key; half of a pair of code units cannot.

    >>> is_name("pump"), is_name(""), is_name(chr(0xD800))
    (True, False, False)
    """
    if not isinstance(said, str) or not 0 < len(said) <= MAX_NAME:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in said)


def _text(said: Any) -> str:
    if not is_name(said):
        raise ValueError(f"{str(said)[:50]!r} is no name")
    return str(said)
