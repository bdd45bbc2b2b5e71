"""The pictures of the documentation, taken of real pages; REGOLD=1 takes them anew."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, expect

import streamgauge as sg
from streamgauge.sources.plant import Plant
from tests.browser.conftest import SENSOR, Complaints, Serve, show
from tests.goldens import regolding

pytestmark = pytest.mark.browser

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
PLANT = Plant(n_sensors=50, seed=7, outage_rate=0.0, burst_rate=0.0)
SIZE = (1280, 610)
SITES = 10
EPOCHS = 12
TICKS = 20
MAGIC = b"\x89PNG\r\n\x1a\n"


def of(kind: str) -> str:
    """The newest readings of all sensors of a kind."""
    names = ", ".join(f"'site-{site:02d}.{kind}-0000'" for site in range(SITES))
    return f"FROM plant [PARTITION BY series ROWS 1] WHERE series IN ({names})"


QUERIES = f"""
CREATE QUERY flow AS SELECT SUM(value) {of("flow")} WITHIN 1 CONFIDENCE 0.9;
CREATE QUERY power AS SELECT SUM(value) {of("power")} WITHIN 1 PERCENT CONFIDENCE 0.95;
CREATE QUERY pressure_peak AS SELECT MAX(value) {of("pressure")} WITHIN 0.3 CONFIDENCE 0.95;
CREATE QUERY temperature AS SELECT AVG(value) {of("temp")} WITHIN 0.2 CONFIDENCE 0.9;
CREATE QUERY power_by_site AS SELECT site, AVG(value) FROM plant [RANGE 20 SECONDS]
  WHERE kind = 'power' GROUP BY site EVERY 5 SECONDS;
CREATE QUERY temperature_median AS SELECT QUANTILE(value, 0.5)
  FROM plant [RANGE 30 SECONDS SLIDE 5 SECONDS] WHERE kind = 'temp' EVERY 5 SECONDS
  WITHIN 5 PERCENT RANK;
CREATE QUERY readings AS SELECT COUNT(DISTINCT value) FROM plant
  [RANGE 30 SECONDS SLIDE 5 SECONDS] EVERY 5 SECONDS WITHIN 5 PERCENT CONFIDENCE 95%;
CREATE QUERY hot_spots AS SELECT series, value FROM plant [RANGE 10 SECONDS] WHERE value > 115;
"""


def heard(gauge: sg.Gauge, directory: Path) -> None:
    """Let the plant run for some minutes; at the end a sensor falls silent."""
    for epoch in range(EPOCHS):
        rows, _ = PLANT.rows(epoch * TICKS, TICKS)
        if epoch == EPOCHS - 1:
            rows = rows.filter(pc.not_equal(rows["series"], SENSOR))
        pq.write_table(rows, directory / f"{epoch:03d}.parquet")
        if epoch == 0:
            source = sg.files(directory, "parquet")
            gauge.stream("plant", source, time="ts", key="series", expected_gap="5 s")
            gauge.sql(QUERIES)
        while gauge.step():
            pass


def test_pictures_of_the_list_and_of_a_query(
    tmp_path: Path, serve: Serve, browser: Browser, complaints: Complaints
) -> None:
    context = browser.new_context(
        viewport={"width": SIZE[0], "height": SIZE[1]}, device_scale_factor=2,
        color_scheme="light", reduced_motion="reduce",
    )  # fmt: skip
    complaints.listen(context)
    page = context.new_page()
    (tmp_path / "rows").mkdir()
    with sg.connect(tmp_path / "home", engine="local") as gauge:
        heard(gauge, tmp_path / "rows")
        server = serve(gauge)
        show(page, server, "queries")
        expect(page.locator("main")).to_contain_text("interrupted")
        expect(page.locator("main .sparkline .line[points*=',']")).to_have_count(7)
        taken = {"dashboard": page.screenshot()}
        page.set_viewport_size({"width": SIZE[0], "height": 800})
        show(page, server, "queries/flow")
        expect(page.locator("main span.judged")).to_contain_text("interrupted")
        answers = page.get_by_role("region", name="Newest answers").locator("tbody tr")
        expect(answers).to_have_count(12)
        taken["query"] = page.screenshot()
    context.close()
    for name, picture in taken.items():
        path = PICTURES / f"{name}.png"
        if regolding():
            path.write_bytes(picture)
        # Letters and times of epochs differ from machine to machine, the size does not.
        assert path.read_bytes()[:24] == picture[:24], f"{path.name}; REGOLD=1 takes it anew"
        assert picture.startswith(MAGIC)
