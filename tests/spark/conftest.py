"""One Spark session for all tests that need one, and a job that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.spark.session import open_session
from streamgauge.kernel.errors import StreamgaugeError
from tests.connectors import fetch_connectors
from tests.java import driver_options
from tests.spark.warm import warm_python

MASTER = "local[2,4]"


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session of the whole run."""
    if any("connectors" in item.path.parts for item in request.session.items):
        fetch_connectors()
    with warm_python() as program:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSPARK_PYTHON", str(program))
            session = open_session(MASTER, driver_options())
        yield session
        session.stop()


@pytest.fixture(scope="module")
def running(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sg.Gauge]:
    """A job that runs while the tests of a file come and go."""
    with sg.connect(tmp_path_factory.mktemp("live") / "home", shards=2, master=MASTER) as gauge:
        yield gauge.start()


@pytest.fixture
def live(running: sg.Gauge) -> Iterator[sg.Gauge]:
    """That job with nothing to do; what a test declares is dropped after it.

    Tests name their streams and queries each in its own way: a home remembers how far a stream of
    a name has come.
    """
    running.check()
    yield running
    known = running.trial().registry
    for name in known.sinks:
        running.drop_sink(name)
    if known.queries:
        running.drop(*known.queries)
    for name in known.tables:
        running.sql(f"DROP TABLE {name}")
    for name in known.streams:
        running.drop_stream(name)
    wait_until(lambda: idle(running), 300, what="the end of what the test declared")


def idle(gauge: sg.Gauge) -> bool:
    """Whether a job runs, without streams."""
    try:
        gauge.check()
    except StreamgaugeError:
        return False
    return not gauge.registry().streams
