// The audit: how often bars held the truth where it was looked at, and what speaks against them.

import { get, repeat } from "./api.js";
import { figure, refigure } from "./bar.js";
import { el, put, svg } from "./dom.js";
import { clock, number, percent } from "./numbers.js";
import { problem } from "./problem.js";

const LOOK_SECONDS = 2;
const WIDTH = 200;
const HEIGHT = 18;
const METER = 84;
// The scale of shares ends below the promises by this part of what is left to all of them.
const ROOM = 1.6;
const LUCK = {
  renewed: "each answer has its own luck",
  sure: "nothing is left to luck",
  life: "its sketch keeps its luck for life, so that by itself it can never alarm",
};

/** A part of the page with its heading, which gives it its name. */
function section(id, title, ...children) {
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...children);
}

/** A table that scrolls; heads with a dot before them are numbers, set to the right. */
function table(label, heads, rows) {
  const shown = heads.map((head) => el("th", { scope: "col", class: head.startsWith(".") && "figure" }, head.replace(".", "")));
  return el("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": label },
    el("table", {}, el("thead", {}, el("tr", {}, shown)), el("tbody", {}, rows)));
}

/** Show what the auditor found; gives back what ends it. */
export function show(place) {
  const trouble = el("div", {});
  const alarms = el("div", { role: "status" });
  const held = el("div", { class: "sheet overall" });
  const tiles = el("dl", { class: "tiles audit" });
  const body = el("tbody", {});
  const list = section("audited-title", "Audited queries", table("Audited queries, scrolls",
    ["query", "state", ".promised", "bars that held, %", ".compared", ".missed", ".largest error", "evidence against", ".last compared"], []));
  list.querySelector("tbody").replaceWith(body);
  const others = el("div", {});
  const rows = new Map();
  let whole = null;

  put(place, el("h1", {}, "Audit"), trouble, alarms, held, tiles, list, others);

  async function look() {
    const told = await get("/audit");
    put(trouble, told.begun ? null : asleep());
    for (const part of [alarms, tiles, list]) part.hidden = !told.begun;
    drawAlarms(alarms, told);
    const scale = scaleOf(told);
    held.hidden = told.held.value === null;
    if (whole) refigure(whole, share(told.held), scale);
    else if (!held.hidden) put(held, overall(told, (whole = figure(share(told.held), scale))));
    drawTiles(tiles, told);
    fill(told, scale);
    drawOthers(others, told);
  }

  function fill(told, scale) {
    list.hidden = !told.begun || !told.queries.length;
    const shown = told.queries.map((query) => {
      const row = rows.get(query.name) ?? made(query);
      row.fill(query, scale);
      return [query.name, row];
    });
    rows.clear();
    shown.forEach(([name, row]) => rows.set(name, row));
    const fresh = shown.map(([, row]) => row.node);
    if (fresh.length !== body.children.length || fresh.some((node, i) => body.children[i] !== node)) put(body, fresh);
  }

  return repeat(LOOK_SECONDS, look, (error) => put(trouble, problem(error)));
}

function asleep() {
  return problem({
    title: "No auditor has looked at this home",
    detail: "So nobody has compared its bars with the truth yet.",
    hint: "streamgauge serve --audit 8 runs the exact shadows of eight queries at a time.",
  });
}

/** A share as an answer in per cent, so that it is drawn with its bar like any other. */
function share(answer) {
  const grown = (value) => (value === null ? null : 100 * value);
  const charges = answer.charges.map((charge) => ({ ...charge, width: grown(charge.width) }));
  const [value, low, high] = [answer.value, answer.low, answer.high].map(grown);
  return { ...answer, value: value === null ? null : Number(value.toPrecision(4)), low, high, charges };
}

/** One scale for all shares, so that they compare at a glance; bars that know little run out of it. */
function scaleOf(told) {
  const ends = told.queries.filter((query) => query.luck !== "life" && query.held.value !== null)
    .flatMap((query) => [query.held.low, query.promised]);
  const least = Math.min(told.held.low ?? 1, ...ends, ...told.queries.map((query) => query.promised), 0.95);
  return { low: Math.max(0, 100 - 100 * ROOM * (1 - Math.max(least, 0))), high: 100 };
}

function overall(told, drawn) {
  return [
    el("h2", {}, "Bars that held the truth, % of what was compared"),
    drawn,
    el("p", { class: "faint" }, "The bar holds the share for good, at all times at once, with 95 %. ",
      "An alarm is raised when what was missed could be luck less than once in ",
      el("strong", {}, number(Math.round(1 / told.false_alarm))), " homes that keep all their promises."),
  ];
}

function drawAlarms(place, told) {
  const said = JSON.stringify(told.alarms);
  if (place.dataset.said === said) return;
  place.dataset.said = said;
  put(place, told.alarms.map((alarm) => el("div", { class: "problem alarm" },
    el("strong", {}, alarm.query === null ? "All queries together" : el("a", { href: address(alarm.query) }, alarm.query)),
    ` ${alarm.text}`, el("span", { class: "faint" }, `, epoch ${number(alarm.epoch)}, ${clock(alarm.at)}`))));
}

