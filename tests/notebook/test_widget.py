"""The widget in a real Chromium, on a model that the test moves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

import streamgauge as sg
from streamgauge.notebook.widget import Drawn, style

pytestmark = pytest.mark.slow

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
PAGE = """<!doctype html><html lang="en"><head><title>notebook</title><style>{style}</style></head>
<body style="background:{ground};color:{ink}"><main><h1>Notebook</h1><div id="cell"></div></main>
</body></html>"""
# What a notebook gives a widget: a model with values and handlers, and a place.
MODEL = """async ([text, state]) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  const handlers = new Map();
  const of = (name) => handlers.get(name) ?? handlers.set(name, new Set()).get(name);
  window.model = {
    get: (name) => state[name],
    on: (name, call) => of(name).add(call),
    off: (name, call) => of(name).delete(call),
    move: (more) => {
      Object.assign(state, more);
      for (const name of Object.keys(more)) of(`change:${name}`).forEach((call) => call());
    },
    heard: () => [...handlers.values()].reduce((sum, calls) => sum + calls.size, 0),
  };
  window.leave = widget.render({ model, el: document.getElementById("cell") });
}"""
ANSWER = sg.Answer(
    "heat", 20.0, 19.0, 21.0, as_of=0, confidence=0.9, group=("<b>a</b>",), basis="kll",
    charges=(sg.Charge.even("late rows", 1.0), sg.Charge.even("kll", 1.0)),
)  # fmt: skip


def line(answer: sg.Answer) -> dict[str, Any]:
    told = answer.as_dict()
    return {"answer": told, "recent": [{key: told[key] for key in ("value", "low", "high")}] * 3}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser.new_page()
        browser.close()


def shown(page: Page, *answers: sg.Answer, ground: str = "#fff", ink: str = "#111") -> list[str]:
    """Draw answers; gives what the page complains of."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.set_content(PAGE.format(style=style(), ground=ground, ink=ink))
    state = {"name": "heat", "state": "live", "more": 0, "lines": [line(a) for a in answers]}
    page.evaluate(MODEL, [Drawn._esm, {**state, "charges": Drawn().charges}])
    return complaints


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", "#212121"), ("#111111", "#e0e0e0")])
def test_it_shows_an_answer_with_its_bar(page: Page, ground: str, ink: str) -> None:
    broken = replace(ANSWER, group=("b",), contract_met=False, high=float("inf"))
    complaints = shown(page, ANSWER, broken, ground=ground, ink=ink)
    assert page.locator(".value").all_inner_texts() == ["20", "20"]
    assert page.locator(".answer .value + .bar").count() == 2
    assert page.locator(".sparkline .band").count() == 2
    assert page.locator(".group").first.inner_text() == "<b>a</b>"
    facts = page.locator(".facts").all_inner_texts()
    assert "late rows 1" in facts[0]
    assert "contract met" in facts[0]
    assert "contract not met" in facts[1]
    expect(page.locator(".state")).to_contain_text("live, heard")
    assert Axe().run(page).response["violations"] == []
    assert complaints == []


def test_it_changes_in_place(page: Page) -> None:
    complaints = shown(page, ANSWER)
    kept = page.locator(".bar").element_handle()
    before = kept.get_attribute("aria-label")
    moved = replace(ANSWER, value=20.5, high=21.5)
    page.evaluate("more => model.move(more)", {"lines": [line(moved)], "more": 3})
    expect(page.locator(".value")).to_have_text("20.5")
    assert kept.evaluate("node => node.isConnected")
    assert kept.get_attribute("aria-label") != before
    expect(page.get_by_text("and 3 more groups")).to_be_visible()
    page.evaluate("more => model.move(more)", {"state": "the gauge stopped"})
    expect(page.locator(".state")).to_have_text("the gauge stopped")
    page.evaluate("leave()")
    assert page.evaluate("model.heard()") == 0
    assert complaints == []


def test_it_waits_for_a_first_answer(page: Page) -> None:
    complaints = shown(page)
    expect(page.get_by_text("no answer yet")).to_be_visible()
    page.evaluate("more => model.move(more)", {"lines": [line(ANSWER)]})
    expect(page.locator(".value")).to_have_text("20")
    expect(page.get_by_text("no answer yet")).to_have_count(0)
    assert complaints == []
