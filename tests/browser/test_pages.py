"""Every page in light and dark: no complaint, nothing out of reach, no number without its bar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from streamgauge.server.serving import Server
from tests.browser.conftest import PAGES, Complaints, Scene, Serve, show

pytestmark = pytest.mark.browser

# Elements that one can act on; those of a group that moves its own focus have tabindex -1.
REACHABLE = """
() => {
  const kinds = "a[href], button, input:not([type=radio]), select, textarea, summary, "
    + "[role=button], [role=tab], [role=slider], [role=grid], [tabindex]";
  const inside = document.querySelector("dialog[open]") ?? document;
  const found = [...inside.querySelectorAll(kinds)].filter((node) =>
    node.tabIndex >= 0 && !node.disabled && node.checkVisibility({ visibilityProperty: true }));
  found.forEach((node, i) => { node.dataset.reach = i; });
  document.activeElement.blur();
  return found.map((node) => node.outerHTML.slice(0, 120));
}
"""
# Numbers of answers stand beside a bar, or in words that have the bar in them.
BARE = """
async () => {
  const { number } = await import("/page/numbers.js");
  const bare = [...document.querySelectorAll(".value")]
    .filter((node) => !node.closest(".answer")?.querySelector("svg.bar[aria-label]"))
    .map((node) => `.value ${node.textContent}`);
  const listed = await (await fetch("v1/queries?limit=1000")).json();
  const values = listed.queries.flatMap((query) => query.latest)
    .filter((answer) => answer.value !== null && !Number.isInteger(answer.value))
    .map((answer) => number(answer.value));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent;
    const words = text.split(/[^0-9.,-]+/);
    const told = values.find((value) => words.includes(value));
    if (told && !text.includes("[") && !node.parentElement.closest(".answer, title, table.rows"))
      bare.push(`${told} in ${text.slice(0, 80)}`);
  }
  return bare;
}
"""
# What is looked at only when somebody presses a button.
UNFOLDED = {"streams": ("plant",), "editor/heat": ("Explain",), "queries/total": ("Drop",)}
# In the dark everything is as it is in the light, but for the colours.
RULES: dict[str, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
# As a name of a stream and of a query; the two may not be the same.
HOSTILE = "<img src=x onerror=window.hacked=1>"
WORSE = "<img src=y onerror=window.hacked=2>"


def violations(page: Page, rules: dict[str, Any]) -> list[str]:
    """What a screen reader would stumble over, as one line each."""
    found = Axe().run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
    return [
        f"{page.url.partition('#')[2]}: {one['id']}: {one['help']}: {node['html'][:150]} "
        f"{node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


def unreached(page: Page) -> list[str]:
    """What the key Tab does not come to."""
    wanted = page.evaluate(REACHABLE)
    reached: set[int] = set()
    for _ in range(len(wanted) + 3):
        if page.evaluate("document.activeElement?.tagName") == "TEXTAREA":
            # A text that takes tabs lets go of them after Escape.
            page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        place = page.evaluate("document.activeElement?.dataset.reach ?? null")
        if place is not None:
            reached.add(int(place))
    return [node for place, node in enumerate(wanted) if place not in reached]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_stands_and_reads_well(
    scheme: str, served: Server, browser: Browser, complaints: Complaints
) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    complaints.listen(context)
    page = context.new_page()
    found: list[str] = []
    for where in PAGES:
        show(page, served, where)
        for name in UNFOLDED.get(where, ()):
            page.get_by_role("main").get_by_role("button", name=name).first.click()
        found += violations(page, RULES[scheme])
        found += [f"{where}: {text}" for text in page.evaluate(BARE)]
        found += [f"{where}: {text}" for text in complaints.left()]
        if scheme == "light":
            found += [f"{where}: not reached by Tab: {node}" for node in unreached(page)]
    context.close()
    assert not found, "\n".join(found)


def test_names_and_values_are_text_wherever_they_stand(
    scene: Scene, serve: Serve, tmp_path: Path, page: Page
) -> None:
    (tmp_path / "hostile").mkdir()
    rows = (
        f"ts,key,value\n1000000,{HOSTILE},1\n2000000,{HOSTILE},2.5\n3000000,{HOSTILE},{HOSTILE}\n"
    )
    (tmp_path / "hostile" / "rows.csv").write_text(rows)
    scene.gauge.sql(f"""
        CREATE STREAM "{HOSTILE}" (ts int, key string, value float)
          FROM FILES '{tmp_path / "hostile"}' FORMAT csv KEY key TIME ts;
        CREATE QUERY "{WORSE}" AS SELECT key, AVG(value) FROM "{HOSTILE}" [RANGE 1 SECOND]
          GROUP BY key EVERY 1 SECOND;
        CREATE ALERT "{HOSTILE}" ON "{WORSE}" WHEN CERTAINLY ABOVE 0.5
          DELIVER TO MAIL '{tmp_path / "mail"}' FOR 'ops@example.org';
    """)
    scene.step()
    server = serve(scene.gauge)
    for where in (*PAGES, f"queries/{WORSE}", f"editor/{WORSE}"):
        show(page, server, where)
        if where in ("queries", "streams", "alerts", f"queries/{WORSE}"):
            expect(page.get_by_text("<img src=").first).to_be_visible()
        assert page.locator("img").count() == 0, where
        assert page.evaluate("window.hacked") is None, where
