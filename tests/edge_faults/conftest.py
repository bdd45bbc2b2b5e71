"""A job with its agents, all running. Tests of a file share it, each begins with it mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.edge_faults.scene import Scene


@pytest.fixture(scope="module")
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """A module may say in `BEAT` how often agents are to be heard."""
    beat = getattr(request.module, "BEAT", "250 ms")
    with Scene(tmp_path_factory.mktemp("scene"), beat=beat) as found:
        yield found


@pytest.fixture
def scene(stage: Scene) -> Scene:
    stage.begin()
    return stage
