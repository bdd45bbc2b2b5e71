"""Ten thousand queries in the list: a handful of them in the page, all of them in reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import streamgauge as sg
from tests.browser.conftest import PLANT, Serve, show

pytestmark = pytest.mark.browser

MANY = 10_000
MOST_DRAWN = 100
ROWS = "main [role=grid] [role=row]"


def questions() -> list[sg.Query]:
    """One sensor each, so that there is little to answer."""
    names = PLANT.rows(0, 1)[0]["series"].to_pylist()
    minute = sg.every("1 minute")
    return [
        sg.Query(f"sum-{n:05d}", "plant", sg.total("value"), series=(names[n % 20],), answer=minute)
        for n in range(MANY)
    ]


def test_ten_thousand_queries_are_a_handful_of_rows(
    built: Path, tmp_path: Path, serve: Serve, page: Page
) -> None:
    with sg.connect(tmp_path / "home", engine="local") as gauge:
        source = sg.files(built / "rows", "parquet")
        gauge.stream("plant", source, time="ts", key="series")
        gauge.register(*questions())
        while gauge.step():
            pass
        show(page, serve(gauge), "queries")
        grid = page.get_by_role("grid")
        expect(grid).to_have_attribute("aria-rowcount", str(MANY + 1))
        assert page.locator(ROWS).count() < MOST_DRAWN
        grid.focus()
        page.keyboard.press("End")
        last = page.get_by_role("link", name=f"sum-{MANY - 1:05d}", exact=True)
        expect(last).to_be_in_viewport()
        assert page.locator(ROWS).count() < MOST_DRAWN
        page.mouse.move(600, 500)
        for _ in range(20):
            page.mouse.wheel(0, -5_000)
        expect(last).not_to_be_in_viewport()
        expect(page.locator(f"{ROWS} .value").first).to_be_attached()
        assert page.locator(ROWS).count() < MOST_DRAWN
        page.get_by_role("searchbox").fill("sum-0777")
        expect(grid).to_have_attribute("aria-rowcount", "11")
        grid.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="sum-07771")).to_be_visible()
