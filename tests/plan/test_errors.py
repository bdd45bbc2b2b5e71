"""Mistakes: every one is an error of three parts that names the place and says what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.execute.script import Script
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError, ParseError, StreamgaugeError
from streamgauge.language.words import MAX_DEPTH, MAX_LENGTH
from tests.plan.cases import Case, catalogued, mistakes, refused, settle

pytestmark = pytest.mark.slow

CASES = list(mistakes())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for the home and the files beside it."""
    return tmp_path_factory.mktemp("mistakes")


@pytest.fixture(scope="module")
def gauge(root: Path) -> sg.Gauge:
    """A gauge with the catalog of the cases, which no mistake changes."""
    return catalogued(root)


def caught(text: str, gauge: sg.Gauge, root: Path) -> StreamgaugeError:
    """The error of a text; nothing of it took effect."""
    trial = Trial(gauge.trial().registry)
    with pytest.raises(StreamgaugeError) as found:
        Script(gauge, trial, root=root).run(text)
    return found.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_mistake_says_what_is_on_file_and_where_it_is(
    case: Case, gauge: sg.Gauge, root: Path
) -> None:
    error = caught(case.statement, gauge, root)
    settle(case, refused(case, error, root))
    check_parts(error, case.statement)


def check_parts(error: StreamgaugeError, text: str) -> None:
    """Three parts, one of which names the place."""
    assert all((error.what, error.detail, error.hint))
    assert not error.what.endswith(".")
    if isinstance(error, ParseError):
        assert re.search(r"line \d+, column \d+\n", error.detail)
        return
    said = set(re.findall(r"\w+", text.lower()))
    told = set(re.findall(r"\w+", f"{error.what} {error.detail}".lower()))
    assert said & told - {"a", "of", "in", "is", "to", "the", "by", "with"}


def test_there_are_mistakes_of_many_kinds() -> None:
    assert len(CASES) >= 100
    assert len({case.statement for case in CASES}) == len(CASES)
    kinds = {line for case in CASES for line in case.text.split("\n") if line.startswith("-- ")}
    named = {line.split(":")[0] for line in kinds if re.match(r"-- [A-Z]\w+: ", line)}
    assert {"-- BindError", "-- ParseError", "-- ContractUnsatisfiable"} <= named
    assert {"-- UnsupportedWindow", "-- QueryNotFound", "-- SourceFailure"} <= named


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT " + "(" * 200 + "1" + ")" * 200 + " FROM trades", "nested deeper than"),
        ("SELECT " + "- " * 300 + "price FROM trades", "nested deeper than"),
        ("SELECT " + "NOT " * 300 + "buy FROM trades", "nested deeper than"),
        ("SELECT price" + " + 1" * 300 + " FROM trades", "nested deeper than"),
        ("SELECT * FROM " + ", ".join(f"trades t{i}" for i in range(150)), "150 sources in FROM"),
        ("SELECT '" + "x" * MAX_LENGTH + "' FROM trades", "a statement of"),
        ("SELECT * FROM (" * (MAX_DEPTH + 1) + "trades" + ")" * (MAX_DEPTH + 1), "nested deeper"),
    ],
    ids=["brackets", "signs", "negations", "sums", "sources", "length", "subqueries"],
)
def test_what_no_reader_could_follow_is_refused(
    text: str, what: str, gauge: sg.Gauge, root: Path
) -> None:
    error = caught(text, gauge, root)
    assert isinstance(error, ParseError)
    assert what in error.what
    assert "line 1, column" in error.detail
    assert error.hint


def test_a_thousand_conditions_are_not_too_deep(gauge: sg.Gauge, root: Path) -> None:
    where = " OR ".join(f"price = {n}" for n in range(1000))
    trial = Trial(gauge.trial().registry)
    assert Script(gauge, trial, root=root).run(f"SELECT sym FROM trades WHERE {where}")


def test_a_mistake_in_a_script_names_its_line_and_nothing_takes_effect(
    gauge: sg.Gauge, root: Path
) -> None:
    text = "CREATE WINDOW w AS [NOW];\n\nSELECT prise\nFROM trades;"
    error = caught(text, gauge, root)
    assert isinstance(error, BindError)
    assert error.detail.endswith("in the statement at line 3")
    assert error.hint == "did you mean price?"
    assert "w" not in gauge.trial().registry.windows


USES = {
    "table": ("SELECT s.sector FROM symbols s", "DROP TABLE symbols"),
    "view": ("CREATE VIEW more AS SELECT sym FROM big", "DROP VIEW big"),
    "window": ("SELECT AVG(price) FROM trades [few]", "DROP WINDOW few"),
    "window of rows": ("SELECT sym FROM trades [few]", "DROP WINDOW few"),
    "function": ("SELECT hypot(price, 1) FROM trades", "DROP FUNCTION hypot"),
    "function of numbers": ("SELECT AVG(hypot(price, 1)) FROM trades [NOW]", "DROP FUNCTION hypot"),
    "aggregate": ("SELECT spread(price) + 1 FROM trades [NOW]", "DROP AGGREGATE spread"),
    "stream": ("SELECT sym FROM slow [NOW]", "DROP STREAM slow"),
    "stream of numbers": ("SELECT AVG(price) FROM slow [NOW]", "DROP STREAM slow"),
}


@pytest.mark.parametrize("what", USES)
def test_what_is_in_use_is_not_dropped(what: str, gauge: sg.Gauge, root: Path) -> None:
    use, drop = USES[what]
    error = caught(f"{use};\n{drop}", gauge, root)
    assert "in use" in error.what
    assert "first" in error.detail
    assert "drop" in error.hint
    trial = Trial(gauge.trial().registry)
    Script(gauge, trial, root=root).run(drop)
