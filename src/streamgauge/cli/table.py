"""Table: a table of a project file that knows its place, its keys and their types."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import DurationLike

T = TypeVar("T")


class Table:
    """Reads the keys of a table; what does not fit is an error that names the place.

    Parameters
    ----------
    data
        The table as parsed.
    place
        Where it stands, as a user would say it.
    known
        Keys it may have.

    Examples
    --------
    >>> stream = Table({"time": "ts"}, "streams.plant", ["time", "key", "tick"])
    >>> stream.text("time"), stream.text("key")
    ('ts', None)
    >>> Table({"tik": "1 s"}, "streams.plant", ["time", "key", "tick"])
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: unknown key 'tik' in streams.plant
      detail: known keys are time, key, tick
      hint: did you mean 'tick'?
    """

    def __init__(self, data: Any, place: str, known: Iterable[str]) -> None:
        self.place = place
        names = list(known)
        if not isinstance(data, Mapping):
            raise BindError(
                f"{place} must be a table", f"got {data!r}", f"its keys are {', '.join(names)}"
            )
        self.data = data
        for key in data:
            if key not in names:
                raise unknown("key", key, names, place)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def text(self, key: str) -> str | None:
        """A text, or None when it is left out."""
        found: str | None = self._of(key, str, "text")
        return found

    def need(self, key: str) -> str:
        """A text that must be there."""
        found = self.text(key)
        if found is None:
            raise BindError(
                f"{self.place} has no {key!r}",
                f"it has {', '.join(self.data) or 'nothing'}",
                f'write {key} = "..."',
            )
        return found

    def whole(self, key: str) -> int | None:
        """A whole number, or None."""
        found: int | None = self._of(key, int, "a whole number")
        return found

    def positive(self, key: str) -> int | None:
        """A whole number of at least 1, or None."""
        found = self.whole(key)
        if found is not None and found < 1:
            raise self.wrong(key, "a whole number of at least 1")
        return found

    def number(self, key: str) -> float | None:
        """A number, or None."""
        found = self._of(key, (int, float), "a number")
        return None if found is None else float(found)

    def flag(self, key: str) -> bool | None:
        """True or false, or None."""
        found = self.data.get(key)
        if found is not None and not isinstance(found, bool):
            raise self.wrong(key, "true or false")
        return found

    def duration(self, key: str) -> DurationLike | None:
        """A duration as text or in seconds, or None."""
        wanted = 'a duration, such as "5 minutes"'
        found: DurationLike | None = self._of(key, (str, int, float), wanted)
        return found

    def duration_or(self, key: str, default: str) -> DurationLike:
        """A duration, or its default when it is left out."""
        found = self.duration(key)
        return default if found is None else found

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, or one text, or None."""
        one = self.data.get(key)
        if isinstance(one, str):
            return (one,)
        found: tuple[str, ...] | None = self._list(key, str, "a list of texts")
        return found

    def numbers(self, key: str) -> tuple[float, ...] | None:
        """A list of numbers, or None."""
        found: tuple[float, ...] | None = self._list(key, (int, float), "a list of numbers")
        return found

    def wrong(self, key: str, wanted: str) -> BindError:
        """What to raise for a value of the wrong type."""
        got = self.data.get(key)
        return BindError(
            f"{key!r} in {self.place} must be {wanted}",
            f"got {got!r}, a {type(got).__name__}",
            f"write {key} as {wanted}",
        )

    def _of(self, key: str, kind: Any, wanted: str) -> Any:
        found = self.data.get(key)
        # True is an int in Python, not in TOML.
        if found is not None and (isinstance(found, bool) or not isinstance(found, kind)):
            raise self.wrong(key, wanted)
        return found

    def _list(self, key: str, kind: Any, wanted: str) -> Any:
        found = self.data.get(key)
        if found is None:
            return None
        sound = isinstance(found, list) and not any(
            isinstance(item, bool) or not isinstance(item, kind) for item in found
        )
        if not sound:
            raise self.wrong(key, wanted)
        return tuple(found)


def given(value: T | None, default: T) -> T:
    """A value, or its default when it was left out; 0 is a value."""
    return default if value is None else value


def unknown(what: str, given: str, names: list[str], place: str) -> BindError:
    """What to raise for a word that is not known: names the nearest that is."""
    nearest = difflib.get_close_matches(given.lower(), names, n=1, cutoff=0.0)
    return BindError(
        f"unknown {what} {given!r} in {place}",
        f"known {what}s are {', '.join(names)}",
        f"did you mean {nearest[0]!r}?" if nearest else "leave it out",
    )
