"""Parts of the page by themselves, on answers that a plant does not give."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.server.story import Act, Stage, Story
from tests.browser.conftest import SENSOR, Complaints, Scene, show

pytestmark = pytest.mark.browser

# Lines of the grid of a chart over answers at some instants.
GRID = """
async ([instants, values]) => {
  const { chart } = await import("/page/chart.js");
  const { node, draw } = chart("a chart", () => null);
  document.body.append(node);
  const answer = (as_of, value) => ({
    as_of, value, low: value, high: value, basis: "exact", charges: [], contract_met: true,
    version: 1,
  });
  const answers = instants.map((as_of, i) => answer(as_of, values[i]));
  draw({ answers, shadow: [], owed: () => null, reached: null, audited: false });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return node.querySelectorAll("line.grid").length;
}
"""
# What the list knows after a board, answers of the feed, and a later board.
WORST = """
async () => {
  const { Records } = await import("/page/records.js");
  const told = (group, epoch, width, met) => ({
    query: "q", version: 1, group: [group], value: 5, low: 5 - width, high: 5 + width, epoch,
    confidence: 1, basis: "filter", charges: [], contract_met: met, coverage: 1, share: 1,
    as_of: `2026-01-01T00:00:${epoch}Z`,
  });
  const board = (epoch, answer) => ({
    epoch, silent: {}, names: ["q"], versions: [1], kinds: ["numbers"], contracts: ["within 5"],
    streams: [["plant"]], groups: [2], saved: [null], suppressed: [null], audits: [null],
    states: ["met"], held: [null], values: [answer.value], lows: [answer.low], highs: [answer.high],
    confidences: [1], bases: [answer.basis], charges: [[]], met: [answer.contract_met],
    as_of: [answer.as_of], epochs: [answer.epoch], group: [answer.group], coverages: [1],
    shares: [1],
  });
  const records = new Records();
  const wide = told("a", 10, 3, true);
  records.take(board(10, wide));
  records.hear(told("b", 12, 9, false));
  records.hear(told("b", 13, 1, true));
  const before = records.of("q").answer.group[0];
  records.take(board(12, told("b", 12, 9, false)));
  const between = records.of("q").answer.epoch;
  records.take(board(14, wide));
  return [before, between, records.of("q").answer.group[0]];
}
"""
AUDITED = """
async () => {
  const { auditPanel } = await import("/page/panels.js");
  const { node, draw } = auditPanel();
  const open = { value: null, low: null, high: null };
  const held = { ...open, confidence: 0.95, basis: "audit", charges: [] };
  draw({ audited: {
    promised: 0.9, held, comparisons: 138, misses: 0, worst: 0.7, last: null, alarm: null,
    now: true,
  } });
  return node.textContent;
}
"""
SPOKEN = """
async () => {
  const { number, spoken } = await import("/page/numbers.js");
  const answer = {
    value: 5, low: null, high: null, confidence: 1, basis: "interrupted", contract_met: false,
    charges: [{ by: "interruption", width: null }],
  };
  return [number(1234567), number(1234567.8), number(2.5e12), spoken(answer)];
}
"""
# Where the bars of answers of 5 begin and how wide they are, on a scale of 0 to 10.
DRAWN = """
async (ends) => {
  const { bar } = await import("/page/bar.js");
  const answer = {
    value: 5, confidence: 1, basis: "interrupted", contract_met: false,
    charges: [{ by: "interruption", width: null }],
  };
  return ends.map(([low, high]) => {
    const piece = bar({ ...answer, low, high }, { low: 0, high: 10 }, 200).children[2];
    return [Number(piece.getAttribute("x")), Number(piece.getAttribute("width"))];
  });
}
"""


def test_a_chart_has_few_lines_whatever_it_shows(served: Server, page: Page) -> None:
    show(page, served, "queries")
    ages = [f"{year}-01-01T00:00:00Z" for year in (1971, 2001, 2026)]
    assert 3 < page.evaluate(GRID, [ages, [1.0, 2.0, 3.0]]) < 40
    seconds = [f"2026-01-01T00:00:0{second}Z" for second in range(3)]
    huge = [1e17, 1e17 + 16, 1e17]
    assert 1 < page.evaluate(GRID, [seconds, huge]) < 40


def test_of_groups_the_worst_is_shown_though_it_is_older(served: Server, page: Page) -> None:
    show(page, served, "queries")
    assert page.evaluate(WORST) == ["b", 13, "a"]


def test_numbers_read_as_they_are(served: Server, page: Page) -> None:
    show(page, served, "queries")
    whole, rounded, large, told = page.evaluate(SPOKEN)
    assert (whole, rounded, large) == ("1,234,567", "1,234,570", "2.500e+12")
    assert "widened by interruption without bound" in told


def test_a_bar_without_a_bound_reaches_to_the_end_of_its_scale(served: Server, page: Page) -> None:
    show(page, served, "queries")
    ends = [[4.0, 6.0], [None, 6.0], [4.0, None], [None, None]]
    assert page.evaluate(DRAWN, ends) == [[80, 40], [0, 120], [80, 120], [0, 200]]


def test_a_share_that_is_not_known_is_not_nothing(served: Server, page: Page) -> None:
    show(page, served, "queries")
    told = page.evaluate(AUDITED)
    assert "nothing" not in told
    assert "when the first round is over" in told


def test_a_query_that_is_not_there_yet_is_waited_for(
    scene: Scene, served: Server, page: Page, complaints: Complaints
) -> None:
    complaints.expect("404")
    page.goto(f"{served.address}/#/queries/later")
    expect(page.get_by_role("alert")).to_contain_text("no query named 'later'")
    scene.gauge.sql("CREATE QUERY later AS SELECT MAX(value) FROM plant [RANGE 10 SECONDS]")
    expect(page.get_by_role("heading", name="later")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_query_opens_whatever_its_name_holds(scene: Scene, served: Server, page: Page) -> None:
    name = "in/out?a&b#50%"
    scene.gauge.sql(f'CREATE QUERY "{name}" AS SELECT MAX(value) FROM plant [RANGE 10 SECONDS]')
    scene.hear(2)
    show(page, served, "queries")
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.locator("main .value").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_story_leads_to_what_its_act_has_made(scene: Scene, page: Page) -> None:
    def play(stage: Stage) -> None:
        stage.wait(1.5)
        scene.gauge.sql("CREATE QUERY made AS SELECT MAX(value) FROM plant [RANGE 10 SECONDS]")
        stage.tell("asked")

    story = Story([Act("make", "Make", "text", "#/queries/made", "made", "Make it", play)])
    with Server(scene.gauge, Settings.of("http://127.0.0.1:0"), story=story) as server:
        show(page, server, "queries")
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_role("heading", name="made")).to_be_visible()
        page.goto("about:blank")
    story.close()


def test_a_stream_says_that_its_source_is_away(scene: Scene, served: Server, page: Page) -> None:
    def told(route: Route) -> None:
        listing = route.fetch().json()
        feed = {"state": "waiting", "reason": "no <b>broker", "since": "2026-01-01T00:00:00Z"}
        listing["streams"][0]["feed"] = feed
        route.fulfill(json=listing)

    scene.hear(10)
    page.route("**/v1/streams", told)
    show(page, served, "streams")
    expect(page.locator("main span.state.warn")).to_have_text("source away")
    page.get_by_role("button", name="plant").click()
    expect(page.locator("main .silence")).to_contain_text("2026-01-01 00:00:00: no <b>broker")
    page.unroute_all()


def test_a_query_says_which_agent_is_silent(scene: Scene, served: Server, page: Page) -> None:
    def told(route: Route) -> None:
        stream = route.fetch().json()
        stream["interruption"]["agents"] = ["north", "east"]
        route.fulfill(json=stream)

    scene.hear(10, without=SENSOR)
    page.route("**/v1/streams/plant", told)
    show(page, served, "queries/heat")
    judged = page.locator("main span.judged")
    expect(judged).to_contain_text("interrupted: north and 1 more silent")
    page.unroute_all()
