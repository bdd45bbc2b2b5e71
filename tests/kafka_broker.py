"""A real Kafka broker for tests, which are skipped where none can be run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.kafka_broker import Broker, Guard
from streamgauge.kernel.errors import MissingRuntime
from tests.java import QUICK

__all__ = ["Broker", "Guard", "kafka", "running_broker"]


@contextmanager
def running_broker(directory: Path, guard: Guard | None = None) -> Iterator[Broker]:
    """Run a broker; gives it, to be stopped and started meanwhile."""
    try:
        broker = Broker(directory, guard, QUICK)
    except MissingRuntime as error:
        pytest.skip(f"{error.what}: {error.detail}")
    with broker:
        yield broker


@contextmanager
def kafka(directory: Path) -> Iterator[str]:
    """Run a broker; gives its address."""
    with running_broker(directory) as broker:
        yield broker.address
