"""Every statement of the tour runs as it stands, and its queries answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.cli import main
from streamgauge.cli.project import bring, load_project
from streamgauge.cli.reading import expected_registry
from tools.check_links import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "guide" / "language.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sql ?(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NUMBERS = {
    "heat", "sites.mean", "sites.top", "p95", "spread", "room[temp]", "room[flow]", "warmest",
}  # fmt: skip
SITES = "site,town\nsite-00,Ulm\nsite-01,Bonn\n"


@pytest.fixture
def gauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sg.Gauge:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites.csv").write_text(SITES)
    return sg.connect(tmp_path / "home", engine="local", allow_functions=["numpy:log1p"])


def test_the_blocks_run_in_order_and_their_queries_answer(gauge: sg.Gauge) -> None:
    assert len(BLOCKS) > 15
    for kind, text in BLOCKS:
        if kind == "refused":
            with pytest.raises(sg.StreamgaugeError):
                gauge.sql(text)
        else:
            gauge.sql(text)
    with gauge.start():
        wait_until(lambda: {answer.query for answer in gauge.latest()} >= NUMBERS, seconds=120)
    assert gauge.refusals() == []
    for name in ("hot", "busiest", "apart", "by_town"):
        assert gauge.rows(name).num_rows, name


def test_what_the_page_says_about_names_holds(gauge: sg.Gauge) -> None:
    for kind, text in BLOCKS:
        if kind != "refused":
            gauge.sql(text)
    queries = set(gauge.sql("SHOW QUERIES")["name"].to_pylist())
    assert {"sites.mean", "sites.top", "room[temp]", "room[flow]"} <= queries
    gauge.sql("DROP QUERY sites")
    assert not [name for name in gauge.sql("SHOW QUERIES")["name"].to_pylist() if "sites." in name]


def test_the_statements_of_the_readme_run(gauge: sg.Gauge) -> None:
    for text in re.findall(r"```sql\n(.*?)```", README, re.DOTALL):
        gauge.sql(text)
    assert {"p95", "apart", "load", "used"} == set(gauge.trial().registry.queries)


def test_the_script_of_the_examples_fits_the_example_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = load_project(ROOT / "examples" / "plant")
    gauge = sg.connect(home, engine="local")
    bring(project, gauge, expected_registry(gauge.home), prune=False)
    script = ROOT / "examples" / "language.sql"
    result = CliRunner().invoke(main, ["sql", "-f", str(script), "--home", str(home)])
    assert result.exit_code == 0, result.output
    assert "registered site_load[site-00], site_load[site-01], site_load[site-02]" in result.output
    assert "worst version 1" in result.output
