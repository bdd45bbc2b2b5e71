// The page of one query: its newest answer, its course, who widened its bar, its plan.

import { follow, get, heard, path, repeat } from "./api.js";
import { around, figure, refigure, shade } from "./bar.js";
import { chart } from "./chart.js";
import { el, put } from "./dom.js";
import { header, plans } from "./heading.js";
import { clock, number, percent, spoken } from "./numbers.js";
import { MOST_SHOWN, answerTable, auditPanel, brief, deferralPanel, groupName, section, swatch } from "./panels.js";
import { problem } from "./problem.js";
import { ofRows } from "./rows.js";
import { chip, reason, stateOf } from "./state.js";

const SPANS = [60, 300, 600];
const KEPT = 600;
const KEPT_EXACT = 2400;
const MOST_FETCHED = 6000;
// How soon a query that is not there is looked for again.
const AGAIN_MILLISECONDS = 1000;
const LOOK_SECONDS = 3;
const SLOW_SECONDS = 5;
// Drawing more often than the eye follows takes time from everything else.
const DRAW_MILLISECONDS = 200;
const NEWEST = 12;

/** Show a query; gives back what ends it. */
export async function show(place, name) {
  const [about, query] = await Promise.all([get("/about"), asked(place, name)]);
  if (query === null) return null;
  const head = header(name, about, query);
  const plan = plans(name);
  const body = query.answers === "rows" ? ofRows(name, head) : ofNumbers(name, head, query);
  put(place, head.node, body.node, plan.node, body.rest);
  head.update(query);
  const stop = repeat(LOOK_SECONDS, async () => {
    const found = await get(path`/queries/${name}`);
    head.update(found);
    body.update?.(found);
    await plan.update(found);
  }, gone);

  function gone(error) {
    head.tell(error);
    // Dropped by somebody: asking again says the same.
    if (error.status === 404) stop();
  }

  return () => {
    stop();
    body.stop();
  };
}

/** A query; one that is not there yet is waited for, until the page is left: then null. */
async function asked(place, name) {
  for (let told = false; ; told = true) {
    try {
      return await get(path`/queries/${name}`);
    } catch (error) {
      if (error.status !== 404) throw error;
      if (!told) put(place, problem({ ...error, hint: `${error.hint}; should it be asked, it is shown here` }));
    }
    await new Promise((done) => setTimeout(done, AGAIN_MILLISECONDS));
    if (!place.isConnected) return null;
  }
}

/** Answers by group and time. */
class Course {
  constructor(most) {
    this.most = most;
    this.groups = new Map();
    this.left = new Map();
  }

  take(answer) {
    const key = JSON.stringify(answer.group);
    // A group whose window has emptied has left the newest answers.
    if (answer.basis === "empty" && answer.group.length) {
      this.groups.delete(key);
      if (!(this.left.get(key) > answer.as_of)) this.left.set(key, answer.as_of);
      return;
    }
    if (this.left.get(key) >= answer.as_of) return;
    if (!this.groups.has(key)) this.groups.set(key, []);
    const kept = this.groups.get(key);
    // A revision takes the place of what was said of its instant.
    const at = kept.findLastIndex((other) => other.as_of <= answer.as_of);
    if (at >= 0 && kept[at].as_of === answer.as_of) kept[at] = answer;
    else kept.splice(at + 1, 0, answer);
    if (kept.length > this.most) kept.shift();
  }

  of(key) {
    return this.groups.get(key) ?? [];
  }

  get keys() {
    return [...this.groups.keys()].sort();
  }

  newest() {
    return this.keys.map((key) => ({ key, name: groupName(JSON.parse(key)), answer: this.of(key).at(-1) }));
  }
}

/** How far off an answer may be, in its own units; null where the contract has another unit. */
function owedBy(query) {
  const { tolerance, within } = query.contract;
  return (answer) => {
    if (answer.version !== query.version || answer.value === null) return null;
    if (tolerance === "absolute") return within;
    return tolerance === "relative" ? within * Math.abs(answer.value) : null;
  };
}

