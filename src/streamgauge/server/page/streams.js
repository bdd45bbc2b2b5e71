// The page of streams: what comes by each, how late it is, who is silent, what could not be used.

import { administers, get, path, repeat, send } from "./api.js";
import { announce, el, put } from "./dom.js";
import { number, percent, seconds } from "./numbers.js";
import { plainTable } from "./outcomes.js";
import { problem } from "./problem.js";

const PERIOD = 2;
// Rates are taken over so many looks, so that rows that come in gusts do not make them flicker.
const LOOKS = 5;
const NEWEST = 50;
const MICROSECONDS = 1e6;
const TITLES = [
  ["Stream"], ["State"], ["Rows", "figure"], ["Rows/s", "figure"], ["Event time reached"],
  ["Behind", "figure", "How far the rows that came last lay behind those before them"], ["Late rows", "figure"],
  ["Gap", "figure", "A series silent for longer is interrupted"], ["Agents"], ["Dead letters", "figure", "Rows that could not be used"],
  ["Queries", "figure", "Queries that read it"],
];

export async function show(place) {
  const about = await get("/about");
  const board = new Board(place, administers(about.role));
  return repeat(PERIOD, () => board.look());
}

class Board {
  constructor(place, admin) {
    this.admin = admin;
    this.lines = new Map();
    this.body = el("tbody");
    this.empty = el("p", { class: "faint", hidden: true }, "There are no streams yet. ", el("a", { href: "#/editor" }, "Declare one in the editor"), ".");
    this.told = el("div", { class: "streams-told", "aria-live": "polite" });
    const head = TITLES.map(([word, kind, title]) => el("th", { scope: "col", class: kind, title }, word));
    this.table = el("table", { class: "streams" },
      el("caption", { class: "unseen" }, "Streams with their figures, renewed every few seconds"),
      el("thead", {}, el("tr", {}, head)), this.body);
    this.frame = el("div", { class: "streams-frame", role: "region", "aria-label": "Streams", tabindex: 0 }, this.table);
    put(place, el("h1", {}, "Streams"), this.told, this.empty, this.frame);
  }

  async look() {
    const { streams } = await get("/streams");
    const at = performance.now() / 1000;
    this.empty.hidden = streams.length > 0;
    this.frame.hidden = streams.length === 0;
    const names = new Set(streams.map((stream) => stream.name));
    for (const [name, line] of this.lines) {
      if (names.has(name)) continue;
      line.remove();
      this.lines.delete(name);
    }
    streams.forEach((stream, i) => {
      let line = this.lines.get(stream.name);
      if (!line) this.lines.set(stream.name, (line = new Line(stream.name, this)));
      line.tell(stream, at);
      if (this.body.children[2 * i] !== line.row) this.body.insertBefore(line.row, this.body.children[2 * i] ?? null);
      if (line.row.nextSibling !== line.more) line.row.after(line.more);
    });
  }

  /** Drop a stream once it is confirmed; what keeps it is told. */
  drop(name) {
    const dialog = el("dialog", { "aria-labelledby": "drop-title" },
      el("form", { method: "dialog" },
        el("h2", { id: "drop-title" }, `Drop ${name}?`),
        el("p", {}, "Its rows are forgotten. A stream that a query reads stays."),
        el("div", { class: "acts" },
          el("button", { value: "no" }, "Keep it"),
          el("button", { class: "grave", value: "yes" }, "Drop it"))));
    dialog.addEventListener("close", async () => {
      dialog.remove();
      if (dialog.returnValue !== "yes") return;
      try {
        await send("DELETE", path`/streams/${name}`);
        put(this.told);
        announce(`dropped ${name}`);
        await this.look();
      } catch (error) {
        put(this.told, problem(error));
      }
    });
    document.body.append(dialog);
    dialog.showModal();
  }
}

