"""What CONTRIBUTING says of adding a word holds: one file and one line, everything else follows.

The file stands there as a block. It is added to a copy of the tree, with its line in the table, and
what is derived is looked at from outside.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.check_links import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.budget(60, "loads a copy of the package")]

BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = dict(BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
COPIED = ("src", "tools", "docs/reference")
Run = Callable[..., str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tree; what is compiled of it stays valid, for its times are kept."""
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


@pytest.fixture
def run(copy: Path) -> Run:
    """Runs Python over the copy, in a directory of its own."""
    place = copy / "place"
    place.mkdir()

    def run(*command: str) -> str:
        variables = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}"}
        done = subprocess.run(
            [sys.executable, *command],
            cwd=place, env=variables, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def add(copy: Path, file: str, table: str, before: str, line: str) -> None:
    """Add a file of CONTRIBUTING to the copy, and its line before another in a table."""
    package = copy / "src" / "streamgauge"
    assert not (package / file).exists()
    (package / file).write_text(BLOCKS[file], encoding="utf-8")
    text = (package / table).read_text(encoding="utf-8")
    assert text.count(before) == 1
    (package / table).write_text(text.replace(before, line + before), encoding="utf-8")


READ_METRICS = """
import streamgauge as sg
from streamgauge.server.figures import Figures
from streamgauge.server.prometheus import exposition
from streamgauge.server.telemetry import EVERY

with sg.connect("home", engine="local") as gauge:
    for name in ("ab", "abcde"):
        gauge.sql(f"CREATE STREAM {name} (ts TIME, value FLOAT) FROM PUSH TIME ts")
    gauge.step()
    print(exposition(Figures(gauge))[0].decode())
assert "streamgauge_toy_streams" in {metric.name for metric in EVERY}
"""


def test_a_metric_is_a_file_and_a_line(copy: Path, run: Run) -> None:
    table = "server/metrics/table.py"
    before = '    "streamgauge.server.metrics.audit",\n'
    line = '    "streamgauge.server.metrics.toy",\n'
    add(copy, "server/metrics/toy.py", table, before, line)
    told = run("-c", READ_METRICS)
    assert "streamgauge_toy_streams 1.0\n" in told
    assert "# HELP streamgauge_toy_streams Streams with a name of up to four letters." in told
    assert run(str(copy / "tools" / "reference_tables.py"), "--write") == "metrics.md\n"
    page = (copy / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    shown = "| `streamgauge_toy_streams` | gauge | - | Streams with a name of up to four letters. |"
    assert f"## The toy\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n{shown}" in page
    assert "- `streamgauge_toy_streams`\n" in page


USE_SOURCE = """
from pathlib import Path
import streamgauge as sg
from click.testing import CliRunner
from streamgauge.checks.waiting import wait_until
from streamgauge.cli.app import main
from streamgauge.kernel.errors import ParseError
from streamgauge.language.complete import complete
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.sources.kinds.counter import counter

TEXT = "CREATE STREAM said FROM COUNTER TIME ts COUNT 4"
assert render(parse(TEXT)) == TEXT
begun = "CREATE STREAM said FROM COU"
assert [word.word for word in complete(begun, len(begun)).words] == ["COUNTER"]
for word in ("COUNTER", "COUNT"):
    try:
        parse(TEXT.replace(f"{word} ", f"{word[:-1]}X "))
    except ParseError as error:
        assert f"did you mean {word}?" in str(error), error
    else:
        raise AssertionError(word)
Path("streamgauge.toml").write_text(
    '[gauge]\\nhome = "home"\\nengine = "local"\\n'
    '[streams.project]\\nsource = { kind = "counter", count = 4 }\\ntime = "ts"\\n'
)
done = CliRunner().invoke(main, ["run", "--once"])
assert done.exit_code == 0, done.output
project = Path("streamgauge.toml")
project.write_text(project.read_text().replace("count =", "cuont ="))
done = CliRunner().invoke(main, ["run", "--once"])
assert "did you mean 'count'?" in done.output, done.output
with sg.connect("home", engine="local") as gauge:
    gauge.sql(TEXT)
    gauge.stream("python", counter(4), time="ts")
    for name in ("said", "python", "project"):
        asked = f"SELECT SUM(n) FROM {name} [RANGE UNBOUNDED] ON CHANGE"
        gauge.sql(f"CREATE QUERY {name}_sum AS {asked}")
    print(gauge.sql("SHOW STREAMS"), gauge.sql("EXPLAIN said_sum"))
    # The last number waits for its tick to close.
    wanted = {"said_sum": 3.0, "python_sum": 3.0, "project_sum": 3.0}
    gauge.start()
    wait_until(lambda: {a.query: a.value for a in gauge.latest()} == wanted, 60, what="answers")
    gauge.stop()
"""


def test_a_source_is_a_file_and_a_line(copy: Path, run: Run) -> None:
    before = '    "streamgauge.sources.kinds.dataframe",\n'
    line = '    "streamgauge.sources.kinds.counter",\n'
    add(copy, "sources/kinds/counter.py", "sources/table.py", before, line)
    told = run("-c", USE_SOURCE)
    assert "counter" in told
    written = run(str(copy / "tools" / "reference_tables.py"), "--write")
    assert written == "language.md\nproject-file.md\n"
    pages = [(copy / "docs" / "reference" / name).read_text("utf-8") for name in written.split()]
    assert "| `COUNTER` | Whole numbers from 0, one a second. | `COUNT n` |" in pages[0]
    assert "| `counter` | `count` | Whole numbers from 0, one a second. |" in pages[1]


USE_TARGET = """
import json
from pathlib import Path
import streamgauge as sg
from fastapi.testclient import TestClient
from streamgauge.kernel.errors import ParseError
from streamgauge.language.complete import complete
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.plan.sink import Destination
from streamgauge.server.app import make_app
from streamgauge.server.settings import Settings
from streamgauge.sinks.delivery import Delivery, Known

ALERT = "CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 1.0 DELIVER TO FOLDER 'alerts'"
SINK = "CREATE SINK out ON heat DELIVER TO FOLDER 'answers'"
assert [render(parse(text)) for text in (ALERT, SINK)] == [ALERT, SINK]
begun = "CREATE SINK out ON heat DELIVER TO FO"
assert [word.word for word in complete(begun, len(begun)).words] == ["FOLDER"]
try:
    parse("CREATE SINK out ON heat DELIVER TO FOLDR 'answers'")
except ParseError as error:
    assert "did you mean FOLDER?" in str(error), error
Path("in").mkdir()
Path("in/a.csv").write_text("ts,value\\n2026-01-01T00:00:01Z,2\\n2026-01-01T00:00:02Z,3\\n")
Path("shared").mkdir()
with sg.connect("home", engine="local", data_roots=["shared"]) as gauge:
    gauge.sql("CREATE STREAM plant (ts TIME, value FLOAT) FROM FILES 'in' FORMAT csv TIME ts")
    gauge.sql("CREATE QUERY heat AS SELECT SUM(value) FROM plant [NOW] EVERY 1 SECOND")
    gauge.sql(f"{ALERT}; {SINK}")
    gauge.create_sink("more", Destination("folder", str(Path("more").absolute()), ""))
    print(gauge.sql("SHOW ALERTS; SHOW SINKS"))
    watcher = sg.Watcher(gauge)
    watcher.open()
    while gauge.step():
        pass
    while watcher.step():
        pass
    assert watcher.finish()
    watcher.stop()
    registry = gauge.registry()
    for sink in registry.sinks.values():
        versions = {name: one.version for name, one in registry.queries.items()}
        delivery = Delivery(gauge.home, Known(sink, versions, gauge.home.committed()))
        delivery.open()
        while delivery.step():
            pass
        delivery.close()
    Path("tokens").write_text("a-long-token admin test\\n")
    known = {"headers": {"authorization": "Bearer a-long-token"}, "base_url": "http://127.0.0.1"}
    with TestClient(make_app(gauge, Settings(tokens=Path("tokens"))), **known) as client:
        print(client.get("/v1/targets").json()["kinds"]["folder"])
        made = {"name": "warm", "query": "heat", "when": "certainly above", "level": 1.0,
                "targets": [{"kind": "folder", "address": "alerts"}]}
        answer = client.post("/v1/alerts", json=made)
        assert answer.status_code == 422, "a client names no directory outside the data roots"
        made["targets"][0]["address"] = str(Path("shared").absolute())
        answer = client.post("/v1/alerts", json=made)
        assert answer.status_code == 201, answer.text
(crossing,) = (json.loads(path.read_text()) for path in Path("alerts").glob("*.json"))
assert (crossing["alert"], crossing["state"]) == ("hot", "raised"), crossing
for name in ("answers", "more"):
    told = [json.loads(path.read_text())["answers"] for path in Path(name).glob("*.json")]
    assert sum(told) > 0
"""


def test_a_target_is_a_file_and_a_line(copy: Path, run: Run) -> None:
    before = '    "streamgauge.targets.postgres",\n'
    line = '    "streamgauge.targets.folder",\n'
    add(copy, "targets/folder.py", "targets/table.py", before, line)
    told = run("-c", USE_TARGET)
    assert "folder " in told
    assert "{'word': 'Folder', 'address': 'Directory', 'example': 'out'," in told
    assert run(str(copy / "tools" / "reference_tables.py"), "--write") == "language.md\n"
    page = (copy / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    shown = "| `TO FOLDER 'out'` | alerts, sinks | A JSON file for each alert, or for each epoch"
    assert shown in page