/** The body of a query of numbers. */
function ofNumbers(name, head, first) {
  const course = new Course(KEPT);
  const exact = new Course(KEPT_EXACT);
  const aside = el("p", { class: "unseen", "aria-live": "polite" });
  const readout = el("div", { class: "readout" });
  const legend = el("ul", { class: "keys", "aria-label": "Legend" });
  const choice = el("select", { onchange: () => pickGroup(choice.value) });
  const span = el("select", { onchange: draw }, SPANS.map((count) => el("option", { value: count, selected: count === 300 }, `${count} answers`)));
  const cells = deferralPanel();
  const deadlines = section("deadlines-title", "Deadlines", cells.node);
  deadlines.hidden = true;
  const grouped = el("label", { hidden: true }, "Group ", choice);
  const picture = chart(`Value and bar of ${name}`, told);
  const answers = answerTable("Newest answers", { named: "group", choose: (key) => pickGroup(key) });
  const log = answerTable("Newest answers", { named: "epoch" });
  const list = section("answers-title", "Newest answers", el("p", {}), log.node);
  const node = section("course-title", "Course",
    el("div", { class: "tools" }, legend, grouped, el("label", {}, "Show ", span)),
    el("div", { class: "sheet" }, picture.node, readout, aside));
  const audit = auditPanel();
  const rest = el("div", {}, section("audit-title", "Audit", audit.node), deadlines, list);
  const group = el("span", { class: "faint" });
  let query = first;
  let chosen = null;
  let total = first.groups;
  let timer = 0;
  let picked = null;
  let reached = null;
  let silent = [];
  let shadowed = null;
  let stopShadow = null;
  let drawn = null;
  let halted = false;
  let reading = true;

  function later() {
    if (!timer && !halted) timer = setTimeout(draw, DRAW_MILLISECONDS);
  }

  function pickGroup(key) {
    chosen = key;
    picked = null;
    draw();
  }

  function told(pick, byKey) {
    picked = pick;
    if (byKey) aside.textContent = pick ? `${clock(pick.answer.as_of)}: ${spoken(pick.answer)}${compared(pick)}` : "";
    read();
  }

  function read() {
    const newest = course.of(chosen).at(-1);
    const pick = picked ?? (newest && { answer: newest, shadow: shadowed && (truthful(exact.of(chosen)).at(-1) ?? null) });
    if (!pick) return put(readout);
    const scale = around([pick.answer, ...(pick.shadow ? [pick.shadow] : [])]);
    return put(readout, ...worded(pick, scale, picked !== null));
  }

  function draw() {
    clearTimeout(timer);
    timer = 0;
    const items = course.newest();
    if (!items.length) return;
    if (!items.some((item) => item.key === chosen)) chosen = items[0].key;
    const many = items.length > 1 || items[0].key !== "[]";
    menu(many, items);
    const shown = course.of(chosen).slice(-Number(span.value));
    picture.draw({ answers: shown, shadow: truthful(exact.of(chosen)), owed: owedBy(query), reached, audited: shadowed !== null });
    drawLegend(shown);
    group.textContent = many ? groupName(JSON.parse(chosen)) : "";
    // On the scale of the last ones, a bar that grows or narrows is seen to.
    const scale = around(shown.slice(-NEWEST));
    if (drawn) refigure(drawn, shown.at(-1), scale);
    else put(head.newest, group, (drawn = figure(shown.at(-1), scale)));
    head.judge(overall(items.map((item) => item.answer), silent));
    read();
    newestTable(many, items);
  }

  function menu(many, items) {
    grouped.hidden = !many;
    if (choice.children.length !== items.length) {
      put(choice, items.map(({ key, name: word }) => el("option", { value: key }, word)));
    }
    choice.value = chosen;
  }

  function newestTable(many, items) {
    const used = many ? answers : log;
    if (list.lastChild !== used.node) list.replaceChild(used.node, list.lastChild);
    const recent = course.of(chosen).slice(-NEWEST).reverse();
    used.draw(many ? items : recent.map((answer) => ({ key: `${answer.epoch} ${answer.as_of}`, name: String(answer.epoch), answer })));
    total = Math.max(total, items.length);
    const most = Math.min(items.length, MOST_SHOWN);
    put(list.children[1], reading ? "Earlier answers are being read."
      : !many ? (recent.length > 1 ? `The last ${recent.length}, newest first.` : "One answer so far.")
      : total > most ? `The first ${most} of ${number(total)} groups.` : `${number(total)} groups.`);
  }

  function drawLegend(shown) {
    const charged = [...new Set(shown.flatMap((answer) => answer.charges.map((charge) => charge.by)))];
    const item = (look, word) => el("li", {}, swatch(look), word);
    put(legend, item("key-line", "value"), item("key-band", "bar"),
      shown.some((answer) => owedBy(query)(answer)) ? item("key-owed", "contract") : null,
      exact.of(chosen).length ? item("key-shadow", "exact shadow") : null,
      shown.some((answer) => answer.basis === "interrupted") ? item("key-interrupted", "interrupted") : null,
      shown.some((answer) => !answer.contract_met) ? item("key-broken", "contract not met") : null,
      charged.map((by) => item(shade(by), by)));
  }

  async function lookForShadow() {
    const found = (await get(path`/queries/${name}/shadow`)).name;
    if (found === shadowed) return;
    stopShadow?.();
    shadowed = found;
    stopShadow = found === null ? null : await followed(found, KEPT_EXACT, exact, later);
    if (halted) stopShadow?.();
  }

  const stopSlow = repeat(SLOW_SECONDS, async () => {
    const streams = await Promise.all(query.streams.map((stream) => get(path`/streams/${stream}`)));
    reached = newestInstant(streams);
    silent = streams.flatMap((stream) => stream.interruption.agents);
    audit.draw(await get(path`/queries/${name}/audit`));
    later();
    lookForShadow().catch(() => {
      // It may go while it is read; the next look finds out.
      shadowed = null;
    });
    const found = await get(path`/queries/${name}/deferrals`);
    deadlines.hidden = !found.rows.length;
    if (found.rows.length) cells.draw(found);
  }, (error) => error.status === 404 && stopSlow());
  // What was listed with the query is shown at once; older answers take a while to be found.
  for (const answer of first.latest) course.take(answer);
  later();
  const begun = followed(name, Math.min(KEPT * Math.max(first.groups, 1), MOST_FETCHED), course, later, true);
  begun.then(() => {
    reading = false;
    later();
  }, head.tell);

  return {
    node,
    rest,
    update(found) {
      query = found;
      total = found.groups;
    },
    stop() {
      halted = true;
      stopSlow();
      stopShadow?.();
      picture.close();
      clearTimeout(timer);
      begun.then((stop) => stop(), () => null);
    },
  };
}

