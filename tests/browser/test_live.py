"""What people see happen: bars that narrow, sources that fall silent, servers that go and come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from streamgauge.checks.waiting import wait_until
from streamgauge.server.serving import Server
from tests.browser.conftest import SENSOR, TOKENS, Complaints, Scene, Serve, show

pytestmark = pytest.mark.browser

# How wide the coloured pieces of a bar are drawn, in all.
DRAWN = """
(bar) => [...bar.querySelectorAll("rect:not(.track):not(.tick)")]
  .reduce((sum, piece) => sum + piece.getBoundingClientRect().width, 0)
"""
DEFERRED = "SELECT AVG(value) FROM plant [PARTITION BY series ROWS 1] WITHIN {} CONFIDENCE 0.9"


def row(page: Page, name: str) -> Locator:
    """The row of a query in the list."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def bar(drawn: Locator) -> tuple[float, float]:
    """The width of a bar in the units of its answer, and as it is drawn."""
    found = drawn.locator(".bar").first
    low, high = found.get_attribute("data-low"), found.get_attribute("data-high")
    return float(high or "inf") - float(low or "-inf"), found.evaluate(DRAWN)


def test_a_query_asked_in_the_editor_appears_in_the_list(
    scene: Scene, served: Server, page: Page, context: BrowserContext
) -> None:
    show(page, served, "queries")
    expect(row(page, "warm")).to_have_count(0)
    writing = context.new_page()
    show(writing, served, "editor")
    text = writing.get_by_role("textbox", name="Statements")
    text.press_sequentially("CREATE QUERY warm AS SELECT AVG(value) FROM pl")
    words = writing.get_by_role("listbox", name="Completions")
    expect(words.get_by_role("option", selected=True)).to_contain_text("plant")
    writing.keyboard.press("Enter")
    expect(text).to_have_value("CREATE QUERY warm AS SELECT AVG(value) FROM plant")
    text.press_sequentially(" [RANGE 10 SECONDS] EVERY 5 SECONDS")
    writing.keyboard.press("Control+Enter")
    results = writing.get_by_role("region", name="Results")
    expect(results.get_by_role("link", name="warm")).to_be_visible()
    expect(row(page, "warm").locator(".state")).to_have_text("waiting")
    scene.hear(6)
    expect(row(page, "warm").locator(".state")).to_have_text("met")
    expect(row(page, "warm").locator(".value")).to_have_count(1)


def test_a_mistake_is_underlined_where_it_stands(served: Server, page: Page) -> None:
    show(page, served, "editor")
    text = page.get_by_role("textbox", name="Statements")
    wrong, said = page.locator(".drawn .wrong"), page.locator("#said")
    for written, part, told in (
        ("SELECT AVG(value) FROM plant EVERY 5 SECONDS WITHIN FROM", "FROM", "1:53"),
        ("SHOW QUERIES;\nSELECT AVG(valeu) FROM plant [RANGE 9 SECONDS]", "valeu", "2:12"),
    ):
        text.fill(written)
        expect(wrong).to_have_text(part)
        expect(wrong).to_have_css("text-decoration-style", "wavy")
        expect(text).to_have_attribute("aria-invalid", "true")
        expect(said.get_by_role("button")).to_have_text(told)
        expect(said.locator(".hint")).not_to_be_empty()
        said.get_by_role("button").click()
        chosen = text.evaluate("(area) => area.value.slice(area.selectionStart, area.selectionEnd)")
        assert chosen == part
    text.fill("SELECT AVG(value) FROM plant [RANGE 10 SECONDS]")
    expect(text).to_have_attribute("aria-invalid", "false")
    expect(wrong).to_have_count(0)


