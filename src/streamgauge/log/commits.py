"""Commits: records that say which files hold the answers and the state of an epoch.

Whoever works on an epoch gives its files names of its own, so that two attempts never write one
file. Only the files that the commit lists count. Commits of earlier releases do not list files of
state, and the oldest none of answers: those have one name for each epoch and shard.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.kernel.files import damaged, number_name, numbered, read_json, reading
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, home_for


def read_commit(home: Home, epoch: int) -> dict[str, Any]:
    """What one commit says."""
    path, what = home.commit(epoch), f"the commit of epoch {epoch}"
    found = read_json(path, what)
    if not isinstance(found, dict) or found.get("epoch") != epoch or "seconds" not in found:
        raise damaged(path, what, f"it is not one of epoch {epoch}")
    return found


def home_after(home: Home, epoch: int) -> Home:
    """The home with as many shards as have the state after a committed epoch."""
    receipts: list[Any] = []
    with suppress(FileNotFoundError):
        receipts = read_json(home.commit(epoch), f"the commit of epoch {epoch}").get("shards", [])
    if receipts:
        return replace(home, shards=len(receipts))
    return home_for(home, Journal(home).page(epoch)) if epoch > home.cleared() else home


def answer_files(home: Home, epoch: int) -> list[Path]:
    """Files with the answers of a committed epoch, in the order of shards."""
    told = _listed(home, epoch)
    if told is None:
        paths = (home.answers(epoch, shard) for shard in range(home.shards))
        return [path for path in paths if path.exists()]
    return [path for path in told if not path.name.startswith("rows-")]


def row_files(home: Home, epoch: int) -> list[Path]:
    """Files with the rows that were answers of a committed epoch, in the order of their names."""
    told = _listed(home, epoch)
    if told is None:
        return sorted((home.answers(epoch, 0).parent).glob("rows-*.arrow"))
    return sorted(path for path in told if path.name.startswith("rows-"))


def _listed(home: Home, epoch: int) -> list[Path] | None:
    """Files of answers that the commit of an epoch lists; None where it lists none of any."""
    stop = epoch
    if not home.commit(epoch).exists():
        # Pages that were committed together have the commit of the last.
        stop = min((n for n in numbered(home.commits, ".json") if n > epoch), default=epoch)
    path, what = home.commit(stop), f"the commit of epoch {stop}"
    try:
        record = read_commit(home, stop)
    except FileNotFoundError:
        # Cleared away since it was asked for, or never committed.
        return []
    with reading(path, what):
        if record["start"] >= epoch:
            raise damaged(home.commit(epoch), f"the commit of epoch {epoch}", "it is absent")
        receipts = record["shards"]
        if any("files" not in receipt for receipt in receipts):
            return None
        folder = home.answers(epoch, 0).parent
        listed = (home.root / name for told in receipts for name in told["files"])
        found = [each for each in listed if each.parent == folder]
    gone = [each for each in found if not each.exists()]
    if gone and path.exists():
        raise damaged(gone[0], f"answers of epoch {epoch}", "the file is absent")
    return [] if gone else found


def state_files(home: Home, epoch: int, shard: int) -> list[Path]:
    """Files of the state of a shard after a committed epoch: a whole, then changes to it."""
    path, what = home.commit(epoch), f"the commit of epoch {epoch}"
    try:
        with reading(path, what):
            receipts = read_json(path, what).get("shards", ())
            told = receipts[shard].get("state", ()) if receipts else ()
    except FileNotFoundError:
        told = ()
    return [home.root / name for name in told] or [home.state(epoch, shard)]


def files_of(found: dict[str, Any]) -> set[str]:
    """Names of all files that a commit lists."""
    receipts = found.get("shards", ())
    return {name for told in receipts for kind in ("files", "state") for name in told.get(kind, ())}


def lists_state(found: dict[str, Any]) -> bool:
    """Whether a commit lists the files of state; those of earlier releases do not."""
    receipts = found.get("shards", ())
    return bool(receipts) and all("state" in receipt for receipt in receipts)


def remove_unlisted(folder: Path, home: Home, listed: Iterable[str]) -> None:
    """Remove the files of a folder that nobody lists: attempts that did not count."""
    known = {Path(name).name for name in listed if Path(name).parent == Path(home.file_of(folder))}
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return
    for path in paths:
        if path.name not in known:
            path.unlink(missing_ok=True)
    if not known:
        try:
            folder.rmdir()
        except OSError:
            # An attempt that does not count still writes here; the next commit looks again.
            return


def folders_before(root: Path, epoch: int) -> list[Path]:
    """Folders of epochs before one."""
    return [root / number_name(number, "") for number in numbered(root, "") if number < epoch]
