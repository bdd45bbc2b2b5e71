"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from streamgauge.engine.spark.session import open_session
from tests.connectors import fetch_connectors


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of the whole run."""
    fetch_connectors()
    session = open_session("local[2,4]")
    yield session
    session.stop()