def test_a_bar_narrows_when_its_contract_is_tightened(
    scene: Scene, serve: Serve, page: Page
) -> None:
    scene.gauge.sql(f"CREATE QUERY warmth AS {DEFERRED.format(5)}")
    scene.hear(4)
    show(page, serve(scene.gauge), "queries")
    expect(row(page, "warmth").locator(".state")).to_have_text("met")
    loose, wide = bar(row(page, "warmth"))
    scene.gauge.sql(f"ALTER QUERY warmth AS {DEFERRED.format(1)}")
    scene.hear(4)
    expect(row(page, "warmth")).to_contain_text("within 1 for 90% of the time")
    expect(row(page, "warmth").locator(".state")).to_have_text("met")
    tight, narrow = bar(row(page, "warmth"))
    assert tight < 0.5 * loose
    assert 0 < narrow < 0.5 * wide


def test_a_silent_source_degrades_the_answer_and_says_why(
    scene: Scene, served: Server, page: Page
) -> None:
    show(page, served, "queries")
    state = row(page, "heat").locator(".condition")
    expect(state.locator(".state")).to_have_text("met")
    scene.hear(10, without=SENSOR)
    expect(state).to_contain_text("degraded")
    expect(state).to_contain_text("interrupted")
    page.get_by_role("button", name="degraded").click()
    expect(row(page, "sites")).to_have_count(0)
    row(page, "heat").get_by_role("link").click()
    expect(page.locator("main span.judged")).to_contain_text("interrupted")
    scene.hear(10)
    expect(page.locator("main span.judged")).to_have_text("met")
    show(page, served, "queries")
    expect(state.locator(".state")).to_have_text("met")


def test_the_plan_tells_the_error_budget(served: Server, page: Page) -> None:
    show(page, served, "queries/heat")
    plan = page.locator("pre").filter(has_text="owed within 0.5 for 90% of the time")
    expect(plan).to_be_visible()
    budget = page.get_by_role("region", name="Error budget")
    expect(budget).to_contain_text("deferral")
    expect(budget.locator("svg").first).to_be_visible()


def test_a_restart_is_told_and_no_answer_is_missed(
    scene: Scene, serve: Serve, page: Page, complaints: Complaints
) -> None:
    complaints.expect("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY")
    first = serve(scene.gauge)
    show(page, first, "queries/total")
    page.evaluate("window.since_load = true")
    connection = page.locator("#connection")
    expect(connection).to_have_text("live")
    scene.hear(4)
    first.stop()
    expect(connection).to_contain_text("not heard")
    scene.hear(4)
    scene.hear(6)
    serve(scene.gauge, first.address)
    expect(connection).to_have_text("live")
    scene.hear(4)
    instants = [str(at)[11:19] for at in scene.gauge.answers("total")["as_of"].to_pylist()]
    told = page.get_by_role("region", name="Newest answers").locator("tbody tr")
    expect(told.first).to_contain_text(instants[-1])
    shown = told.all_inner_texts()
    for instant, text in zip(reversed(instants), shown, strict=False):
        assert instant in text
    assert len(shown) >= 9, "all that came while nobody served, and some before"
    assert page.evaluate("window.since_load"), "without loading the page again"


def test_a_token_opens_the_page_as_far_as_its_role_goes(
    scene: Scene, serve: Serve, tmp_path: Path, page: Page, complaints: Complaints
) -> None:
    complaints.expect("401")
    (tmp_path / "tokens").write_text(TOKENS)
    server = serve(scene.gauge, tokens=tmp_path / "tokens")
    page.goto(f"{server.address}/#/queries/heat")
    for token in ("guess-0123", "reader-0123"):
        page.get_by_role("textbox", name="Token").fill(token)
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="heat")).to_be_visible()
    for where in ("queries/heat", "streams", "alerts"):
        show(page, server, where)
        for name in ("Pause", "Drop", "Create alert"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
    show(page, server, "queries")
    expect(page.get_by_role("link", name="New query")).to_have_count(0)
    page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.goto(f"{server.address}/#/queries/heat")
    page.get_by_role("textbox", name="Token").fill("author-0123")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Pause").click()
    wait_until(lambda: _status(scene) == "paused", 60, what="the pause")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()


def _status(scene: Scene) -> Any:
    scene.step()
    return scene.gauge.registry().query("heat").status
