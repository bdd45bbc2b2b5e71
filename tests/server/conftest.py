"""A home whose queries have answered, served in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import streamgauge as sg
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner

# Reading the certificates of the machine takes longer than most tests; nothing here uses TLS.
PLAIN = False
ROWS = """ts,series,site,value
2026-01-01T00:00:01Z,a,north,1
2026-01-01T00:00:01Z,b,south,10
2026-01-01T00:00:02Z,a,north,2
2026-01-01T00:00:02Z,b,south,oops
2026-01-01T00:00:03Z,a,north,3
2026-01-01T00:00:03Z,b,south,30
2026-01-01T00:00:09Z,a,north,4
"""
MORE = """ts,series,site,value
2026-01-01T00:00:{0:02d}Z,a,north,{0}
2026-01-01T00:00:{0:02d}Z,b,south,{0}
"""
TOKENS = """# who may do what
reader-0123 reader wall
author-0123 author desk
admin-01234 admin root
functions-0123 functions
"""
QUERIES = """
CREATE QUERY newest AS SELECT SUM(value) FROM rows [PARTITION BY series ROWS 1] ON CHANGE;
CREATE QUERY sites AS SELECT site, AVG(value) FROM rows [RANGE 20 SECONDS] GROUP BY site
  EVERY 2 SECONDS;
CREATE QUERY large AS SELECT series, value FROM rows [RANGE 1 MINUTE] WHERE value > 2;
"""


def step(gauge: sg.Gauge) -> None:
    """Answer all that is there."""
    while gauge.step():
        pass


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("source")
    (directory / "rows.csv").write_text(ROWS)
    return directory


@pytest.fixture(scope="session")
def answered(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose queries have answered; never changed, only copied."""
    home = tmp_path_factory.mktemp("answered") / "home"
    gauge = sg.connect(home, engine="local")
    schema = sg.Schema.of(ts="time", series="string", site="string", value="float")
    gauge.stream("rows", sg.files(source, "csv"), time="ts", key="series", schema=schema)
    gauge.sql(QUERIES)
    step(gauge)
    gauge.stop()
    return home


@pytest.fixture
def gauge(answered: Path, source: Path, tmp_path: Path) -> Iterator[sg.Gauge]:
    """A gauge on a home of its own, whose queries have answered; it is stepped by hand."""
    home = Path(shutil.copytree(answered, tmp_path / "home"))
    with sg.connect(home, engine="local") as opened:
        yield opened


@pytest.fixture
def more(gauge: sg.Gauge, source: Path) -> Iterator[Callable[[int], None]]:
    """Let rows of a second arrive, and answer them."""
    written = []

    def arrive(second: int) -> None:
        path = source / f"more-{gauge.home.root.parent.name}-{second}.csv"
        path.write_text(MORE.format(second))
        written.append(path)
        step(gauge)

    yield arrive
    for path in written:
        path.unlink()


@pytest.fixture
def served(gauge: sg.Gauge) -> Iterator[Server]:
    """The gauge behind a socket, on a free port; without a file of tokens."""
    with Server(gauge, replace(Settings.of("http://127.0.0.1:0"), thrift=0.0)) as server:
        yield server


@pytest.fixture
def client(served: Server) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=served.address, headers=as_owner(served), timeout=60, verify=PLAIN
    ) as made:
        yield made


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(TOKENS)
    return path


@pytest.fixture
def guarded(gauge: sg.Gauge, tokens: Path) -> Iterator[Callable[..., httpx.Client]]:
    """Clients of a guarded server, by token."""
    with ExitStack() as stack:

        def made(token: str | None, **limits: Any) -> httpx.Client:
            settings = replace(Settings.of("http://127.0.0.1:0", tokens=tokens), **limits)
            server = stack.enter_context(Server(gauge, settings))
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            client = httpx.Client(
                base_url=server.address, headers=headers, timeout=60, verify=PLAIN
            )
            return stack.enter_context(client)

        yield made


def problem(response: Any, status: int) -> dict[str, Any]:
    """The problem that a response tells, in its one shape."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = json.loads(response.text)
    assert set(told) - {"place"} == {"type", "title", "status", "detail", "hint"}
    assert told["status"] == status
    assert all(told[part] for part in ("type", "title", "detail", "hint"))
    return told
