"""Commit: the moment an epoch's answers become visible.

A commit lists the files of the attempts that count, and is put only where none is. What no commit
lists, or no replay can ask for, goes with the commit after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from streamgauge.engine.operator import together
from streamgauge.engine.shard import Receipt
from streamgauge.kernel.files import put_json, read_json
from streamgauge.log.attempts import forget_attempts, found_failures, note_suspending
from streamgauge.log.commits import files_of, folders_before, lists_state, remove_unlisted
from streamgauge.log.home import Home


def commit(home: Home, start: int, receipts: Sequence[Receipt], seconds: float) -> None:
    """Commit the epochs after `start`; a commit that is there already stays as it is."""
    assert receipts, "a commit needs the receipts of all shards"
    assert not any(receipt.failed for receipt in receipts), (
        "an attempt that failed counts for nothing"
    )
    stop = receipts[0].epoch
    record = {
        "epoch": stop,
        "start": start,
        "seconds": round(seconds, 4),
        "rows": receipts[0].rows,
        "late": receipts[0].late,
        "late_by": receipts[0].late_by,
        "answers": sum(receipt.answers for receipt in receipts),
        "state_bytes": sum(receipt.state_bytes for receipt in receipts),
        "missed": sum(receipt.missed for receipt in receipts),
        "overloaded": sum(receipt.overloaded for receipt in receipts),
        "share": min(receipt.share for receipt in receipts),
        "spent": together([receipt.spent for receipt in receipts]),
        "shards": [_plain(receipt) for receipt in receipts],
    }
    if suspended := found_failures(home, stop):
        record["suspended"] = suspended
        note_suspending(home, stop)
    now = record if put_json(home.commit(stop), record) else _told(home, stop)
    before = _told(home, start)
    _forget_state(home, start, files_of(before) | files_of(now))
    _forget_attempts(home, before)
    forget_attempts(home, stop)


def _plain(receipt: Receipt) -> dict[str, Any]:
    plain = asdict(receipt)
    # An attempt with failures is not committed.
    del plain["failed"]
    return plain


def _told(home: Home, epoch: int) -> dict[str, Any]:
    """What a commit says; nothing where it is not there any more."""
    try:
        found = read_json(home.commit(epoch), f"the commit of epoch {epoch}")
    except FileNotFoundError:
        return {}
    assert isinstance(found, dict)
    return found


def _forget_state(home: Home, start: int, needed: Iterable[str]) -> None:
    """Remove state before the last commit's start that neither it nor its start is made of."""
    for folder in folders_before(home.root / "state", start):
        remove_unlisted(folder, home, needed)


def _forget_attempts(home: Home, told: dict[str, Any]) -> None:
    """Remove the answers of attempts at the epochs of a commit that it does not list."""
    if not lists_state(told):
        return
    for epoch in range(told["start"] + 1, told["epoch"] + 1):
        remove_unlisted(home.answers(epoch, 0).parent, home, files_of(told))
