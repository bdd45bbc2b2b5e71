"""A job with its agents, running and heard. Tests share it, and each begins with it mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.edge_faults.scene import Scene


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Scene(tmp_path_factory.mktemp("scene")) as found:
        yield found


@pytest.fixture
def scene(stage: Scene) -> Scene:
    stage.mend()
    stage.wait_kept(n=1)
    stage.since = stage.now()
    return stage