/** One stream: a row of figures, and a row below it that opens. */
class Line {
  constructor(name, board) {
    this.name = name;
    this.seen = [];
    this.open = false;
    this.dead = null;
    const id = `stream-${Array.from(name, (letter) => letter.codePointAt(0).toString(16)).join("-")}`;
    this.toggle = el("button", { type: "button", class: "name", "aria-expanded": "false", "aria-controls": id, onclick: () => this.turn(!this.open) },
      el("span", { class: "arrow", "aria-hidden": "true" }, "▸"), name);
    this.kind = el("span", { class: "faint kind" });
    this.cells = TITLES.slice(1).map(([, kind]) => el("td", { class: kind }));
    this.letters = el("button", { type: "button", class: "link warn", onclick: () => this.showLetters() });
    this.row = el("tr", {}, el("th", { scope: "row" }, this.toggle, this.kind), this.cells);
    this.about = el("div", { class: "about" });
    this.buried = el("div", { class: "buried", "aria-live": "polite" });
    const drop = board.admin ? el("button", { type: "button", class: "grave", onclick: () => board.drop(name) }, "Drop") : null;
    const ask = el("a", { class: "button", href: "#/editor" }, "Ask about it");
    this.more = el("tr", { id, hidden: true, class: "more" },
      el("td", { colspan: TITLES.length }, this.about, this.buried, el("div", { class: "acts" }, ask, drop)));
  }

  remove() {
    this.row.remove();
    this.more.remove();
  }

  turn(open) {
    this.open = open;
    this.more.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (open) this.describe();
  }

  rate(rows, at) {
    this.seen.push({ rows, at });
    if (this.seen.length > LOOKS) this.seen.shift();
    const [first] = this.seen;
    return at > first.at ? (rows - first.rows) / (at - first.at) : null;
  }

  tell(stream, at) {
    this.stream = stream;
    const { declaration, interruption, agents } = stream;
    const rate = this.rate(stream.rows, at);
    put(this.kind, declaration.source.kind);
    const letters = number(stream.dead_letters);
    if (this.letters.textContent !== letters) put(this.letters, letters);
    this.letters.setAttribute("aria-label", `${letters} dead letters of ${this.name}: show the newest`);
    const shown = [
      state(stream), number(stream.rows), rate === null ? "…" : number(Number(rate.toPrecision(3))),
      stream.reached === null ? el("span", { class: "faint" }, "nothing yet") : when(stream.reached),
      stream.lateness ? seconds(stream.lateness) : "0 s", lateRows(stream), interruption.expected_gap ?? el("span", { class: "faint" }, "any"),
      agents.heard + agents.interrupted ? heard(agents) : el("span", { class: "faint" }, "none"),
      stream.dead_letters ? this.letters : "0", number(stream.readers),
    ];
    this.cells.forEach((cell, i) => {
      const [only] = cell.childNodes;
      if (only === shown[i]) return;
      const text = shown[i] instanceof Node ? shown[i].textContent : shown[i];
      if (cell.textContent !== text || (shown[i] instanceof Node && only?.className !== shown[i].className)) put(cell, shown[i]);
    });
    if (this.open) this.describe();
  }

  describe() {
    const told = JSON.stringify([this.stream.declaration, this.stream.interruption, this.stream.agents, this.stream.feed]);
    if (this.described === told) return;
    this.described = told;
    put(this.about, away(this.stream), silence(this.stream), declared(this.stream));
  }

  async showLetters() {
    this.turn(true);
    try {
      const { rows, total } = await get(`${path`/streams/${this.name}/dead-letters`}?limit=${NEWEST}`);
      const said = total > rows.length ? `The newest ${number(rows.length)} of ${number(total)} rows that could not be used` : `${number(total)} rows that could not be used, newest first`;
      put(this.buried, el("h2", {}, "Dead letters"), el("p", { class: "faint" }, said), rows.length ? plainTable(ordered(rows), rows, `Dead letters of ${this.name}`) : null);
    } catch (error) {
      put(this.buried, problem(error));
    }
  }
}

/** The reason first: it is what one looks for. */
function ordered(rows) {
  const names = Object.keys(rows[0]);
  const first = ["reason", "origin"].filter((name) => names.includes(name));
  return [...first, ...names.filter((name) => !first.includes(name))];
}

