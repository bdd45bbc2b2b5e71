"""Statements of every kind, with their plans and what is said of them, on file."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from tests.plan.cases import Case, answered, cases, catalogued, settle

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
