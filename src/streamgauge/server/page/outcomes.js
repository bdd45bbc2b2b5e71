// What statements came to: what was done with links to it, tables, plans.

import { get, path } from "./api.js";
import { figure } from "./bar.js";
import { el } from "./dom.js";
import { bytes, number } from "./numbers.js";

const OF_QUERIES = ["registered", "altered", "unchanged query", "paused", "resumed"];
const MOST_NAMES = 20;
// Queries whose answers are fetched whole, so that a table of answers has its bars.
const MOST_ASKED = 20;
const OF_ANSWERS = ["query", "group", "value", "low", "high"];

/** All that a script came to, in order. */
export async function outcomes(found) {
  return Promise.all(found.map(outcome));
}

async function outcome(one) {
  if (one.columns) return table(one);
  if (one.text !== undefined) return plan(one.text);
  return el("p", { class: "done" }, el("span", { class: "state good" }, one.did), " ", names(one));
}

function names({ did, names: given }) {
  const shown = given.slice(0, MOST_NAMES).flatMap((name, i) => {
    const linked = OF_QUERIES.includes(did);
    const said = linked ? el("a", { href: `#/queries/${encodeURIComponent(name)}` }, name) : el("span", {}, name);
    return i ? [", ", said] : [said];
  });
  if (given.length > MOST_NAMES) shown.push(` and ${number(given.length - MOST_NAMES)} more`);
  return el("span", {}, shown);
}

/** A plan as text, in a box that the keyboard can scroll. */
export function plan(text, label = "Plan") {
  return el("pre", { tabindex: 0, role: "region", "aria-label": label }, text);
}

/** What a question would be: its promise, who would answer it, what that keeps, its plan. */
export function foreseen(query) {
  const keeps = query.bytes === null ? query.spends : `${bytes(query.bytes)} a group and pane`;
  return el(
    "section",
    { class: "foreseen", "aria-label": `Plan of ${query.name}` },
    facts({ query: query.name, answers: `${query.answers}, ${query.cadence}`, owed: query.contract,
      "answered by": query.technique, spends: query.bytes === null ? "nothing" : query.spends, keeps }),
    plan(query.plan, `Plan of ${query.name} as text`),
  );
}

function facts(told) {
  return el("dl", { class: "facts" }, Object.entries(told).map(([name, said]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, said)),
  ));
}

async function table({ columns, rows, total }) {
  const answers = OF_ANSWERS.every((name) => columns.includes(name));
  const drawn = answers ? await answerTable(rows) : plainTable(columns, rows);
  const said = rows.length < total ? `The first ${number(rows.length)} of ${number(total)} rows` : `${number(total)} ${total === 1 ? "row" : "rows"}`;
  return el("div", { class: "shown" }, drawn, el("p", { class: "faint" }, said));
}

/** A table of rows; columns of numbers are set to the right. */
export function plainTable(columns, rows, label = "Rows") {
  const figures = new Set(columns.filter((name) => rows.length && rows.every((row) => typeof row[name] === "number")));
  const kind = (name) => (figures.has(name) ? "figure" : null);
  const head = el("tr", {}, columns.map((name) => el("th", { scope: "col", class: kind(name) }, name)));
  const body = rows.map((row) => el("tr", {}, columns.map((name) => el("td", { class: kind(name) }, cell(row[name])))));
  return wide(label, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}

function wide(label, inside) {
  return el("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": label }, inside);
}

function cell(value) {
  if (value === null || value === undefined) return el("span", { class: "faint" }, "null");
  if (typeof value === "number") return number(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Answers have bars; they are fetched, because a row of a table has no charges. */
async function answerTable(rows) {
  const asked = [...new Set(rows.map((row) => row.query))].slice(0, MOST_ASKED);
  const known = new Map();
  await Promise.all(asked.map(async (name) => {
    const newest = await get(path`/queries/${name}/answers/latest`).catch(() => ({}));
    for (const answer of newest.answers ?? []) known.set(key(name, group(answer)), answer);
  }));
  const titles = ["query", "group", "answer", "as of"].map((name) => el("th", { scope: "col" }, name));
  const body = rows.map((row) => {
    const answer = known.get(key(row.query, row.group));
    const shown = answer ? figure(answer) : el("span", { class: "faint" }, "on its own page");
    return el("tr", {},
      el("td", {}, el("a", { href: `#/queries/${encodeURIComponent(row.query)}` }, row.query)),
      el("td", {}, row.group), el("td", {}, shown), el("td", { class: "mono" }, row.as_of ?? ""));
  });
  return wide("Answers", el("table", {}, el("thead", {}, el("tr", {}, titles)), el("tbody", {}, body)));
}

const key = (query, named) => JSON.stringify([query, named]);
const group = (answer) => answer.group.map((part) => (part === null ? "null" : String(part))).join(", ");