function state(stream) {
  if (!stream.in_force) return el("span", { class: "state faint" }, "waiting");
  if (stream.feed && stream.feed.reason) return el("span", { class: "state warn" }, stream.feed.state === "failed" ? "not read" : "source away");
  if (stream.interruption.interrupted) return el("span", { class: "state warn" }, "interrupted");
  if (stream.idle_since) return el("span", { class: "state faint", title: `no rows since ${stream.idle_since}; other streams do not wait for it` }, "idle");
  if (stream.reached === null) return el("span", { class: "state faint" }, "no rows yet");
  return el("span", { class: "state good" }, "heard");
}

function when(instant) {
  const [day, rest] = instant.replace("Z", "").split("T");
  return el("span", { class: "mono when" }, el("span", { class: "faint" }, `${day} `), rest);
}

function lateRows({ late, rows }) {
  if (!late) return "0";
  return `${number(late)} (${percent(late / Math.max(rows, 1))})`;
}

function heard({ heard: present, interrupted }) {
  if (!interrupted) return el("span", {}, `${present} heard`);
  return el("span", { class: "warn" }, `${interrupted} of ${present + interrupted} silent`);
}

/** What keeps the job from the source of a stream, and since when. */
function away({ feed }) {
  if (!feed || !feed.reason) return null;
  const title = feed.state === "failed" ? "Not read" : "Source away, tried again";
  return el("div", { class: "silence" }, el("strong", { class: "warn" }, title),
    el("ul", {}, el("li", {}, `since ${feed.since.replace("T", " ").replace("Z", "")}: ${feed.reason}`)));
}

/** Who is silent, since when, and which answers rest on it. */
function silence({ interruption }) {
  if (!interruption.interrupted) return null;
  const agents = interruption.agents.map((agent, i) =>
    el("li", {}, `agent ${agent}`, interruption.heard[i] ? `, last heard ${interruption.heard[i].replace("T", " ").slice(0, 19)}` : ", never heard"),
  );
  const series = interruption.series.length ? el("li", {}, `series ${interruption.series.join(", ")}`) : null;
  const links = interruption.queries.flatMap((name, i) => [i ? ", " : "", el("a", { href: `#/queries/${encodeURIComponent(name)}` }, name)]);
  const answers = interruption.answers
    ? el("li", {}, `${number(interruption.answers)} ${interruption.answers === 1 ? "answer rests" : "answers rest"} on silent series since ${interruption.since.replace("T", " ").replace("Z", "")}: `, links)
    : null;
  return el("div", { class: "silence" }, el("strong", { class: "warn" }, "Silent"), el("ul", {}, agents, series, answers));
}

function declared({ declaration, agents }) {
  const { schema, key, time, width, late, widened = [] } = declaration;
  const columns = Object.entries(schema).map(([name, kind]) => {
    const role = name === time ? "event time" : key.includes(name) ? "key" : name === width ? "width" : widened.includes(name) ? "widened from int" : "";
    return el("li", {}, el("span", { class: "mono" }, name), ` ${kind}`, role ? el("span", { class: "role" }, role) : null);
  });
  const span = (width_) => seconds(width_ / MICROSECONDS);
  const policy = { drop: "dropped", allow: `waited for ${span(late.allowed)}`, revise: `revise answers up to ${span(late.reach)} back` };
  const { kind, ...options } = declaration.source;
  const told = {
    source: [kind, ...Object.entries(options).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)].join(", "),
    tick: span(declaration.tick),
    "late rows": policy[late.policy],
    "a series is silent after": declaration.expected_gap === null ? "never" : span(declaration.expected_gap),
    "history kept": span(declaration.keep),
    "rows ahead of the clock": declaration.future === null ? "any" : `up to ${span(declaration.future)}`,
    ...(declaration.capacity ? { capacity: `${number(declaration.capacity)} reads a tick` } : {}),
    ...(agents.readings ? { "readings that agents kept back": percent(1 - agents.updates / agents.readings) } : {}),
    ...(declaration.changes ? { "what a row does": declaration.changes } : {}),
  };
  return el("div", { class: "declared" },
    el("ul", { class: "columns", "aria-label": "Columns" }, columns),
    el("dl", { class: "facts" }, Object.entries(told).map(([name, said]) => el("div", {}, el("dt", {}, name), el("dd", {}, said)))));
}
