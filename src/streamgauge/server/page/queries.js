// The list of standing queries: the newest answer of each, inside its bar.

import { changing, follow, get, heard, path, repeat } from "./api.js";
import { around, figure, refigure, respark, shade, sparkline } from "./bar.js";
import { el, put } from "./dom.js";
import { virtualList } from "./list.js";
import { number, percent } from "./numbers.js";
import { problem } from "./problem.js";
import { Records, TRAIL } from "./records.js";
import { chip, reason, rechip, STATES } from "./state.js";

const HEIGHT = 46;
const POLL_SECONDS = 3;
const SETTLE = 200;
// Longest list of names in an address.
const LONGEST = 6000;
const COLUMNS = [
  { word: "Query", kind: "name" },
  { word: "Lately", kind: "trail", title: "The last answers inside their bars" },
  { word: "Answer", kind: "answers", title: "The newest answer, and its bar split by who widened it" },
  { word: "Contract", kind: "contract" },
  { word: "State", kind: "condition" },
  { word: "Evaluations saved", kind: "share", title: "Share of checks that needed no evaluation" },
  { word: "Messages suppressed", kind: "share", title: "Share of readings that stayed at their source" },
];
const ORDERS = { name: "by name", widest: "widest bar first", newest: "newest change first" };
const AUDITED = { now: "being audited", held: "audited, held" };

export function show(place) {
  const records = new Records();
  const board = changing();
  const wanted = { search: "", state: null, order: "name" };
  const list = virtualList({
    label: "Standing queries", columns: COLUMNS, height: HEIGHT, make: blankRow,
    fill: (cells, name, fresh) => fillRow(cells, records.of(name), records, fresh),
    open: (name) => { location.hash = address(name); },
    moved: settled,
  });
  const parts = toolbar(wanted, { filter, reorder });
  const trouble = el("div");
  const empty = el("div", { class: "sheet empty", hidden: true });
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Colours of charges in view" });
  put(place, el("div", { class: "queries" }, ...parts.nodes, trouble, empty, list.node, legend));
  const fitter = new ResizeObserver(fit);
  for (const above of [parts.nodes[0], document.getElementById("story")]) fitter.observe(above);
  window.addEventListener("resize", fit);
  const live = feed(records, (name) => { list.touch(name); later(); });
  let poll = repeat(POLL_SECONDS, look, failed);
  let pending = null;

  async function look() {
    const found = await board(`/board?order=${wanted.order}`);
    if (found !== null) {
      records.take(found);
      put(trouble);
      list.touchAll();
      filter();
    }
    live.mend(list.inView());
  }

  function failed(error) {
    put(trouble, problem(error));
  }

  function filter() {
    const part = wanted.search.toLowerCase();
    const names = records.names.filter((name) =>
      (wanted.state === null || records.of(name).state === wanted.state)
      && (!part || name.toLowerCase().includes(part)));
    list.show(names);
    list.node.hidden = !names.length;
    empty.hidden = names.length > 0;
    if (!names.length) put(empty, ...nothing(records.names.length > 0));
    parts.count(names.length, records.names.length, records.counts());
    explain();
  }

  function reorder() {
    poll();
    poll = repeat(POLL_SECONDS, look, failed);
  }

  function settled(names) {
    live.attend(names);
    later();
  }

  function later() {
    pending ??= setTimeout(() => {
      pending = null;
      parts.count(null, records.names.length, records.counts());
      explain();
    }, SETTLE);
  }

  function explain() {
    keys(legend, list.inView().map((name) => records.of(name)?.answer).filter(Boolean));
  }

  function fit() {
    const top = Math.round(list.node.getBoundingClientRect().top + window.scrollY);
    if (top > 0) list.node.style.maxHeight = `max(20rem, calc(100dvh - ${top}px - 3.6rem))`;
  }

  return () => {
    poll();
    live.close();
    list.close();
    fitter.disconnect();
    clearTimeout(pending);
    window.removeEventListener("resize", fit);
  };
}

