"""Clearing away: answers, commits and pages that are older than a home keeps.

What goes is said in one file before anything goes: `cleared.json` names the newest epoch that is
no longer promised. Whatever dies after that, the next one removes the rest.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from streamgauge.kernel.files import number_name, numbered, read_json, sync_directory, write_json
from streamgauge.log.home import CLEARED, Home
from streamgauge.log.journal import Journal, Page

FOLLOWED = "state.json"
# Folders of a home with very many entries, none of which follows answers.
_NOT_FOLLOWERS = {
    "answers", "checkpoint", "commits", "compacted", "control", "damaged", "dead", "edge",
    "incoming", "journal", "landing", "registry", "segments", "state", "tables",
}  # fmt: skip
_LETTERS = re.compile(r"(\d{12})-\d{6}")


def followers(home: Home) -> dict[str, int]:
    """Who reads the answers epoch by epoch and saves its place: name and last epoch taken in."""
    found = {}
    for path in _saved(home):
        name = str(path.parent.relative_to(home.root))
        try:
            said = read_json(path)
            found[name] = said["epoch"] if isinstance(said["epoch"], int) else 0
        except FileNotFoundError:
            continue
        except (ValueError, LookupError, TypeError):
            # How far it has read is unknown, so nothing may go that it could still need.
            found[name] = 0
    return found


def _saved(home: Home) -> Iterator[Path]:
    for folder in home.root.iterdir():
        if folder.is_dir() and folder.name not in _NOT_FOLLOWERS:
            yield from folder.glob(FOLLOWED)
            yield from folder.glob(f"*/{FOLLOWED}")


def promise_no_longer(home: Home, epoch: int) -> None:
    """Say durably that epochs up to one may be gone."""
    write_json(home.root / CLEARED, {"epoch": epoch})
    sync_directory(home.root)


def remove_cleared(home: Home, needed: Callable[[Page], bool]) -> int:
    """Remove what is no longer promised; return how many pages went.

    Pages stay that are `needed` for rows that a new query may ask for, or that wait.
    """
    upto = home.cleared()
    # Commits first: whoever lists them reads their answers and pages next.
    for number in _upto(home.commits, ".json", upto):
        (home.commits / number_name(number, ".json")).unlink(missing_ok=True)
    for number in _upto(home.root / "answers", "", upto):
        shutil.rmtree(home.root / "answers" / number_name(number, ""), ignore_errors=True)
    _remove_letters(home, upto)
    journal, removed = Journal(home), 0
    for number in _upto(home.journal, ".json", upto):
        if not needed(journal.page(number)):
            (home.journal / number_name(number, ".json")).unlink(missing_ok=True)
            removed += 1
    return removed


def _upto(directory: Path, suffix: str, last: int) -> list[int]:
    return [number for number in numbered(directory, suffix) if number <= last]


def _remove_letters(home: Home, upto: int) -> None:
    """Remove the dead letters of pages that are no longer promised."""
    for path in (home.root / "dead").glob("*/*.parquet"):
        named = _LETTERS.match(path.name)
        if named is not None and int(named[1]) <= upto:
            path.unlink(missing_ok=True)
