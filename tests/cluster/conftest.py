"""One cluster, one set of files and one undisturbed local run for all tests of the folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.killing import Undisturbed, undisturbed_run
from tests.cluster.standalone import Cluster, running


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_run(tmp_path_factory.mktemp("undisturbed"), n_files=8)


@pytest.fixture(scope="module")
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
