"""The spool of the coordinator: order, torn ends, shared flushes, a disk that fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from streamgauge.kernel.errors import EngineFailure, StateTooOld
from streamgauge.kernel.files import read_json, write_json
from streamgauge.log.spool import Spool


def test_records_come_back_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin({"n": 1})
    for number in range(5):
        spool.append(b"record %d" % number)
    spool.commit(spool.ticket)
    spool.close()
    again = Spool(tmp_path)
    assert again.snapshot() == {"n": 1}
    assert list(again.records()) == [b"record %d" % number for number in range(5)]


def test_a_snapshot_lets_go_what_it_covers(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin({"n": 1})
    spool.append(b"old")
    spool.begin({"n": 2})
    spool.commit(spool.append(b"new"))
    spool.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "000000000002.json",
        "000000000002.spool",
    ]
    again = Spool(tmp_path)
    assert (again.snapshot(), list(again.records())) == ({"n": 2}, [b"new"])


@pytest.mark.parametrize("cut", range(1, 18))
def test_a_torn_record_never_was(cut: int, tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin(None)
    spool.append(b"whole")
    spool.append(b"torn here")
    spool.commit(spool.ticket)
    spool.close()
    path = tmp_path / "000000000001.spool"
    path.write_bytes(path.read_bytes()[:-cut])
    assert list(Spool(tmp_path).records()) == [b"whole"]


def test_damage_before_the_last_part_is_told(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin(None)
    spool.commit(spool.append(b"whole"))
    spool.close()
    path = tmp_path / "000000000001.spool"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    (tmp_path / "000000000002.spool").write_bytes(b"")
    with pytest.raises(StateTooOld, match="damaged"):
        list(Spool(tmp_path).records())


def test_many_threads_share_a_flush(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin(None)
    held = threading.Event()
    flush = spool._flush

    def slow(batch: list[bytes], upto: int) -> None:
        held.wait(60)
        flush(batch, upto)

    spool._flush = slow  # type: ignore[method-assign]
    threads = [
        threading.Thread(target=lambda n=n: spool.commit(spool.append(b"%d" % n)))
        for n in range(1, 30)
    ]
    for thread in threads:
        thread.start()
    while spool.ticket < 29:
        held.wait(0.001)
    held.set()
    for thread in threads:
        thread.join()
    spool.close()
    assert spool.flushes <= 3
    assert sorted(map(int, Spool(tmp_path).records())) == list(range(1, 30))


def test_nothing_is_added_after_the_disk_failed(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin(None)
    spool.commit(spool.append(b"kept"))
    assert spool._file is not None
    spool._file.close()
    with (tmp_path / "000000000001.spool").open("rb") as read_only:
        spool._file = read_only
        ticket = spool.append(b"lost")
        for _ in range(2):
            with pytest.raises(EngineFailure, match="no longer write"):
                spool.commit(ticket)
    assert list(Spool(tmp_path).records()) == [b"kept"]


def test_a_spool_of_another_release_is_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin({"closed": 0})
    spool.close()
    (kept,) = tmp_path.glob("*.json")
    write_json(kept, {**read_json(kept), "format": 2})
    with pytest.raises(StateTooOld, match="another release"):
        Spool(tmp_path).snapshot()
