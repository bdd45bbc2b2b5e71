"""Why a query has no answer yet, or an incomplete one: said alike wherever answers are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.cli.answers import answers as answers_command
from streamgauge.cli.queries import show as show_command
from streamgauge.cli.sql import sql as sql_command
from streamgauge.engine.waiting import Reasons, Waiting
from streamgauge.execute.show import note_of
from streamgauge.plan.registry import Listed
from streamgauge.server.queries import as_dict
from streamgauge.streams.schema import Schema
from tests.engine.stage import Stage, at, rows_of

pytestmark = pytest.mark.slow

COLUMNS = Schema.of(k="string", ts="time", v="float")
JOB = "the job is not running, start it with: streamgauge run --home"


def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    made.stream("line", COLUMNS, key="k", keep="60 s")
    made.stream("other", COLUMNS, key="k", keep="60 s")
    made.run()
    return made


def land(made: Stage, stream: str = "line", last: int = 101) -> None:
    made.page(**{stream: rows_of("k v", *[(s, "a", float(s)) for s in range(1, last + 1)])})


def told(made: Stage) -> Waiting:
    found = made.gauge.waiting("q")
    assert found is not None
    return found


SUM = sg.Query("q", "line", sg.total("v"), window=sg.Range("30 s"), answer=sg.every("1 min"))


def test_each_reason_is_said(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.gauge.register(SUM)
    assert told(made).why.startswith("the query takes effect with the next epoch; " + JOB)
    made.run()
    assert told(made).why.startswith("stream 'line' has sent no rows; " + JOB)
    land(made, last=31)
    assert told(made).why.startswith(
        "the next check is at 2026-01-01T00:01:00Z; stream 'line' is complete up to "
        "2026-01-01T00:00:30Z"
    )
    assert told(made).until == at(60)
    made.gauge.pause("q")
    made.run()
    assert told(made).why == "the query is paused; write RESUME QUERY q"
    made.gauge.resume("q")
    land(made)
    assert made.gauge.waiting("q") is None
    assert made.gauge.note("q") == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "SELECT SUM(v) FROM line [RANGE 30 SECONDS] EVERY 10 SECONDS FROM NOW",
            "it was registered FROM NOW and counts rows after 2026-01-01T00:01:40Z;",
        ),
        (
            "SELECT SUM(v) FROM line [RANGE 30 SECONDS] WHERE v > 999",
            "no row that it asks for is in its window; stream 'line' is complete up to",
        ),
        (
            "SELECT l.k FROM line [RANGE 1 HOUR] AS l, other [RANGE 60 s] AS o WHERE l.v > 999",
            "it waits for stream 'other', complete up to 2026-01-01T00:00:04Z; declare IDLE, or "
            "write ADVANCE STREAM other TO '2026-01-01T00:01:40Z'",
        ),
    ],
)  # fmt: skip
def test_a_query_that_finds_nothing_says_why(tmp_path: Path, text: str, why: str) -> None:
    made = stage(tmp_path)
    land(made, "other", 5)
    land(made)
    made.gauge.sql(f"CREATE QUERY q AS {text}")
    made.run()
    assert told(made).why.startswith(why), told(made)


def test_a_deferred_query_waits_for_the_next_row(tmp_path: Path) -> None:
    made = stage(tmp_path)
    land(made)
    owed = sg.Contract.absolute(0.5, confidence=0.95)
    made.gauge.register(sg.Query("q", "line", sg.avg("v"), window=sg.Latest(), contract=owed))
    made.run()
    assert told(made).why.startswith("it is evaluated when the next row arrives; stream 'line'")


def test_one_wording_in_the_terminal_python_and_statements(tmp_path: Path) -> None:
    made = stage(tmp_path)
    land(made)
    made.gauge.register(sg.Query("q", "line", sg.total("v"), window=sg.Range("80 s")))
    made.gauge.sql("CREATE QUERY r AS SELECT k, v FROM line [RANGE 80 SECONDS]")
    made.gauge.sql("CREATE QUERY none AS SELECT SUM(v) FROM other")
    made.run()
    home = str(made.gauge.home.root)
    kept = "covers 75%: it asks for rows older than those kept (line KEEP 1 min); complete at "
    kept += "2026-01-01T00:02:00Z"
    said = {"q": kept, "r": kept, "none": str(made.gauge.waiting("none"))}
    assert said["none"].startswith("no answer yet: stream 'other' has sent no rows; the job is not")
    reasons, registry = Reasons(made.gauge.home), made.gauge.registry()
    for name in ("q", "none"):
        newest = list(made.gauge.latest(name))
        shown = as_dict(Listed(registry.query(name), in_force=True), newest, reasons)
        assert said[name] == (shown["note"] or shown["waiting"]["text"])
    runner = CliRunner()
    for name, note in said.items():
        assert made.gauge.note(name) == note
        shown = made.gauge.sql(f"SHOW ANSWERS OF {name}")
        assert note_of(shown) == note  # type: ignore[arg-type]
        asked = f"SHOW ANSWERS OF {name}"
        for command, word in ((answers_command, name), (show_command, name), (sql_command, asked)):
            found = runner.invoke(command, [word, "--home", home], terminal_width=500)
            assert found.exit_code == 0, found.output
            assert note in found.output.replace("\n", ""), (command.name, found.output)
