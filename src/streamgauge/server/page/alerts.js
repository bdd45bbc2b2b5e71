// Alerts: what is raised and by which answer, what is near, what waits to be delivered.

import { administers, get, path, repeat, send } from "./api.js";
import { around, figure } from "./bar.js";
import { alertForm } from "./alert_form.js";
import { announce, el, put, svg } from "./dom.js";
import { clock, number, spoken } from "./numbers.js";
import { problem } from "./problem.js";

const LOOK_SECONDS = 2;
// Groups of one alert that are drawn; the others are counted.
const GROUPS = 8;
const WIDTH = 200;
const HEIGHT = 18;

const STATES = {
  raised: { word: "raised", tone: "bad" },
  calm: { word: "calm", tone: "good" },
  waiting: { word: "waiting", tone: "faint" },
};

/** Show the alerts; gives back what ends it. */
export function show(place) {
  const trouble = el("div", {});
  const counts = el("dl", { class: "tiles alert-counts" });
  const body = el("tbody", {});
  const list = framed("Alerts", heads(), body, "alerts");
  const empty = el("p", { class: "sheet faint", hidden: true }, "No alert is set. ",
    "One tells you when an answer is certainly or possibly beyond a number, each crossing once.");
  const legend = el("p", { class: "faint alerts legend", hidden: true },
    sample("level"), "the level ", sample("clear"), "where a raised alert is cleared");
  const making = el("div", {});
  const deliveries = el("div", {});
  const rows = new Map();
  let over = false;
  let stop = () => {};

  put(place, el("h1", {}, "Alerts"), trouble, counts, list, legend, empty, making, deliveries);

  async function look() {
    const told = await get("/alerts?limit=1000");
    put(trouble, told.total && !told.watched ? asleep() : null);
    draw(counts, told);
    list.hidden = !told.alerts.length;
    legend.hidden = !told.alerts.some((alert) => alert.level !== null);
    empty.hidden = told.alerts.length > 0;
    fill(told.alerts);
    drawDeliveries(deliveries, told.targets);
  }

  function fill(alerts) {
    const shown = alerts.map((alert) => {
      const known = rows.get(alert.name) ?? row(alert.name, may, dropped);
      known.fill(alert);
      return [alert.name, known];
    });
    rows.clear();
    shown.forEach(([name, known]) => rows.set(name, known));
    const fresh = shown.map(([, known]) => known.node);
    if (fresh.length !== body.children.length || fresh.some((node, i) => body.children[i] !== node)) put(body, fresh);
  }

  let may = false;
  async function dropped(name) {
    try {
      await send("DELETE", path`/alerts/${name}`);
      announce(`Alert ${name} is dropped.`);
      await look();
    } catch (error) {
      put(trouble, problem(error));
    }
  }

  async function begin() {
    const about = await get("/about");
    may = administers(about.role);
    const kinds = may ? (await get("/targets")).kinds : {};
    if (over) return;
    if (may) put(making, alertForm(kinds, look));
    stop = repeat(LOOK_SECONDS, look, (error) => put(trouble, problem(error)));
  }

  begin().catch((error) => put(trouble, problem(error)));
  return () => {
    over = true;
    stop();
  };
}

function sample(kind) {
  return svg("svg", { class: "bar", width: 12, height: HEIGHT, "aria-hidden": "true" },
    svg("line", { class: kind, x1: 6, x2: 6, y1: 0, y2: HEIGHT }));
}

function heads() {
  const words = ["state", "alert", "answer and level", "delivered to", ""];
  return el("tr", {}, words.map((word) =>
    el("th", { scope: "col" }, word || el("span", { class: "unseen" }, "change"))));
}

function asleep() {
  return problem({
    title: "Nobody watches",
    detail: "No process judges the answers of this home, so nothing is raised or delivered.",
    hint: "streamgauge serve and streamgauge run watch while they run; what waits is then delivered.",
  });
}

function draw(place, told) {
  const tiles = [
    ["Raised now", number(told.raised), told.raised ? "bad" : ""],
    ["Alerts", number(told.total), ""],
    ["Deliveries waiting", number(told.waiting), told.waiting ? "warn" : ""],
    ["of those, failing", number(told.failing), told.failing ? "bad" : ""],
    ["Epoch judged", told.epoch === null ? "none" : number(told.epoch), ""],
  ];
  put(place, tiles.map(([name, value, tone]) => el("div", {}, el("dt", {}, name), el("dd", { class: tone || null }, value))));
}

