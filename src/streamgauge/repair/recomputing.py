"""Answers, commits and state computed again: the journal is replayed beside what is there.

A replay writes into a folder of its own, which sees the journal of the data directory and nothing
else of it. What it gives is put in place only where it has the checksum that was committed.
"""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from streamgauge.engine import shard as shards
from streamgauge.engine import state as wire
from streamgauge.engine.commit import commit
from streamgauge.engine.shard import Receipt
from streamgauge.kernel.errors import EngineFailure, StateTooOld, StreamgaugeError
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.wire import pack
from streamgauge.log.attempts import found_failures, note_failures
from streamgauge.log.commits import home_after, remove_unlisted, state_files
from streamgauge.log.home import CLEARED, Home
from streamgauge.log.journal import Journal, home_for
from streamgauge.repair.epochs import Epochs
from streamgauge.repair.finding import RECOMPUTE, Finding, Notes

SCRATCH = "repairing"


def recompute(epochs: Epochs, notes: Notes) -> None:
    """Compute again what is damaged and follows from the journal."""
    damaged = [finding for finding in notes.findings if finding.repair == RECOMPUTE]
    if not damaged:
        return
    home = epochs.home
    scratch = replace(home, path=str(home.root / SCRATCH))
    _clean(scratch)
    try:
        start = _start(epochs, min(_epoch(epochs, finding) for finding in damaged))
        _furnish(home, scratch, start)
        receipts = _replay(epochs, scratch, start, damaged)
    except (StreamgaugeError, OSError) as error:
        reason = (
            f"{error.what}: {error.detail}" if isinstance(error, StreamgaugeError) else str(error)
        )
        for finding in damaged:
            notes.settle(finding, reason)
        return
    else:
        for finding in damaged:
            notes.settle(finding, _put(epochs, scratch, finding, receipts))
    finally:
        _clean(scratch)


def _epoch(epochs: Epochs, finding: Finding) -> int:
    """The epoch that a damaged file belongs to; files of older epochs hold newest state."""
    path = Path(finding.path)
    if path.parts[0] == "state":
        return epochs.committed
    return int(path.stem if path.parent.name == "commits" else path.parent.name)


def _start(epochs: Epochs, first: int) -> int:
    """The newest epoch before the first damaged one whose state is whole."""
    home = epochs.home
    root = home.root / "state"
    kept = [int(path.name) for path in root.iterdir()] if root.is_dir() else []
    for epoch in sorted((n for n in kept if n < first), reverse=True):
        try:
            for shard in range(home_after(home, epoch).shards):
                wire.read_state(home, epoch, shard)
        except (StreamgaugeError, OSError):
            continue
        if epoch in (*epochs.commits, epochs.committed) or any(
            found["start"] == epoch for found in epochs.commits.values()
        ):
            return epoch
    if epochs.cleared:
        raise StateTooOld(
            f"epoch {first} cannot be computed again",
            f"state before it is gone, and so are the pages up to {epochs.cleared}",
            "restore the file from a copy",
        )
    return 0


def _furnish(home: Home, scratch: Home, start: int) -> None:
    """Let a replay see the journal, and the state that it begins with."""
    scratch.root.mkdir()
    for path in (home.journal, home.registry, home.root / CLEARED):
        if path.exists():
            (scratch.root / path.name).symlink_to(path)
    for shard in range(home_after(home, start).shards) if start else ():
        write_whole(scratch.state(start, shard), pack(wire.read_arrays(home, start, shard)))


def _replay(
    epochs: Epochs, scratch: Home, start: int, damaged: Iterable[Finding]
) -> dict[int, tuple[int, list[Receipt], float]]:
    """Run pages up to the last damaged epoch; what a commit of each says that is damaged."""
    found: dict[int, tuple[int, list[Receipt], float]] = {}
    for stop in _stops(epochs, start, damaged):
        begun = time.perf_counter()
        epochs.notes.seen()
        _suspend(epochs, scratch, stop)
        count = home_for(scratch, Journal(scratch).page(stop)).shards
        receipts = [shards.run(scratch, k, start, stop) for k in range(count)]
        if failed := [why for receipt in receipts for why in receipt.failed]:
            raise EngineFailure(
                f"epoch {stop} cannot be computed again",
                f"a query fails in it that did not when it was committed: {failed[0]['why']}",
                "restore the file from a copy",
            )
        found[stop] = start, receipts, time.perf_counter() - begun
        commit(scratch, *found[stop])
        start = stop
    return found


