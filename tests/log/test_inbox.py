"""Control records are taken in the order in which they were left."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from streamgauge.log import inbox
from streamgauge.log.home import Home


@pytest.mark.parametrize("backwards", [False, True])
def test_records_come_in_order_however_the_directory_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    home = Home.open(tmp_path / "home", shards=1)
    for number in range(9):
        inbox.submit(home, {"do": "note", "number": number}, f"{number:020d}-a.json")
    listed = sorted(os.scandir(home.control), key=lambda entry: entry.name, reverse=backwards)
    with monkeypatch.context() as patch:
        patch.setattr(inbox.os, "scandir", lambda _: nullcontext(listed))
        waiting = inbox.waiting(home, done={f"{0:020d}-a.json"})
    assert [record["number"] for _, record in waiting] == list(range(1, 9))
