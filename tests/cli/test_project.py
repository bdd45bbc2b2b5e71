"""Project files: what they say, what is wrong with them, and bringing them to a gauge."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.cli.project import Project, bring, load_project
from streamgauge.cli.reading import expected_registry
from streamgauge.kernel.errors import BindError, SourceFailure, StreamgaugeError

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "plant"
PLANT = """
[streams.plant]
source = { kind = "plant", n_sensors = 10 }
time = "ts"
key = "series"
"""
HEAT = """
[[queries]]
name = "heat"
stream = "plant"
select = "avg(value)"
window = { range = "5 minutes", slide = "1 minute" }
every = "1 minute"
"""


def written(directory: Path, text: str) -> Project:
    path = directory / "streamgauge.toml"
    path.write_text(text)
    return load_project(path)


def failure(directory: Path, text: str) -> StreamgaugeError:
    with pytest.raises(StreamgaugeError) as caught:
        written(directory, text)
    return caught.value


def test_the_example_is_sound(tmp_path: Path) -> None:
    project = load_project(EXAMPLE)
    gauge = sg.connect(tmp_path, engine="local")
    brought = bring(project, gauge, expected_registry(gauge.home), prune=False)
    assert brought.registered == len(project.queries) == 53
    assert project.home == EXAMPLE / "plant.gauge"


def test_all_that_a_stream_can_say(tmp_path: Path) -> None:
    project = written(
        tmp_path,
        """
        [streams.ticks]
        source = { kind = "files", path = "ticks", format = "csv", delimiter = ";" }
        time = "ts"
        key = ["market", "symbol"]
        schema = { ts = "time", market = "string", symbol = "string", price = "float" }
        tick = "500 ms"
        expected_gap = "5 s"
        late = { allow = "2 s" }
        keep = "2 hours"
        future = "any"
        capacity = 1000
        """,
    )
    (stream,) = project.streams
    assert stream.source == sg.files(tmp_path / "ticks", "csv", delimiter=";")
    assert (stream.key, stream.future) == (("market", "symbol"), None)
    assert (stream.late, stream.tick) == (sg.Late.allow("2 s"), "500 ms")
    gauge = sg.connect(tmp_path / "home", engine="local")
    bring(project, gauge, expected_registry(gauge.home), prune=False)
    declared = expected_registry(gauge.home).streams["ticks"]
    assert (declared.tick, declared.capacity) == (500_000, 1000)


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ('"drop"', sg.Late.drop()),
        ('{ revise = "1 min" }', sg.Late.revise("1 min")),
        ("{ allow = 5 }", sg.Late.allow("5 s")),
    ],
)
def test_late_policies(tmp_path: Path, text: str, late: sg.Late) -> None:
    assert written(tmp_path, f"{PLANT}\nlate = {text}").streams[0].late == late


def test_the_gauge_and_spark(tmp_path: Path) -> None:
    project = written(
        tmp_path,
        """
        [gauge]
        home = "here"
        engine = "local"
        master = "local[1]"
        max_rows = 10
        shards = 3
        [spark]
        "spark.ui.enabled" = true
        spark.driver.memory = "1g"
        spark.cores.max = 2
        """,
    )
    assert (project.home, project.engine, project.shards) == (tmp_path / "here", "local", 3)
    assert (project.master, project.max_rows) == ("local[1]", 10)
    assert project.settings == {
        "spark.ui.enabled": "true",
        "spark.driver.memory": "1g",
        "spark.cores.max": "2",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gage]", "unknown key 'gage' in"),
        ("[gage]", "did you mean 'gauge'?"),
        ("[gauge]\nhom = 'x'", "did you mean 'home'?"),
        ("[gauge]\nshards = 0", "at least 1"),
        ("[gauge]\nmax_rows = true", "whole number"),
        ("gauge = 3", "[gauge] must be a table"),
        ("spark = 3", "[spark] must be a table"),
        (PLANT + "tik = '1 s'", "did you mean 'tick'?"),
        (PLANT.replace("n_sensors", "sensors"), "did you mean 'n_sensors'?"),
        (PLANT.replace('"plant",', '"plent",'), "did you mean 'plant'?"),
        (PLANT.replace("10", "-1"), "at least 1"),
        (PLANT.replace('time = "ts"', ""), "has no 'time'"),
        (PLANT + "late = 'never'", "'late' in streams.plant"),
        (PLANT + "late = {}", "'late' in streams.plant"),
        (PLANT + "late = {allow = '1 s', revise = '1 s'}", "'late' in streams.plant"),
        (PLANT + "late = {alow = '1 s'}", "did you mean 'allow'?"),
        (PLANT + "schema = 3", "must be a table"),
        (PLANT + "schema = {ts = 'tim'}", "unknown column type"),
        ("[streams.x]\ntime = 'ts'", "streams.x.source must be a table"),
        ("[streams.x]\nsource = {path = 'x', format = 'cvs'}", "did you mean 'csv'?"),
        ("[streams.x]\nsource = {kind = 'files'}", "has no 'path'"),
        ("streams = 3", "must be tables, [streams.NAME]"),
        ("[windows]\nx = {rang = '1 s'}", "did you mean 'range'?"),
        ("[queries]\nname = 'x'", "[[queries]]"),
        (HEAT + "evry = 3", "did you mean 'every'?"),
        ("include = [3]", "list of texts"),
        ("x = ", "is not TOML"),
    ],
)
def test_mistakes_name_the_place_and_the_nearest_key(tmp_path: Path, text: str, said: str) -> None:
    error = failure(tmp_path, text)
    assert isinstance(error, BindError)
    assert said in str(error)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="cannot read"):
        load_project(tmp_path / "nothing.toml")
    with pytest.raises(SourceFailure, match="cannot read"):
        load_project(tmp_path)


def test_included_python(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(
        "import streamgauge as sg\n"
        "def queries():\n"
        "    yield sg.Query('level', 'plant', sg.avg('value'), window=sg.Latest())\n"
    )
    project = written(tmp_path, 'include = "more.py"\n' + PLANT + HEAT)
    assert [query.name for query in project.queries] == ["heat", "level"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.txt", "", "a file of type .txt"),
        ("q.py", "x = 1", "has no function queries()"),
        ("q.py", "def queries():\n    return [3]", "3 is a int"),
        ("q.py", "def queries():\n    return 3", "TypeError"),
        ("q.py", "x = 1\ny = z", "name 'z' is not defined, line 2"),
        ("q.py", "def queries(:", "line 1"),
        ("q.py", "import streamgauge as sg\nw = sg.Rows(0)", "needs a positive number"),
    ],
)
def test_includes_that_fail(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    error = failure(tmp_path, f'include = ["{name}"]')
    assert error.exit_code == 2
    assert said in str(error)


def test_an_include_that_is_not_there(tmp_path: Path) -> None:
    assert isinstance(failure(tmp_path, 'include = ["gone.py"]'), SourceFailure)


class Bringing:
    """A gauge that projects are brought to, again and again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.gauge = sg.connect(directory / "home", engine="local")

    def __call__(self, text: str, *, prune: bool = False) -> str:
        project = written(self.directory, text)
        gauge = sg.connect(self.directory / "home", engine="local")
        return str(bring(project, gauge, expected_registry(gauge.home), prune=prune))


