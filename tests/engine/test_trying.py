"""A query is begun again where Python workers did not start, and only there."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from streamgauge.engine.spark.tries import MOST, Tries
from streamgauge.engine.spark.trying import Trying
from streamgauge.engine.spark.wording import transient

FRAME = "\n\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorker"
CONNECT_BACK = (
    "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Python worker failed to "
    f"connect back. SQLSTATE: XXKST\n\norg.apache.spark.SparkException: Python worker failed to "
    f"connect back.{FRAME}\nCaused by: java.net.SocketTimeoutException: Timed out while waiting "
    "for the Python worker to connect back"
)
IN_AN_EPOCH = (
    "[STREAM_FAILED] Query [id = 1] terminated with exception: An exception was raised by the "
    "Python Proxy. Return Message: Traceback (most recent call last):\n"
    '  File "engine.py", line 120, in _commit\n    rows = batch.collect()\n'
    "pyspark.errors.exceptions.captured.SparkException: Job aborted due to stage failure: Task 0 "
    "in stage 3.0 failed 4 times, most recent failure: Lost task 0.3 in stage 3.0: "
)
OF_OURS = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "shard.py", line 140, in run\n'
    "streamgauge.kernel.errors.SourceFailure: rows cannot be read any more\n"
    "  detail: Python worker failed to connect back\n  hint: put them back\n"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONNECT_BACK, "Python worker failed to connect back"),
        (
            f"{IN_AN_EPOCH}org.apache.spark.SparkException: Python worker exited unexpectedly "
            "(crashed). Consider setting 'spark.python.worker.faulthandler.enabled'",
            "Python worker exited unexpectedly (crashed)",
        ),
        (
            f"{IN_AN_EPOCH}java.net.ConnectException: Connection refused{FRAME}",
            "java.net.ConnectException: Connection refused",
        ),
        (
            f"java.lang.IllegalStateException: Python daemon failed to launch worker with code 1"
            f"{FRAME}",
            "Python daemon failed to launch worker",
        ),
        # A store that is away is another matter, and so is whatever an exception says.
        (f"{IN_AN_EPOCH}java.net.ConnectException: Connection refused to host s3", None),
        (OF_OURS, None),
        (f"{IN_AN_EPOCH}{OF_OURS}", None),
        (
            f"{IN_AN_EPOCH}org.apache.spark.api.python.PythonException: Traceback (most recent "
            "call last):\nKeyError: 'Python worker failed to connect back'",
            None,
        ),
        (
            f"{IN_AN_EPOCH}org.apache.spark.SparkException: Python worker exited unexpectedly "
            "(crashed): Fatal Python error: Segmentation fault",
            None,
        ),
        ("java.lang.OutOfMemoryError: Java heap space", None),
    ],
)
def test_only_workers_that_did_not_start_are_a_failure_that_passes(
    text: str, said: str | None
) -> None:
    assert transient(text) == said


class Query:
    """A streaming query that ends as told."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def awaitTermination(self) -> None:  # noqa: N802
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """It has ended."""


def tried(*ends: Exception | None) -> tuple[Trying, list[int]]:
    """Begin a query whose beginnings end so, one after the other."""
    begun: list[int] = []

    def begin() -> Any:
        begun.append(len(begun))
        return Query(ends[min(len(begun), len(ends)) - 1])

    trying = Trying("the job", begin, lambda: 7, Tries(pauses=(0.0, 0.001)))
    trying.start()
    trying.wait()
    return trying, begun


def test_a_query_is_begun_again_and_the_log_says_so_in_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lost = StreamingQueryException(CONNECT_BACK)
    with caplog.at_level(logging.WARNING, "streamgauge"):
        trying, begun = tried(lost, lost, None)
    assert trying.failure() is None
    assert not trying.active
    assert len(begun) == 3
    assert [(line.levelname, line.getMessage(), line.exc_info) for line in caplog.records] == [
        (
            "WARNING",
            f"the job begins again in 0.001 s, after failure {count} of at most {MOST - 1}: "
            "Python worker failed to connect back",
            None,
        )
        for count in (1, 2)
    ]


def test_a_failure_that_comes_again_and_again_is_told_in_the_end() -> None:
    lost = StreamingQueryException(CONNECT_BACK)
    trying, begun = tried(lost)
    assert trying.failure() is lost
    assert len(begun) == MOST


def test_a_real_failure_ends_a_query_at_once() -> None:
    real = StreamingQueryException(OF_OURS)
    trying, begun = tried(real)
    assert trying.failure() is real
    assert len(begun) == 1


def test_a_beginning_that_fails_at_once_is_tried_again_too() -> None:
    begun = []

    def begin() -> Any:
        begun.append(1)
        if len(begun) == 1:
            raise StreamingQueryException(CONNECT_BACK)
        return Query(None)

    trying = Trying("the job", begin, lambda: 7, Tries(pauses=(0.0, 0.001)))
    trying.start()
    trying.wait()
    assert len(begun) == 2
    assert trying.failure() is None
