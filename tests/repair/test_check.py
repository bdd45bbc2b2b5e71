"""The check of a data directory: what it says, when it refuses, what it leaves alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import streamgauge as sg
from streamgauge.cli.app import main
from streamgauge.kernel.errors import EngineFailure, SourceFailure, StateTooOld
from streamgauge.kernel.files import read_json, write_json
from streamgauge.log import lock
from streamgauge.log.clearing import followers
from streamgauge.log.home import Home
from streamgauge.log.lock import holding
from streamgauge.log.spool import Spool
from streamgauge.sinks.delivery import origin_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three epochs of a sum."""
    source = tmp_path / "source"
    source.mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local")
    schema = sg.Schema.of(ts="time", value="float")
    gauge.stream("plant", sg.files(source, "csv"), time="ts", schema=schema)
    gauge.sql("CREATE QUERY heat AS SELECT SUM(value) FROM plant [RANGE 3 SECONDS] EVERY 1 SECOND")
    for turn in range(3):
        (source / f"{turn}.csv").write_text(f"ts,value\n2026-01-01T00:00:0{2 * turn}Z,{turn}\n")
        gauge.step()
    assert gauge.home.committed() == 3
    return tmp_path / "home"


def check(home: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["check", "--home", str(home), *options])


def test_a_sound_directory_ends_with_0(home: Path) -> None:
    said = check(home)
    assert said.exit_code == 0
    assert said.stdout.endswith(" files checked, 0 damaged\n")


def test_damage_is_told_repaired_and_gone(home: Path) -> None:
    (state,) = (home / "state" / "000000000003").iterdir()
    whole = state.read_bytes()
    state.write_bytes(whole[:100])
    told = check(home)
    assert told.exit_code == 6
    assert f"damage: state/000000000003/{state.name}" in told.stdout
    assert "means: the job cannot go on" in told.stdout
    assert "--repair: computes it again from the journal" in told.stdout
    repaired = json.loads(check(home, "--repair", "--json").stdout)
    assert repaired["sound"] is True
    assert [finding["repaired"] for finding in repaired["findings"]] == [True]
    assert state.read_bytes() == whole
    assert check(home).exit_code == 0


def test_all_state_is_computed_again_from_the_first_page(home: Path) -> None:
    states = {path: path.read_bytes() for path in home.glob("state/*/*.sgst")}
    for path in states:
        path.unlink()
    assert sg.check_home(home, repair=True).sound
    newest = max(states)
    assert newest.read_bytes() == states[newest]


def test_a_repair_is_refused_while_a_job_runs_and_a_check_is_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "PATIENCE_SECONDS", 0.0)
    with holding(home):
        assert check(home).exit_code == 0
        refused = check(home, "--repair")
    assert refused.exit_code == EngineFailure.exit_code
    assert "a job runs" in refused.stderr
    (home / "alerts").mkdir()
    with holding(home / "alerts"), pytest.raises(EngineFailure):
        sg.check_home(home, repair=True)