def _suspend(epochs: Epochs, scratch: Home, stop: int) -> None:
    """Let a replay leave out the queries that were suspended in an epoch.

    Its commit says which; where that is damaged, the page after it.
    """
    told = epochs.commits.get(stop)
    if told is not None:
        found = told.get("suspended", [])
    elif stop < Journal(epochs.home).last():
        changes = Journal(epochs.home).page(stop + 1).changes
        found = [record for record in changes if record["do"] == "suspend"]
    else:
        found = []
    if found:
        note_failures(scratch, stop, found)


def _stops(epochs: Epochs, start: int, damaged: Iterable[Finding]) -> list[int]:
    """Where a replay stops: at each commit, so that what it says is what was committed."""
    wanted = [_epoch(epochs, finding) for finding in damaged]
    known = {*wanted, *epochs.commits}
    known |= {found["start"] for found in epochs.commits.values()}
    last = min((n for n in known if n >= max(wanted)), default=max(wanted))
    return sorted(number for number in known if start < number <= last)


def _put(
    epochs: Epochs,
    scratch: Home,
    finding: Finding,
    receipts: dict[int, tuple[int, list[Receipt], float]],
) -> str:
    """Put one file in its place; return why not, or nothing."""
    home, number = epochs.home, _epoch(epochs, finding)
    path = home.root / finding.path
    if path.parent.name == "commits":
        _put_commit(epochs, scratch, *receipts[number])
        return ""
    named = path.name.partition(".")[0]
    if path.relative_to(home.root).parts[0] == "state":
        shard = int(named.removeprefix("shard-"))
        data = pack(wire.read_arrays(scratch, number, shard))
        # As a whole under the last name, so that nothing before it is read.
        path.unlink(missing_ok=True)
        write_whole(state_files(home, number, shard)[-1], data)
        return ""
    made = (scratch.root / finding.path).parent.glob(f"{named}.*arrow")
    data = next((found.read_bytes() for found in made), b"")
    if not data:
        return "the journal gives no such file"
    told = _committed(epochs, finding.path)
    if told is not None and told != zlib.crc32(data):
        return "what the journal gives now is not what was committed"
    write_whole(path, data)
    return ""


def _put_commit(
    epochs: Epochs, scratch: Home, start: int, receipts: list[Receipt], seconds: float
) -> None:
    """Put a commit in its place, with the files that it lists."""
    home, stop = epochs.home, receipts[0].epoch
    if found := found_failures(scratch, stop):
        note_failures(home, stop, found)
    names = [name for receipt in receipts for name in receipt.files]
    if stop == epochs.committed:
        names += [name for receipt in receipts for name in receipt.state]
    for name in names:
        write_whole(home.root / name, (scratch.root / name).read_bytes())
    home.commit(stop).unlink(missing_ok=True)
    commit(home, start, receipts, seconds)
    for number in range(start + 1, stop + 1):
        remove_unlisted(home.answers(number, 0).parent, home, names)
    if stop == epochs.committed:
        remove_unlisted(home.state(stop, 0).parent, home, names)


def _committed(epochs: Epochs, name: str) -> int | None:
    """The checksum that was committed of a file; None where none was."""
    for found in epochs.commits.values():
        for receipt in found["shards"]:
            if name in receipt.get("files", {}):
                return int(receipt["files"][name])
    return None


def _clean(scratch: Home) -> None:
    shards.forget(scratch)
    shutil.rmtree(scratch.root, ignore_errors=True)


def scratch_of(home: Home) -> Path:
    """Where a replay that died has left what it wrote."""
    return home.root / SCRATCH