function address(name) {
  return `#${path`/queries/${name}`}`;
}

/** What stands above the list: title, states with their counts, search and order. */
function toolbar(wanted, on) {
  const counted = new Map();
  const told = el("span", { class: "faint", role: "status" });
  const buttons = [null, ...Object.keys(STATES)].map((state) => {
    const count = el("span", { class: "count" });
    counted.set(state, count);
    return el(
      "button",
      { type: "button", "aria-pressed": state === null, class: "filter", onclick: () => choose(state) },
      el("span", { class: STATES[state]?.tone ?? "" }, STATES[state]?.word ?? "all"), " ", count,
    );
  });
  const search = el("input", {
    type: "search", placeholder: "Part of a name", "aria-label": "Part of a name", class: "search",
    oninput: () => { wanted.search = search.value.trim(); on.filter(); },
  });
  const order = el(
    "select",
    { "aria-label": "Order", onchange: () => { wanted.order = order.value; on.reorder(); } },
    ...Object.entries(ORDERS).map(([value, word]) => el("option", { value }, word)),
  );

  function choose(state) {
    wanted.state = state;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", [null, ...Object.keys(STATES)][i] === state));
    on.filter();
  }

  function count(fit, all, counts) {
    for (const [state, node] of counted) node.textContent = number(state === null ? all : (counts[state] ?? 0));
    if (fit !== null) told.textContent = fit === all ? "" : `${number(fit)} of ${number(all)}`;
  }

  const head = el(
    "div",
    { class: "headline" },
    el("h1", {}, "Standing queries"), told,
    el("a", { class: "button first for-authors", href: "#/editor" }, "New query"),
  );
  const states = el("div", { class: "filters", role: "group", "aria-label": "State" }, ...buttons);
  return { nodes: [head, el("div", { class: "tools" }, states, search, order)], count };
}

function nothing(some) {
  if (some) return [el("p", {}, "No query fits. Choose another state or a shorter part of a name.")];
  return [
    el("h2", {}, "Nothing is asked yet"),
    el("p", {}, "A standing query is answered again and again while rows come, each time with a bar that says how far off it may be."),
    el("p", {}, el("a", { class: "button first", href: "#/editor" }, "Ask a first question")),
  ];
}

function blankRow() {
  const cell = (kind, ...inside) => el("div", { role: "gridcell", class: kind }, ...inside);
  return {
    name: cell("name", el("a", { tabindex: -1 }), el("span", { class: "sub faint" })),
    trail: cell("trail", sparkline([])),
    answers: cell("answers"),
    contract: cell("contract"),
    condition: cell("condition", chip("waiting"), el("span", { class: "sub faint" })),
    saved: cell("share"),
    suppressed: cell("share"),
  };
}

function fillRow(cells, record, records, fresh) {
  const [link, sub] = cells.name.children;
  if (fresh) {
    link.textContent = record.name;
    link.title = record.name;
    link.href = address(record.name);
  }
  write(sub, beneath(record));
  respark(cells.trail.firstChild, record.trail ?? []);
  drawAnswer(cells.answers, record, fresh, records.epoch < 0 ? "reading" : "no answer yet");
  write(cells.contract, record.contract);
  const [state, why] = cells.condition.children;
  rechip(state, record.state);
  write(why, because(record, records));
  why.title = why.textContent;
  why.className = record.audit === "alarm" ? "sub bad" : "sub faint";
  write(cells.saved, record.saved === null || record.answer === null ? "" : share(record.saved));
  write(cells.suppressed, record.suppressed === null ? "" : share(record.suppressed));
}

function drawAnswer(cell, record, fresh, without) {
  if (record.answer === null) {
    if (fresh || cell.textContent !== without) put(cell, el("em", { class: "faint" }, without));
    return;
  }
  const scale = around([...(record.trail ?? []), record.answer]);
  const drawn = cell.querySelector(".answer");
  if (fresh || drawn === null) put(cell, figure(record.answer, scale));
  else refigure(drawn, record.answer, scale);
}

