"""Connectors of Spark for tests: fetched once for all runs of this user, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.engine.spark.jars import CONNECTORS, connector_jars, fetch
from streamgauge.kernel.errors import MissingRuntime


def fetch_connectors() -> None:
    """Fetch what can be fetched, before the session of the run starts without it."""
    for name in CONNECTORS:
        try:
            fetch(name, nearest=True)
        except MissingRuntime:
            continue


def needed_connector(name: str) -> list[Path]:
    """Jars of a connector; the test is left out where they cannot be had."""
    jars = connector_jars(name)
    if jars is None:
        pytest.skip(f"the jars of the connector {name} cannot be fetched here")
    return jars