function drawTiles(place, told) {
  const now = told.queries.filter((query) => query.now).length;
  const slower = told.slower === null ? "not known yet" : percent(Number(Math.max(0, told.slower).toFixed(3)));
  const items = [
    ["Alarms", number(told.alarms.length), `false alarms: 1 in ${number(Math.round(1 / told.false_alarm))}, ever`, told.alarms.length ? "bad" : "good"],
    ["Compared", number(told.comparisons), `${number(told.misses)} missed`],
    ["Evidence of all together", power(told.rounds_evidence), `alarm at ${power(told.rounds_limit)}, ${number(told.rounds)} rounds`],
    ["Evidence of all sketches", power(told.families_evidence), `alarm at ${power(told.families_limit)}`],
    ["Audited now", `${number(now)} of ${number(told.allowed)}`, `${number(told.waiting)} wait for their first turn`],
    ["Epochs longer by", slower, `${percent(told.share)} is allowed, else half as many run`],
  ];
  put(place, items.map(([name, value, note, tone]) =>
    el("div", {}, el("dt", {}, name), el("dd", { class: tone ?? null }, value), el("dd", { class: "note" }, note))));
}

/** A power of ten as the number it is, where that can be read. */
function power(log10) {
  if (log10 === null) return "none";
  return log10 < 9 ? `${number(Number((10 ** log10).toPrecision(1)))} : 1` : `10^${log10.toFixed(0)} : 1`;
}

const address = (name) => `#/queries/${encodeURIComponent(name)}`;

/** A row that stays where it is while its figures change. */
function made(query) {
  const looks = ["", "figure", "", "figure", "figure", "figure", "", "figure"];
  const cells = looks.map((look) => el("td", { class: look || null }));
  const [state, promised, held, compared, missed, worst, evidence, last] = cells;
  const node = el("tr", { "data-query": query.name },
    el("th", { scope: "row" }, el("a", { href: address(query.name) }, query.name)), ...cells);
  let drawn = null;

  function fill(told, scale) {
    const [word, tone] = told.alarm ? ["alarm", "bad"] : told.now ? ["auditing", "good"] : ["quiet", "faint"];
    put(state, el("span", { class: `state ${tone}` }, word));
    put(promised, percent(Number(told.promised.toPrecision(4))));
    if (told.held.value === null) put(held, el("span", { class: "faint" }, "not compared yet"));
    else if (drawn) refigure(drawn, share(told.held), scale);
    else put(held, (drawn = figure(share(told.held), scale)));
    if (drawn) mark(drawn, told, scale);
    put(compared, number(told.comparisons));
    put(missed, number(told.misses));
    put(worst, told.worst === null || !told.comparisons ? "–" : `${number(Number(told.worst.toPrecision(3)))} bars`);
    put(evidence, meter(told));
    put(last, told.last === null ? "–" : clock(told.last));
  }

  return { node, fill };
}

/** The promise as a line across the bar. */
function mark(drawn, told, scale) {
  const bar = drawn.querySelector(".bar");
  bar.querySelector(".promise")?.remove();
  const x = (WIDTH * (100 * told.promised - scale.low)) / (scale.high - scale.low || 1);
  bar.append(svg("line", { class: "promise", x1: x, x2: x, y1: -2, y2: HEIGHT + 2 },
    svg("title", {}, `promised ${percent(told.promised)}`)));
}

/** How far the evidence is on its way to an alarm. */
function meter(told) {
  const far = told.alarm ? 1 : Math.min(1, Math.max(0, (told.evidence ?? 0) / told.limit));
  const said = told.alarm ? told.alarm.text : `${power(told.evidence)}, alarm at ${power(told.limit)}; ${LUCK[told.luck]}`;
  return el("span", { class: "meter" },
    svg("svg", { role: "img", "aria-label": said, width: METER, height: 8, viewBox: `0 0 ${METER} 8` },
      svg("title", {}, said),
      svg("rect", { class: "track", width: METER, height: 8, rx: 4 }),
      svg("rect", { class: told.alarm ? "full" : "part", width: METER * far, height: 8, rx: 4 })),
    el("span", { class: "mono" }, told.alarm ? "broken" : power(told.evidence)));
}

function drawOthers(place, told) {
  const said = JSON.stringify(told.skipped);
  if (place.dataset.said === said) return;
  place.dataset.said = said;
  if (!told.skipped.length) {
    put(place);
    return;
  }
  put(place, section("skipped-title", "Not audited", table("Not audited, scrolls", ["query", "why"],
    told.skipped.map(({ name, reason }) => el("tr", {},
      el("th", { scope: "row" }, el("a", { href: address(name) }, name)), el("td", { class: "faint" }, reason))))));
}