/** A row that stays where it is; its cells are drawn anew when what they tell has changed. */
function row(name, may, drop) {
  const [state, about, answers, targets] = ["", "", "", "targets"].map((look) => el("td", { class: look || null }));
  const act = el("td", {}, may ? el("button", { "aria-label": `Drop alert ${name}`, onclick: () => sure(name, drop) }, "Drop") : null);
  const node = el("tr", { "data-alert": name }, state, about, answers, targets, act);
  let said = "";

  function fill(alert) {
    const text = JSON.stringify(alert);
    if (text === said) return;
    said = text;
    const word = alert.raised ? "raised" : alert.status === "waiting" ? "waiting" : "calm";
    node.dataset.state = word;
    put(state, label(word));
    put(about, el("strong", {}, alert.name), el("div", { class: "condition" }, subject(alert), ` ${alert.condition}`));
    put(answers, lines(alert));
    put(targets, alert.targets.map((target) => el("div", {}, target)));
  }

  return { node, fill };
}

function label(word) {
  const { word: shown, tone } = STATES[word];
  return el("span", { class: `state ${tone}`, "data-state": word }, shown);
}

function subject(alert) {
  if (alert.query === null) return el("a", { href: "#/audit" }, "audit");
  const group = alert.group.length ? `[${named(alert.group)}]` : "";
  return el("a", { href: `#/queries/${encodeURIComponent(alert.query)}` }, alert.query + group);
}

/** What raised the groups that are raised; else the newest answers that are nearest. */
function lines(alert) {
  const raised = alert.states.filter((crossing) => crossing.state === "raised");
  if (!raised.length && !alert.latest.length) return el("span", { class: "faint" }, alert.query === null ? "no alarm so far" : "no answer yet");
  const items = raised.length
    ? raised.map(({ group, answer, at, because }) => ({ group, answer, because, when: `since ${clock(at)}` }))
    : alert.latest.map((answer) => ({ group: answer.group, answer, when: `at ${clock(answer.as_of)}` }));
  const shown = items.slice(0, GROUPS);
  const scale = around([...shown.map((item) => item.answer).filter(Boolean), ...levels(alert)]);
  const more = alert.raised > GROUPS ? el("span", { class: "faint more" }, `and ${number(alert.raised - GROUPS)} more groups`) : null;
  return el("div", { class: "lines" }, shown.flatMap((item) => [
    item.answer ? marked(item.answer, alert, scale) : el("span", { class: "why" }, item.because ?? ""),
    el("span", { class: "faint" }, [item.group.length ? named(item.group) : "", item.when].filter(Boolean).join(", ")),
  ]), more);
}

/** The level, and where it clears, as points that a scale has to hold. */
function levels(alert) {
  return [alert.level, alert.clear].filter((level) => level !== null).map((value) => ({ value, low: value, high: value }));
}

/** An answer with the level marked on its bar. */
function marked(answer, alert, scale) {
  const drawn = figure(answer, scale);
  const bar = drawn.querySelector(".bar");
  bar.setAttribute("aria-label", `${spoken(answer)}, ${alert.condition}`);
  for (const [kind, level] of [["clear", alert.clear], ["level", alert.level]]) {
    if (level === null) continue;
    const x = (WIDTH * (level - scale.low)) / (scale.high - scale.low || 1);
    bar.append(svg("line", { class: kind, x1: x, x2: x, y1: -3, y2: HEIGHT + 3 },
      svg("title", {}, kind === "level" ? `level ${number(level)}` : `cleared at ${number(level)}`)));
  }
  return drawn;
}

const named = (group) => group.map(String).join(", ");

/** A table in a frame that scrolls. */
function framed(label, head, body, look) {
  return el("div", { class: "frame", tabindex: 0, role: "region", "aria-label": label },
    el("table", { class: look ?? null }, el("thead", {}, head), body));
}

function drawDeliveries(place, targets) {
  if (!targets.length) {
    put(place);
    return;
  }
  const told = JSON.stringify(targets);
  if (place.dataset.told === told && place.firstChild) return;
  place.dataset.told = told;
  const shown = targets.map((target) => el("tr", {},
    el("th", { scope: "row" }, target.target),
    el("td", { class: "figure" }, number(target.waiting)),
    el("td", { class: "figure" }, target.tries ? number(target.tries) : "–"),
    el("td", { class: target.reason ? "bad" : "good" }, target.reason ?? (target.waiting ? "on its way" : "all delivered")),
    el("td", {}, target.alerts.join(", ") || "–")));
  const words = [["target"], ["waiting", "figure"], ["tries", "figure"], ["last attempt"], ["alerts waiting"]];
  const head = el("tr", {}, words.map(([word, look]) => el("th", { scope: "col", class: look ?? null }, word)));
  put(place, el("h2", {}, "Deliveries"), framed("Deliveries by target", head, el("tbody", {}, shown)));
}

function sure(name, drop) {
  const dialog = el("dialog", { "aria-labelledby": "drop-title" },
    el("form", { method: "dialog" },
      el("h2", { id: "drop-title" }, `Drop alert ${name}?`),
      el("p", {}, "What waits to be delivered of it is given up. Its query stays."),
      el("div", { class: "choices" },
        el("button", { value: "keep" }, "Keep it"),
        el("button", { value: "drop", class: "first" }, "Drop it"))));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (dialog.returnValue === "drop") drop(name);
  });
  document.body.append(dialog);
  dialog.showModal();
}
