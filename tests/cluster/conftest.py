"""One cluster, one set of files and one undisturbed local run for all tests of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.killing import everything, finish, plant_files
from tests.cluster.standalone import Cluster, running


@dataclass(frozen=True)
class Undisturbed:
    """Files, and what a local run answers of them."""

    files: Path
    answers: list[str]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    root = tmp_path_factory.mktemp("undisturbed")
    files = plant_files(root / "files", n_files=16)
    finish(root / "home", files, "local")
    answers = everything(root / "home")
    assert len(answers) > 500
    return Undisturbed(files, answers)


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(standalone: Cluster) -> Cluster:
    """The cluster with two workers, whatever the test before did to it."""
    if standalone.master is None or standalone.master.poll() is not None:
        standalone.start_master()
    standalone.fill()
    return standalone
