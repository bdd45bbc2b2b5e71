"""A served plant and a real Chromium that looks at it; what a page complains of fails its test."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

import streamgauge as sg
from streamgauge.alerts.watcher import Watcher
from streamgauge.results.follower import Follower
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.sources.plant import Plant

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SIZE = (1280, 800)
# Generous, since what is waited for comes at once on a machine that is not busy.
PATIENCE = 20_000
# Every page, and what it shows when it stands.
PAGES = {
    "queries": "main .value >> nth=4",
    "queries/heat": "main .value >> nth=2",
    "queries/sites": "main .value >> nth=9",
    "queries/loud": "main table",
    "queries/total": "main .value >> nth=2",
    "streams": "main :text('plant')",
    "alerts": "main .value",
    "audit": "main .value",
    "system": "main dd >> nth=3",
    "editor": "main textarea",
    "editor/heat": "main textarea",
}

PLANT = Plant(n_sensors=20, seed=7, outage_rate=0.0, burst_rate=0.0)
TICKS = 120
SENSOR = "site-00.flow-0000"
QUERIES = """
CREATE QUERY heat AS SELECT AVG(value) FROM plant [PARTITION BY series ROWS 1]
  WITHIN 0.5 CONFIDENCE 0.9;
CREATE QUERY total AS SELECT SUM(value) FROM plant [PARTITION BY series ROWS 1] EVERY 2 SECONDS;
CREATE QUERY sites AS SELECT site, AVG(value) FROM plant [RANGE 10 SECONDS] GROUP BY site
  EVERY 5 SECONDS;
CREATE QUERY middle AS SELECT QUANTILE(value, 0.5) FROM plant [RANGE 30 SECONDS SLIDE 5 SECONDS]
  EVERY 5 SECONDS WITHIN 5 PERCENT RANK;
CREATE QUERY readings AS SELECT COUNT(DISTINCT value) FROM plant
  [RANGE 30 SECONDS SLIDE 5 SECONDS] EVERY 5 SECONDS WITHIN 5 PERCENT CONFIDENCE 95%;
CREATE QUERY loud AS SELECT series, value FROM plant [RANGE 10 SECONDS] WHERE value > 18.5;
"""
ALERT = (
    "CREATE ALERT high ON sites WHEN CERTAINLY ABOVE 11 DELIVER TO MAIL '{}' FOR 'a@example.org'"
)
TOKENS = "reader-0123 reader wall\nauthor-0123 author desk\nadmin-01234 admin root\n"


@dataclass
class Scene:
    """A gauge that is stepped by hand, and the plant that it hears."""

    gauge: sg.Gauge
    source: Path
    ticks: int = TICKS
    written: list[Path] = field(default_factory=list)

    def hear(self, count: int, *, without: str = "") -> None:
        """Let some ticks come, perhaps without a sensor, and answer them."""
        rows, _ = PLANT.rows(self.ticks, count)
        path = self.source / f"{self.gauge.home.root.parent.name}-{self.ticks}.parquet"
        pq.write_table(rows.filter(pc.not_equal(rows["series"], without)), path)
        self.written.append(path)
        self.ticks += count
        self.step()

    def step(self) -> None:
        """Answer all that is there."""
        while self.gauge.step():
            pass


@dataclass
class Complaints:
    """What a page says to its console, throws, or asks for in vain."""

    heard: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Say that a complaint belongs to the test."""
        self.expected.append(pattern)

    def left(self) -> list[str]:
        """Complaints that nobody expected."""
        return [text for text in self.heard if not any(re.search(p, text) for p in self.expected)]

    def listen(self, context: BrowserContext) -> None:
        """Hear all pages of a context."""

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.heard.append(f"console {message.type}: {message.text}")

        def failed(request: Request) -> None:
            # A page that is left ends its requests; that is no failure.
            if request.failure != "net::ERR_ABORTED":
                self.heard.append(f"request: {request.method} {request.url}: {request.failure}")

        def answered(response: Response) -> None:
            if response.status >= 400:
                self.heard.append(f"response: {response.status} {response.url}")

        context.on("console", said)
        context.on("weberror", lambda thrown: self.heard.append(f"thrown: {thrown.error}"))
        context.on("requestfailed", failed)
        context.on("response", answered)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a home whose queries have answered, and the rows it read; only copied."""
    root = tmp_path_factory.mktemp("plant")
    (root / "rows").mkdir()
    rows, _ = PLANT.rows(0, TICKS)
    size = 10 * PLANT.n_sensors
    for start in range(0, rows.num_rows, size):
        pq.write_table(rows.slice(start, size), root / "rows" / f"{start:06d}.parquet")
    with sg.connect(root / "home", engine="local", max_rows=size) as gauge:
        source = sg.files(root / "rows", "parquet")
        gauge.stream("plant", source, time="ts", key="series", expected_gap="5 s")
        gauge.sql(QUERIES)
        gauge.sql(ALERT.format(root / "mail"))
        with followed(gauge) as followers:
            while gauge.step():
                for follower in followers:
                    follower.step()
    return root


@contextmanager
def followed(gauge: sg.Gauge) -> Iterator[tuple[Follower, ...]]:
    """What judges alerts and what audits, to be stepped by hand."""
    followers = (Watcher(gauge, allow_webhooks=["127.0.0.0/8"]), sg.Auditor(gauge))
    for follower in followers:
        follower.open()
    yield followers
    for follower in followers:
        follower.close()


@pytest.fixture
def scene(built: Path, tmp_path: Path) -> Iterator[Scene]:
    home = Path(shutil.copytree(built / "home", tmp_path / "home"))
    with sg.connect(home, engine="local") as gauge:
        made = Scene(gauge, built / "rows")
        yield made
    for path in made.written:
        path.unlink()


Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a gauge on a free port until the end of the test."""
    with ExitStack() as stack:

        def serving(gauge: sg.Gauge, address: str = "http://127.0.0.1:0", **more: Any) -> Server:
            settings = replace(Settings.of(address, tokens=more.pop("tokens", None)), **more)
            settings = replace(settings, thrift=0.0)
            return stack.enter_context(Server(gauge, settings))

        yield serving


@pytest.fixture
def served(scene: Scene, serve: Serve) -> Server:
    return serve(scene.gauge)


# Not for the whole session: as long as it lives, no other test of this process can run a loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: tools/find_browser.sh says how it is installed")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    found = Complaints()
    yield found
    assert not found.left(), "\n".join(found.left())


@pytest.fixture
def context(browser: Browser, complaints: Complaints) -> Iterator[BrowserContext]:
    made = browser.new_context(
        viewport={"width": SIZE[0], "height": SIZE[1]}, reduced_motion="reduce"
    )
    made.set_default_timeout(PATIENCE)
    complaints.listen(made)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def show(page: Page, server: Server, where: str) -> None:
    """Open a page of the server, as if for the first time, and wait until it stands."""
    page.goto("about:blank")
    if server.token is not None:
        page.goto(server.page)
        page.wait_for_function("sessionStorage.getItem('streamgauge.token')")
    page.goto(f"{server.address}/#/{where}")
    page.wait_for_selector(PAGES.get(where, "main h1"))