def test_a_damaged_change_is_set_aside_with_a_note(home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    gauge.pause("heat")
    (waiting,) = (home / "control").glob("*.json")
    waiting.write_text('{"do": "pau')
    with pytest.raises(StateTooOld, match="streamgauge check --repair"):
        sg.connect(home, engine="local")
    (finding,) = sg.check_home(home, repair=True).findings
    assert "acknowledged is lost" in finding.means
    aside = home / "damaged" / finding.path
    assert aside.read_text() == '{"do": "pau'
    assert read_json(aside.with_name(f"{aside.name}.note"))["problem"] == finding.problem
    assert sg.connect(home, engine="local").registry().query("heat").status == "running"


def test_a_page_that_is_gone_is_told_and_left(home: Path) -> None:
    (home / "journal" / "000000000002.json").unlink()
    report = sg.check_home(home, repair=True)
    (finding,) = report.left
    assert (finding.path, finding.problem) == ("journal/000000000002.json", "it is absent")
    assert "the job goes on without it" in finding.advice


def test_answers_that_no_journal_gives_again_are_left(home: Path) -> None:
    (home / "journal" / "000000000001.json").write_text("{}")
    (answers,) = (home / "answers" / "000000000003").iterdir()
    answers.write_bytes(b"")
    (state,) = (home / "state" / "000000000002").iterdir()
    state.unlink()
    left = {finding.path: finding for finding in sg.check_home(home, repair=True).left}
    assert (
        "page 1 of the journal is damaged" in left[f"answers/000000000003/{answers.name}"].failure
    )
    assert answers.read_bytes() == b"", "what cannot be made again is not touched"


def test_a_lost_card_is_not_replaced_by_another_number_of_shards(home: Path) -> None:
    (home / "gauge.json").unlink()
    with pytest.raises(StateTooOld):
        sg.connect(home, engine="local", shards=4)
    assert sg.check_home(home, repair=True).sound
    assert sg.connect(home, engine="local", shards=4).home.shards == 1


@pytest.mark.parametrize("form", [1, 2])
def test_a_lost_card_is_written_again_with_its_format(tmp_path: Path, form: int) -> None:
    card = tmp_path / "home" / "gauge.json"
    write_json(card, {"format": form, "shards": 2})
    gauge = sg.connect(tmp_path / "home", engine="local")
    (tmp_path / "rows").mkdir()
    gauge.sql(
        f"CREATE STREAM s (ts TIME, k STRING) FROM FILES '{tmp_path / 'rows'}' TIME ts KEY k; "
        "CREATE QUERY q AS SELECT k, COUNT(*) FROM s [RANGE 1 SECOND] GROUP BY k"
    )
    gauge.step()
    gauge.stop()
    before = card.read_bytes()
    card.unlink()
    assert sg.check_home(tmp_path / "home", repair=True).sound
    assert card.read_bytes() == before


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="no Streamgauge data"):
        sg.check_home(tmp_path)


def test_a_changed_record_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"rows": 1234})
    assert path.read_text() == '{"rows":1234,"crc32":518997183}'
    assert read_json(path) == {"rows": 1234}
    path.write_bytes(path.read_bytes().replace(b"1234", b"1235"))
    with pytest.raises(StateTooOld, match="checksum does not agree"):
        read_json(path)
    path.write_text('{"rows": 1235}')
    assert read_json(path) == {"rows": 1235}, "records of earlier releases have no checksum"


def test_damage_inside_a_spool_is_not_taken_for_a_torn_end(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.begin({"serial": 0})
    for record in (b"first", b"second", b"third"):
        spool.commit(spool.append(record))
    spool.close()
    (part,) = tmp_path.glob("*.spool")
    data = bytearray(part.read_bytes())
    data[-20] ^= 1
    part.write_bytes(data)
    with pytest.raises(StateTooOld, match="damaged"):
        list(Spool(tmp_path).records())
    part.write_bytes(data[:-18])
    assert list(Spool(tmp_path).records()) == [b"first"]


def test_a_follower_whose_place_is_damaged_holds_up_clearing(tmp_path: Path) -> None:
    home = Home.open(tmp_path, shards=1)
    (tmp_path / "sinks" / "out").mkdir(parents=True)
    (tmp_path / "sinks" / "out" / "state.json").write_bytes(b"\xff")
    assert followers(home) == {"sinks/out": 0}
    with pytest.raises(StateTooOld, match="sinks have delivered"):
        origin_of(home)


def test_a_leftover_of_a_crash_is_removed_and_no_file_that_is_being_written(home: Path) -> None:
    old, new = home / "commits" / ".1.json.a.tmp", home / "commits" / ".2.json.b.tmp"
    for path in (old, new):
        path.write_bytes(b"{")
    os.utime(old, (0, 0))
    report = sg.check_home(home, repair=True)
    assert [(finding.path, finding.harmless) for finding in report.findings] == [
        ("commits/.1.json.a.tmp", True)
    ]
    assert report.sound
    assert (old.exists(), new.exists()) == (False, True)