/**
 * Take in what was answered and follow what comes; gives back what ends it. The last few answers are
 * asked for first: they are found at once, older ones take a while.
 */
async function followed(name, limit, course, changed, aloud = false) {
  const last = (count) => get(path`/queries/${name}/answers` + `?newest=true&limit=${count}`);
  const few = Math.min(limit, SPANS[0]);
  const [past, newest] = await Promise.all([last(few), get(path`/queries/${name}/answers/latest` + `?limit=${MOST_SHOWN}`)]);
  const take = (answers) => {
    for (const answer of answers) course.take(answer);
    changed();
  };
  take([...past.answers, ...newest.answers]);
  if (past.answers.length === few && limit > few) last(limit).then((older) => take(older.answers), () => null);
  return follow(path`/queries/${name}/live`, {
    event(kind, data) {
      if (kind === "answer") take([data]);
    },
    state: aloud ? (connected) => heard(connected) : undefined,
  }, past.epoch);
}

/** The state of all groups together; `silent` are agents that are not heard. */
function overall(answers, silent) {
  const states = answers.map(stateOf);
  const worst = ["broken", "degraded"].find((state) => states.includes(state));
  if (!worst) return { state: "met", why: "" };
  const why = reason(answers[states.indexOf(worst)], silent);
  const count = states.filter((state) => state === worst).length;
  return { state: worst, why: answers.length > 1 ? `${number(count)} of ${number(answers.length)} groups, ${why}` : why };
}

/** How far the streams have come in event time, in milliseconds; an answer holds until then. */
function newestInstant(streams) {
  const times = streams.filter((stream) => stream.reached !== null).map((stream) => Date.parse(stream.reached));
  return times.length ? Math.max(...times) : null;
}

function worded({ answer, shadow }, scale, past) {
  const paid = answer.charges.map((charge) => `${charge.by} ${charge.width === null ? "without bound" : brief(charge.width)}`);
  const named = answer.charges.some((charge) => charge.by === answer.basis);
  return [
    el("span", { class: "mono" }, `${past ? "" : "newest, "}${clock(answer.as_of)}`),
    figure(answer, scale),
    chip(stateOf(answer)),
    el("span", { class: "faint" }, [
      named ? "" : answer.basis, ...paid,
      answer.coverage < 1 ? `covers ${percent(Math.min(answer.coverage, 0.999))}` : "",
      answer.share < 1 ? `looked at ${percent(answer.share)}` : "",
    ].filter(Boolean).join(" · ")),
    shadow && shadow.value !== null ? el("span", { class: "truth" }, "exact shadow ", figure(shadow, scale), verdict(answer, shadow)) : null,
  ];
}

/** Answers of a shadow; while it is interrupted itself it has nothing to say. */
function truthful(answers) {
  return answers.map((answer) => (answer.basis === "exact" ? answer : { ...answer, value: null }));
}

function inside(answer, shadow) {
  if (answer.value === null || shadow.value === null) return null;
  return (answer.low === null || answer.low <= shadow.value) && (answer.high === null || shadow.value <= answer.high);
}

function verdict(answer, shadow) {
  const held = inside(answer, shadow);
  return held === null ? null : el("span", { class: `state ${held ? "good" : "bad"}` }, held ? "inside" : "outside");
}

function compared({ answer, shadow }) {
  const held = shadow ? inside(answer, shadow) : null;
  return held === null ? "" : `; the exact value ${number(shadow.value)} is ${held ? "inside" : "outside"}`;
}
