"""Statements of every kind, with their plans and what is said of them, on file."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.execute.script import Script
from streamgauge.execute.trial import Trial
from streamgauge.plan.tree import drawn
from tests.plan.cases import Case, answered, cases, catalogued, settle

pytestmark = pytest.mark.slow

CASES = list(cases())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for the home and the files beside it."""
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="module")
def gauge(root: Path) -> sg.Gauge:
    """A gauge with the catalog of the cases, which no case changes."""
    return catalogued(root)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_statement_comes_to_what_is_on_file(case: Case, gauge: sg.Gauge, root: Path) -> None:
    settle(case, answered(case, gauge, root))


def test_there_are_cases_of_every_feature_and_no_two_alike() -> None:
    assert len(CASES) >= 300
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({case.statement for case in CASES}) == len(CASES)


def test_views_follow_a_window_that_is_resized(gauge: sg.Gauge, root: Path) -> None:
    trial = Trial(gauge.trial().registry)
    Script(gauge, trial, root=root).run(
        "CREATE VIEW v AS SELECT sym FROM trades [few];"
        "CREATE QUERY straight AS SELECT sym FROM trades [few] WHERE size > 1 FROM NOW;"
        "CREATE QUERY round_about AS SELECT sym, COUNT(*) + 1 AS n FROM v GROUP BY sym;"
        "CREATE QUERY other AS SELECT sym FROM trades [ROWS 10];"
        "ALTER WINDOW few AS [ROWS 20]"
    )
    queries = trial.registry.queries
    resized = {name: q.version for name, q in queries.items() if q.version > 1}
    assert resized == {"straight": 2, "round_about": 2}
    for name in resized:
        assert "Window rows 20" in drawn(queries[name].view.plan)
    assert not queries["straight"].view.history
