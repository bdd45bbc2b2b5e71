"""The agent's memory: what was appended is there after any crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.checks.waiting import wait_until
from streamgauge.edge.protocol import Report
from streamgauge.edge.spool import FILE, Spool, SpoolFailure
from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant, Update
from streamgauge.kernel.errors import SourceFailure, StateTooOld

pytestmark = pytest.mark.kills
ROOT = Path(__file__).resolve().parents[2]


def report(spool: Spool, value: float = 0.0, number: int = 0) -> Report:
    seq = spool.newest + 1
    objects = [(number, (f"object-{number}",))] if seq == 1 else []
    return Report(spool.agent, spool.boot, seq, 0, seq, objects, [Update(number, seq, value, 0)])


def filled(directory: Path | None, reports: int, **more: int) -> Spool:
    spool = Spool("pump", directory, **more)
    for value in range(reports):
        spool.append(report(spool, float(value)))
    return spool


def waiting(spool: Spool) -> list[float]:
    found, seq = [], spool.acked
    while (entry := spool.after(seq)) is not None:
        seq, data = entry
        found.append(Report.decode(data).updates[0].value)
    return found


@pytest.mark.parametrize("on_disk", [True, False])
def test_reports_wait_in_order_until_they_are_acknowledged(tmp_path: Path, on_disk: bool) -> None:
    spool = filled(tmp_path if on_disk else None, 5)
    spool.acknowledge(2)
    assert waiting(spool) == [2.0, 3.0, 4.0]
    spool.acknowledge(1)
    spool.acknowledge(99)
    assert spool.acked == spool.newest == 5
    assert waiting(spool) == []
    assert spool.waiting == 0
    spool.close()


def test_a_restart_finds_all_of_it(tmp_path: Path) -> None:
    spool = filled(tmp_path, 5)
    spool.acknowledge(3)
    spool.note([Grant(0, 4, 2.5, 10), Grant(1, 1, NOTHING, 10), Grant(2, 2, EVERY_READING, 9)])
    spool.note([Grant(0, 3, 9.0, 5)])
    boot = spool.boot
    spool.close()
    again = Spool("pump", tmp_path)
    assert again.restored
    assert (again.boot, again.newest, again.acked) == (boot, 5, 3)
    assert waiting(again) == [3.0, 4.0]
    assert again.objects == {0: ("object-0",)}
    assert again.grants == {
        0: Grant(0, 4, 2.5, 10),
        1: Grant(1, 1, NOTHING, 10),
        2: Grant(2, 2, EVERY_READING, 9),
    }
    again.close()


def test_without_a_directory_each_start_is_a_new_boot() -> None:
    assert Spool("pump").boot != Spool("pump").boot


@settings(max_examples=30)
@given(cut=st.integers(1, 400))
def test_a_torn_last_line_is_dropped(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    directory = tmp_path_factory.mktemp("torn")
    spool = filled(directory, 3)
    boot, whole = spool.boot, (directory / FILE).stat().st_size
    spool.append(report(spool, 99.0))
    spool.close()
    size = (directory / FILE).stat().st_size
    os.truncate(directory / FILE, max(whole, size - cut))
    again = Spool("pump", directory)
    assert again.boot == boot
    assert waiting(again) == [0.0, 1.0, 2.0]
    again.append(report(again, 7.0))
    again.close()
    third = Spool("pump", directory)
    assert waiting(third) == [0.0, 1.0, 2.0, 7.0]
    third.close()


def test_damage_further_up_counts_anew_under_another_boot(tmp_path: Path) -> None:
    spool = filled(tmp_path, 6)
    boot = spool.boot
    spool.close()
    path = tmp_path / FILE
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"3.0", b"8.0")
    path.write_bytes(b"".join(lines))
    again = Spool("pump", tmp_path)
    assert again.boot != boot
    reports = []
    while (entry := again.after(len(reports))) is not None:
        reports.append(Report.decode(entry[1]))
    assert [r.seq for r in reports] == [1, 2, 3, 4]
    assert {r.boot for r in reports} == {again.boot}
    assert reports[0].objects == [(0, ("object-0",))]
    assert [u.value for r in reports for u in r.updates] == [0.0, 1.0, 2.0]
    again.close()


def test_a_new_boot_announces_before_it_tells_and_forgets_widths(tmp_path: Path) -> None:
    spool = filled(tmp_path, 3)
    spool.acknowledge(2)
    spool.note([Grant(0, 9, 1.0, 0)])
    spool.reborn()
    spool.close()
    again = Spool("pump", tmp_path)
    assert (again.acked, again.newest, again.grants) == (0, 2, {})
    first = again.after(0)
    assert first is not None
    assert Report.decode(first[1]).objects == [(0, ("object-0",))]
    second = again.after(1)
    assert second is not None
    assert Report.decode(second[1]).updates == [Update(0, 3, 2.0, 0)]
    again.close()


def test_it_is_full_at_its_limit_and_takes_more_after_an_acknowledgement() -> None:
    spool = filled(None, 3, limit=250)
    assert spool.full
    spool.acknowledge(2)
    assert not spool.full


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    spool = Spool("pump", tmp_path, sync=lambda _handle: None)
    big = [Update(0, 1, float(n), 0) for n in range(5_000)]
    for _ in range(20):
        spool.append(Report("pump", spool.boot, spool.newest + 1, 0, 0, [], big))
        spool.acknowledge(spool.newest - 1)
    assert (tmp_path / FILE).stat().st_size < 3 << 20
    spool.close()
    again = Spool("pump", tmp_path)
    assert (again.newest, again.acked) == (20, 19)
    again.close()


def test_a_directory_has_one_agent_at_a_time(tmp_path: Path) -> None:
    spool = Spool("pump", tmp_path)
    with pytest.raises(SourceFailure, match="the agent runs already"):
        Spool("pump", tmp_path)
    spool.close()
    with pytest.raises(SourceFailure, match="another agent's memory"):
        Spool("fan", tmp_path)


def test_a_memory_of_another_release_is_refused(tmp_path: Path) -> None:
    body = b'{"format":99,"agent":"pump"}'
    (tmp_path / FILE).write_bytes(b"H %08x %d %s\n" % (0x0, len(body), body))
    spool = Spool("pump", tmp_path)
    assert not spool.objects, "a line with a wrong checksum is none"
    spool.close()
    spool = Spool("pump", tmp_path)
    spool._write(b"H", body)
    spool.close()
    with pytest.raises(StateTooOld, match="another release"):
        Spool("pump", tmp_path)


def test_a_full_disk_stops_it_with_three_parts(tmp_path: Path) -> None:
    def no_space(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    spool = Spool("pump", tmp_path)
    spool._sync = no_space
    with pytest.raises(SpoolFailure, match="cannot keep its reports") as caught:
        spool.append(report(spool))
    assert "No space left" in caught.value.detail
    spool._sync = os.fsync
    spool.close()


APPENDER = """
import sys
from pathlib import Path
from streamgauge.edge.protocol import Report
from streamgauge.edge.spool import Spool
from streamgauge.filters.bound import Update
spool = Spool("pump", Path(sys.argv[1]))
print(spool.newest, flush=True)
while True:
    seq = spool.newest + 1
    spool.append(Report("pump", spool.boot, seq, 0, seq, [], [Update(0, seq, float(seq), 0)]))
    print(seq, flush=True)
    if seq % 3 == 0:
        spool.acknowledge(seq - 5)
"""


def test_what_was_appended_survives_kills_in_the_middle_of_appends(tmp_path: Path) -> None:
    told = 0
    boot = None
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(tmp_path / "state")],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        ) as child:
            assert child.stdout is not None
            first = int(child.stdout.readline())
            assert first >= told, "a report that was on the disk is gone"
            lines = [child.stdout.readline() for _ in range(20)]
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().splitlines(keepends=True)
            whole = [line for line in [*lines, *rest] if line.endswith(b"\n")]
            told = int(whole[-1])
            wait_until(lambda c=child: c.poll() is not None, 60, what="the killed child")
        spool = Spool("pump", tmp_path / "state")
        assert boot in (None, spool.boot)
        boot = spool.boot
        assert spool.newest in (told, told + 1)
        numbers, seq = [], spool.acked
        while (entry := spool.after(seq)) is not None:
            seq, data = entry
            numbers.append(Report.decode(data).updates[0].value)
        assert numbers == [float(n) for n in range(spool.acked + 1, spool.newest + 1)]
        spool.close()
