"""The spool of pushed rows: acknowledged means on disk, once, whatever dies."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.checks.waiting import wait_until
from streamgauge.coordinator.agents import Refusal
from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.time import Instant
from streamgauge.log.dead_letters import dead_letters
from streamgauge.log.home import Home
from streamgauge.server.bodies import Body
from streamgauge.server.receipts import Receipt
from streamgauge.server.spool import Limits, PushSpool
from streamgauge.streams.schema import Schema
from tests.server.pusher import PLACES, REQUESTS, body
from tests.server.pushing import STREAM, arrow, home_at, left_out, lines, table, take_all, taken_ids

pytestmark = pytest.mark.slow

AT_ONCE = Limits(wait=0.0)


class Held:
    """A clock at which the writer waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.waits = threading.Event()

    def __call__(self) -> Instant:
        self.waits.set()
        assert self.go.wait(30)
        return 2_000_000


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return home_at(tmp_path / "home")


def test_rows_reach_the_job(home: Home) -> None:
    with PushSpool(home, STREAM) as spool:
        assert spool.push(Body(lines(range(5)))).result(30) == Receipt(5, 0, 1)
        assert spool.push(arrow(table([5, 6]))).result(30) == Receipt(2, 0, 2)
    take_all(home)
    assert taken_ids(home) == list(range(7))


def test_acknowledged_rows_are_on_disk(home: Home, tmp_path: Path) -> None:
    with PushSpool(home, STREAM, Limits(wait=60.0)) as spool:
        spool.push(Body(lines([0]))).result(30)
        wait_until(lambda: list(home.incoming("rows").glob("*.parquet")), 60, what="a first file")
        spool.push(Body(lines([1, 2], "no row"), key="k")).result(30)
        # What a machine that stops now would find.
        shutil.copytree(home.root, tmp_path / "found")
    found = Home.open(tmp_path / "found", shards=1)
    with PushSpool(found, STREAM) as again:
        assert again.push(Body(lines([1, 2], "no row"), key="k")).result(30) == Receipt(2, 1, 2)
    take_all(found)
    assert taken_ids(found) == [0, 1, 2]
    assert left_out(found) == ["no row"]


def test_malformed_rows_become_dead_letters(home: Home) -> None:
    bad = ("warm", '{"id": 9}', '{"id": "x", "ts": 1}', '{"id": 1, "ts": "2999-01-01"}', "  ", "")
    with PushSpool(home, STREAM) as spool:
        assert spool.push(Body(lines([1], *bad))).result(30) == Receipt(1, 4, 1)
        odd = spool.push(Body(b'{"id": 2, "ts": 5, "value": NaN}')).result(30)
        assert odd == Receipt(1, 0, 2)
    letters = dead_letters(home, "rows").to_pylist()
    origins = [one["origin"] for one in letters]
    assert origins == ["push 1:2", "push 1:3", "push 1:4", "push 1:5", "push 2:1"]
    assert letters[0]["reason"] == "the line is not a JSON object"
    assert letters[2]["reason"] == "column 'id': 'x' is not an int"


def test_bodies_read_together_fare_as_alone(home: Home) -> None:
    clock = Held()
    bodies = [
        lines([1]), b"", b"\xef\xbb\xbf" + lines([2], "broken"), b"\r\n\r\n", lines([3]) + b"\r\n",
        b'{"id": 4,', b'"ts": 1}', b"\xff\xfe", lines([5], '{"id": "6", "ts": "7"}'),
    ]  # fmt: skip
    wanted = [(1, 0), (0, 0), (1, 1), (0, 0), (1, 0), (0, 1), (0, 1), (0, 1), (2, 0)]
    with PushSpool(home, STREAM, clock=clock) as spool:
        futures = [spool.push(Body(lines([0])))]
        assert clock.waits.wait(30)
        futures += [spool.push(Body(data)) for data in bodies]
        flushes = spool.flushes
        clock.go.set()
        receipts = [future.result(30) for future in futures]
        # The one that was held, all that came meanwhile, and marks of files.
        assert spool.flushes - flushes <= 4
    assert [(one.rows, one.rejected) for one in receipts[1:]] == wanted
    take_all(home)
    assert taken_ids(home) == [0, 1, 2, 3, 5, 6]
    origins = [one["origin"] for one in dead_letters(home, "rows").to_pylist()]
    assert origins == ["push 4:2", "push 7:1", "push 8:1", "push 9:1"]