@pytest.fixture
def bringing(tmp_path: Path) -> Bringing:
    return Bringing(tmp_path)


@pytest.mark.parametrize("committed", [False, True])
def test_the_same_again_changes_nothing(bringing: Bringing, committed: bool) -> None:
    assert bringing(PLANT + HEAT) == "queries: 1 registered"
    if committed:
        bringing.gauge.step()
    waiting = len(list(bringing.gauge.home.control.glob("*.json")))
    assert bringing(PLANT + HEAT) == "queries: 1 unchanged"
    assert len(list(bringing.gauge.home.control.glob("*.json"))) == waiting


def test_a_changed_query_is_altered(bringing: Bringing) -> None:
    bringing(PLANT + HEAT)
    assert bringing(PLANT + HEAT.replace("avg", "max")) == "queries: 1 altered"
    assert expected_registry(bringing.gauge.home).query("heat").version == 2


def test_a_query_that_left_is_dropped_only_when_pruning(bringing: Bringing) -> None:
    bringing(PLANT + HEAT)
    assert bringing(PLANT) == "queries: 1 not in the file, left alone"
    assert bringing(PLANT, prune=True) == "queries: 1 dropped"
    assert bringing(PLANT) == "queries: none"


def test_windows_are_created_and_resized(bringing: Bringing) -> None:
    recent = "[windows]\nrecent = { range = '5 min' }\n"
    shared = HEAT.replace('{ range = "5 minutes", slide = "1 minute" }', '"recent"')
    bringing(recent + PLANT + shared)
    bringing(recent.replace("5", "6") + PLANT + shared)
    registry = expected_registry(bringing.gauge.home)
    assert registry.windows["recent"] == sg.Range("6 min")
    assert registry.query("heat").version == 2


def test_a_stream_of_another_shape_is_refused(bringing: Bringing) -> None:
    bringing(PLANT)
    with pytest.raises(BindError, match="another declaration"):
        bringing(PLANT + "tick = '2 s'")


def test_a_schema_that_was_read_once_stays(bringing: Bringing, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("ts,v\n2026-01-01T00:00:00Z,1.5\n")
    text = "[streams.s]\nsource = {path = 'in', format = 'csv'}\ntime = 'ts'\n"
    bringing(text)
    (tmp_path / "in" / "a.csv").unlink()
    bringing(text)
    assert expected_registry(bringing.gauge.home).streams["s"].schema.names == ("ts", "v")


def test_a_stream_that_agents_feed(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("a-long-token\n")
    text = """
        [streams.hosts]
        source = {kind = "edge", listen = "http://127.0.0.1:0", latency = "2 s", tokens = "tokens"}
        time = "ts"
        key = "object"
        schema = {object = "string", ts = "time", value = "float", width = "float"}
        width = "width"
    """
    (stream,) = written(tmp_path, text).streams
    assert stream.width == "width"
    assert stream.source.options["tokens"] == str(tmp_path / "tokens")
    assert stream.source.options["latency"] == "2 s"
