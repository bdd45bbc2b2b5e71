"""Commit: the moment an epoch's answers become visible, and state that is no longer needed goes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict

from streamgauge.engine.operator import together
from streamgauge.engine.shard import Receipt
from streamgauge.kernel.files import number_name, write_json
from streamgauge.log.home import Home


def commit(home: Home, start: int, receipts: Sequence[Receipt], seconds: float) -> None:
    """Commit the epochs after `start`; a commit that is there already stays as it is."""
    assert receipts, "a commit needs the receipts of all shards"
    stop = receipts[0].epoch
    path = home.commit(stop)
    if not path.exists():
        write_json(
            path,
            {
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
                "shards": [asdict(receipt) for receipt in receipts],
            },
        )
    _forget_state(home, before=start)


def _forget_state(home: Home, *, before: int) -> None:
    """Remove state that no replay can ask for: everything before the last commit's start."""
    root = home.root / "state"
    if not root.is_dir():
        return
    for entry in os.scandir(root):
        if entry.name < number_name(before, ""):
            shutil.rmtree(entry.path, ignore_errors=True)