def test_a_repeated_key_lands_nothing_twice(home: Home) -> None:
    body = Body(lines([1, 2]), key="first")
    with PushSpool(home, STREAM, AT_ONCE) as spool:
        receipt = spool.push(body).result(30)
        assert spool.push(body).result(30) == receipt
        spool.push(Body(lines([3]))).result(30)
    with PushSpool(home, STREAM, AT_ONCE) as spool:
        assert spool.push(body).result(30) == receipt
        with pytest.raises(Refusal, match="another body") as refused:
            spool.push(Body(lines([4]), key="first"))
    assert refused.value.status == 422
    take_all(home)
    assert taken_ids(home) == [1, 2, 3]


def test_a_key_that_is_on_its_way_is_shared(home: Home) -> None:
    clock = Held()
    with PushSpool(home, STREAM, clock=clock) as spool:
        first = spool.push(Body(lines([1]), key="k"))
        assert clock.waits.wait(30)
        second = spool.push(Body(lines([1]), key="k"))
        with pytest.raises(Refusal, match="another body"):
            spool.push(Body(lines([2]), key="k"))
        clock.go.set()
        assert first.result(30) == second.result(30) == Receipt(1, 0, 1)
    take_all(home)
    assert taken_ids(home) == [1]


def test_a_client_that_goes_away_takes_nothing_back(home: Home) -> None:
    clock = Held()
    with PushSpool(home, STREAM, clock=clock) as spool:
        future = spool.push(Body(lines([1]), key="k"))
        assert not future.cancel()
        clock.go.set()
        assert future.result(30).rows == 1


def test_only_the_newest_keys_are_remembered(home: Home) -> None:
    with PushSpool(home, STREAM, Limits(keys=2)) as spool:
        for number in range(3):
            spool.push(Body(lines([number]), key=f"k{number}")).result(30)
        assert spool.push(Body(lines([2]), key="k2")).result(30).serial == 3
        assert spool.push(Body(lines([0]), key="k0")).result(30).serial == 4


def test_no_more_is_taken_than_may_wait(home: Home) -> None:
    body = Body(lines(range(200)))
    with PushSpool(home, STREAM, Limits(waiting=len(body.data) + 1000, wait=0.0)) as spool:
        spool.push(body).result(30)
        wait_until(lambda: list(home.incoming("rows").glob("*.parquet")), 60, what="a file")
        with pytest.raises(Refusal, match="no more for now") as refused:
            spool.push(body)
        assert (refused.value.status, refused.value.retry) == (503, 5.0)
        take_all(home)
        wait_until(lambda: spool.behind == 0, 60, what="the job to be seen")
        assert spool.push(body).result(30).rows == 200


def test_the_log_begins_anew(home: Home) -> None:
    with PushSpool(home, STREAM, Limits(log=1, wait=0.0)) as spool:
        for number in range(5):
            spool.push(Body(lines([number]), key=f"k{number}")).result(30)
            wait_until(lambda: not spool.unsettled, 60, what="files")
    assert len(list(spool.directory.glob("*.spool"))) == 1
    with PushSpool(home, STREAM) as spool:
        assert spool.push(Body(lines([0]), key="k0")).result(30).serial == 1
        assert spool.push(Body(lines([5]))).result(30).serial == 6
    take_all(home)
    assert taken_ids(home) == list(range(6))


def test_files_that_the_job_let_go_do_not_come_back(home: Home, tmp_path: Path) -> None:
    with PushSpool(home, STREAM, AT_ONCE) as spool:
        spool.push(Body(lines([1]))).result(30)
        wait_until(lambda: not spool.unsettled, 60, what="a file")
        shutil.copytree(home.root, tmp_path / "found")
    found = Home.open(tmp_path / "found", shards=1)
    take_all(found)
    (path,) = found.incoming("rows").glob("*.parquet")
    path.unlink()
    with PushSpool(found, STREAM) as again:
        assert again.behind == 0
    assert not path.exists()


def test_rows_of_an_earlier_declaration_land_in_a_file_of_their_own(home: Home) -> None:
    wider = replace(STREAM, schema=Schema.of(id="int", ts="time", value="float", site="string"))
    with PushSpool(home, STREAM, Limits(wait=60.0)) as spool:
        spool.push(Body(lines([0]))).result(30)
    with PushSpool(home, wider) as spool:
        spool.push(Body(lines([1]))).result(30)
    tables = [pq.read_table(path) for path in sorted(home.incoming("rows").glob("*.parquet"))]
    assert [one.column_names[-1] for one in tables] == ["value", "site"]


