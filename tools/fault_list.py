"""The list of faults that `tools/seed_faults` plants: what each changes, which test notices it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "faults.toml"

_NAME = re.compile(r'^name = "(.+)"$', re.MULTILINE)
_CAUGHT_BY = re.compile(r'^caught_by = ".*"\n', re.MULTILINE)
_REASON = re.compile(r'^reason = ".*"\n', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of one file, and what a user would see of it.

    `caught_by` is a test that fails with it. `tests` names files or folders that try it where
    coverage cannot tell: scripts of pages, code that runs in processes of its own.
    """

    name: str
    area: str
    file: str
    reason: str
    find: str
    replace: str
    tests: tuple[str, ...] = ()
    caught_by: str = ""

    def planted(self, text: str) -> str:
        """Return the text with the fault; its place must be found exactly once."""
        if text.count(self.find) != 1:
            raise SystemExit(
                f"fault {self.name!r} does not fit {self.file}: its text is found "
                f"{text.count(self.find)} times, expected once; update tests/faults.toml"
            )
        return text.replace(self.find, self.replace)

    def lines(self, text: str) -> range:
        """Lines of the file that the fault changes, from 1."""
        first = text[: text.index(self.find)].count("\n") + 1
        return range(first, first + self.find.strip("\n").count("\n") + 1)


def load_faults(path: Path = LIST) -> list[Fault]:
    """All faults of a list."""
    with path.open("rb") as opened:
        listed = tomllib.load(opened)["fault"]
    return [Fault(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in listed]


def with_catchers(text: str, catchers: Mapping[str, str]) -> str:
    """Return the text of a list in which faults, by name, say which test catches them."""
    return "".join(_entries(text, catchers))


def _entries(text: str, catchers: Mapping[str, str]) -> Iterator[str]:
    first, *entries = text.split("[[fault]]\n")
    yield first
    for entry in entries:
        name = _NAME.search(entry)
        test = catchers.get(name[1] if name else "")
        if test:
            entry = _CAUGHT_BY.sub("", entry, count=1)
            place = _REASON.search(entry)
            assert place is not None, f"a fault says no reason: {entry}"
            entry = f'{entry[: place.end()]}caught_by = "{test}"\n{entry[place.end() :]}'
        yield f"[[fault]]\n{entry}"