/** What is said below a name: where it comes from, and which group is shown. */
function beneath(record) {
  const from = record.streams.join(", ");
  if (record.kind === "rows") return `rows of ${from}`;
  const group = record.answer?.group ?? [];
  if (!group.length) return from;
  const which = record.groups > 1 ? `, worst of ${number(record.groups)}` : "";
  return `${from} \u00b7 ${group.map((part) => part ?? "none").join(", ")}${which}`;
}

function because(record, records) {
  if (record.state === "waiting") return record.answer === null ? "" : "change not in force yet";
  if (record.state === "suspended") return "failed: open it to see why";
  if (record.audit === "alarm") return "the auditor raised an alarm";
  if (record.state === "met" || record.state === "paused") return AUDITED[record.audit] ?? "";
  if (record.kind === "rows") return record.answer?.share < 1 ? `looked at ${percent(record.answer.share)}` : "late rows are missing";
  return reason(record.answer, records.unheard(record));
}

function share(part) {
  return `${(100 * part).toFixed(1)} %`;
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The colours of charges that are in view. */
function keys(place, answers) {
  const charged = new Set(answers.flatMap((answer) => answer.charges.map((charge) => charge.by)));
  const names = [...charged].sort();
  const text = names.join("\n");
  if (place.dataset.names === text) return;
  place.dataset.names = text;
  put(place, ...(names.length ? ["Bars are widened by"] : []), ...names.map((by) =>
    el("span", { class: "key" }, el("span", { class: `swatch ${shade(by)}` }), by)));
}

/** Follows the queries in view: their last answers first, then each as it is given. */
function feed(records, changed) {
  let stop = null;
  let followed = "";
  let timer = null;
  let halt = new AbortController();

  function attend(names) {
    clearTimeout(timer);
    timer = setTimeout(() => begin(names), SETTLE);
  }

  async function begin(names) {
    halt.abort();
    halt = new AbortController();
    try {
      for (const some of chunks(names.filter((name) => records.lacks(name)))) {
        const asked = some.map((name) => `query=${encodeURIComponent(name)}`).join("&");
        const found = await get(`/board/trails?limit=${TRAIL}&${asked}`, { signal: halt.signal });
        records.seed(found);
        some.forEach(changed);
      }
    } catch (error) {
      if (error.status === undefined && error.name !== "AbortError") throw error;
      return;
    }
    tune(names);
  }

  function tune(names) {
    // Names with a comma, and more than fit into an address, go by the board alone.
    const [some = []] = chunks(names.filter((name) => !name.includes(",")));
    const key = some.slice().sort().join(",");
    if (key === followed) return;
    stop?.();
    stop = null;
    followed = key;
    if (!some.length) return;
    const places = some.map((name) => records.of(name)?.upto || records.epoch).filter((epoch) => epoch >= 0);
    // Where no answer was read yet, it begins with what comes now.
    const since = places.length ? Math.min(...places) : null;
    stop = follow(`/live?queries=${some.map(encodeURIComponent).join(",")}`, { event, state }, since);
  }

  function event(kind, data) {
    const name = kind === "answer" ? records.hear(data) : null;
    if (name !== null) changed(name);
  }

  function state(connected, error) {
    if (error === undefined) heard(connected);
    // A query that is gone ends the feed; the next board says which ones are left.
    else followed = "";
  }

  return {
    attend,
    /** Follow again what is in view, should that have ended. */
    mend(names) {
      if (followed === "" && names.length) attend(names);
    },
    close() {
      clearTimeout(timer);
      halt.abort();
      stop?.();
    },
  };
}

/** Names in parts that fit into an address. */
function chunks(names) {
  const found = [];
  let size = Infinity;
  for (const name of names) {
    const length = encodeURIComponent(name).length + 7;
    if (size + length > LONGEST || found.at(-1).length >= 200) {
      found.push([]);
      size = 0;
    }
    found.at(-1).push(name);
    size += length;
  }
  return found;
}