def test_two_processes_do_not_share_a_spool(home: Home) -> None:
    with PushSpool(home, STREAM), pytest.raises(EngineFailure, match="another server"):
        PushSpool(home, STREAM).open()


def test_a_closed_spool_refuses(home: Home) -> None:
    spool = PushSpool(home, STREAM)
    with pytest.raises(Refusal, match="takes no rows"):
        spool.push(Body(lines([1])))
    with spool:
        spool.push(Body(lines([1]))).result(30)
    with pytest.raises(Refusal, match="takes no rows"):
        spool.push(Body(lines([1])))


def test_nothing_is_acknowledged_when_the_disk_fails(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with PushSpool(home, STREAM) as spool:
        spool.push(Body(lines([1]), key="a")).result(30)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(EngineFailure, match="could not be written"):
                spool.push(Body(lines([2]), key="b")).result(30)
        with pytest.raises(EngineFailure, match="could not be written"):
            spool.push(Body(lines([3]), key="c")).result(30)
    with PushSpool(home, STREAM) as spool:
        futures = [
            spool.push(Body(lines([n]), key=key)) for n, key in ((1, "a"), (2, "b"), (3, "c"))
        ]
        assert [future.result(30).rows for future in futures] == [1, 1, 1]
    take_all(home)
    assert taken_ids(home) == [1, 2, 3]


def test_a_file_that_cannot_be_written_is_tried_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def failing(_path: Path, _table: pa.Table) -> None:
        tries.append(1)
        raise OSError(errno.EIO, "Input/output error")

    with PushSpool(home, STREAM, AT_ONCE) as spool:
        with monkeypatch.context() as patch:
            patch.setattr("streamgauge.server.spool.write_parquet", failing)
            spool.push(Body(lines([1]))).result(30)
            wait_until(lambda: len(tries) > 1 and spool.failure, 60, what="two tries")
            spool.push(Body(lines([2]))).result(30)
        wait_until(lambda: not spool.unsettled, 60, what="files")
        assert spool.failure is None
    take_all(home)
    assert taken_ids(home) == [1, 2]


def test_no_file_is_made_that_the_log_does_not_know_of(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def failing(upto: int) -> bytes:
        tries.append(upto)
        raise OSError(errno.EIO, "Input/output error")

    with PushSpool(home, STREAM, AT_ONCE) as spool:
        with monkeypatch.context() as patch:
            patch.setattr("streamgauge.server.spool.Group.mark", failing)
            spool.push(Body(lines([1]))).result(30)
            wait_until(lambda: len(tries) > 2, 60, what="three tries")
            assert not list(home.incoming("rows").glob("*.parquet"))
        wait_until(lambda: not spool.unsettled, 60, what="a file")
    take_all(home)
    assert taken_ids(home) == [1]


def test_who_waits_is_told_when_the_writer_ends(home: Home) -> None:
    def broken() -> Instant:
        raise ZeroDivisionError

    futures: list[Future[Receipt]] = []
    told = threading.Event()
    before, threading.excepthook = threading.excepthook, lambda _args: told.set()
    try:
        with PushSpool(home, STREAM, clock=broken) as spool:
            futures += [spool.push(Body(lines([1]))), spool.push(Body(lines([2]), key="k"))]
            for future in futures:
                with pytest.raises(Refusal, match="takes no rows"):
                    future.result(30)
            assert told.wait(30)
    finally:
        threading.excepthook = before


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of processes that were killed, one for each place."""
    root = tmp_path_factory.mktemp("killed")
    command = [sys.executable, str(Path(__file__).with_name("pusher.py")), str(root)]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return root


@pytest.mark.kills
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("taken_first", [False, True])
def test_a_process_killed_between_two_steps(
    killed: Path, tmp_path: Path, place: str, taken_first: bool
) -> None:
    assert (killed / place / "status").read_text() == str(-signal.SIGKILL)
    told = [int(number) for number in (killed / place / "told").read_text().split()]
    shutil.copytree(killed / place / "home", tmp_path / "home")
    home = Home.open(tmp_path / "home", shards=1)
    if taken_first:
        take_all(home)
    with PushSpool(home, STREAM):
        pass
    take_all(home)
    # What was acknowledged is there, before anybody repeats anything.
    assert {n // 2 for n in taken_ids(home)} >= set(told)
    with PushSpool(home, STREAM) as spool:
        for number in range(REQUESTS):
            spool.push(body(number)).result(30)
    take_all(home)
    assert taken_ids(home) == list(range(2 * REQUESTS))
    assert left_out(home) == [f"broken {number}" for number in range(REQUESTS)]
