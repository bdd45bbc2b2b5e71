// Parts of a query's page below its chart: error budget, deadlines, audit, newest answers.

import { around, figure, refigure, shade } from "./bar.js";
import { el, put, svg } from "./dom.js";
import { clock, number, percent, seconds } from "./numbers.js";
import { chip, reason, stateOf } from "./state.js";

const BUDGET = 360;
const THICK = 16;
// Rows that a table shows at once.
export const MOST_SHOWN = 200;

/** A small coloured square. */
export function swatch(name) {
  return svg("svg", { class: "swatch", width: 12, height: 12, "aria-hidden": "true" },
    svg("rect", { class: name, width: 12, height: 12, rx: 2 }));
}

/** A part of the page with its heading, which gives it its name. */
export function section(id, title, ...children) {
  return el("section", { "aria-labelledby": id, class: "part" }, el("h2", { id }, title), ...children);
}

/**
 * A table in a frame that scrolls, drawn again in place so that neither focus nor scroll is lost.
 * Heads with a dot before them are numbers, set to the right.
 */
export function grid(label) {
  const head = el("tr", {});
  const body = el("tbody", {});
  const node = el("div", { class: "frame", tabindex: 0, role: "group", "aria-label": `${label}, a table that scrolls` },
    el("table", {}, el("thead", {}, head), body));
  let known = "";

  function draw(heads, rows) {
    const said = heads.join("\n");
    if (said !== known) {
      known = said;
      put(head, heads.map((text) => el("th", { scope: "col", class: text.startsWith(".") && "figure" }, text.replace(".", ""))));
    }
    const same = rows.length === body.children.length && rows.every((row, i) => body.children[i] === row);
    if (!same) put(body, rows);
    node.hidden = !rows.length;
  }

  return { node, draw };
}

/** A cell that holds a number as text. */
export const cell = (text) => el("td", { class: "figure" }, text);

/** A number with three digits that matter. */
export const brief = (value) => (value === null ? "–" : number(Number(value.toPrecision(3))));

/** The state of an answer, and why. */
export function judgement(answer) {
  const why = reason(answer);
  return [chip(stateOf(answer)), why ? el("span", { class: "faint why" }, why) : null];
}

export function groupName(group) {
  return group.length ? group.map(String).join(", ") : "all";
}

/** The error budget: what was granted and what is held now, on one scale. */
export function budgetPanel() {
  const stacks = el("div", { class: "budget" });
  const note = el("p", { class: "faint note" });
  const spending = grid("Error budget");

  function draw(budget) {
    const rows = [["planned", budget.planned], ["held now", budget.held]];
    const none = rows.every(([, charges]) => !charges.length);
    const sum = (charges) => charges.reduce((all, charge) => all + (charge.width ?? 0), 0);
    const owed = budget.owed?.width ?? null;
    const scale = Math.max(owed ?? 0, ...rows.map(([, charges]) => sum(charges))) || 1;
    stacks.hidden = none;
    put(stacks, rows.flatMap(([word, charges]) => [el("span", { class: "faint" }, word), stack(word, charges, owed, scale)]));
    spending.draw(["who", ".planned", ".may fail", ".held", ".may fail"], spent(budget));
    put(note, none ? "Nothing here is approximate: there is no error to spend." : budgetNote(budget, owed));
  }

  return { node: el("div", {}, stacks, spending.node, note), draw };
}

function budgetNote(told, owed) {
  const group = told.group?.length ? ` of ${groupName(told.group)}, the widest` : "";
  const width = owed === null ? "a width that is not in units of the answer" : `${number(owed)} from end to end`;
  return told.owed ? `Owed: ${width}, ${percent(told.owed.delta)} chance to fail. Held: the bar${group}.` : `Owed: a bar that holds. Held: the bar${group}.`;
}

function stack(word, charges, owed, scale) {
  const said = charges.map((charge) => `${charge.by} ${told(charge.width)}`).join(", ") || "nothing";
  const drawn = svg("svg", {
    class: "stack", role: "img", "aria-label": `${word}: ${said}`, viewBox: `0 0 ${BUDGET} ${THICK + 6}`, preserveAspectRatio: "none",
  });
  drawn.append(svg("rect", { class: "track", x: 0, y: 3, width: BUDGET, height: THICK }));
  let x = 0;
  for (const charge of charges) {
    const width = charge.width === null ? BUDGET - x : (0.98 * BUDGET * charge.width) / scale;
    const look = charge.width === null ? "unknown" : charge.by === "kept back" ? "spare" : shade(charge.by);
    drawn.append(svg("rect", { class: look, x, y: 3, width: Math.max(width, 0), height: THICK }, svg("title", {}, `${charge.by} ${told(charge.width)}`)));
    x += width;
  }
  if (owed) {
    const at = (0.98 * BUDGET * owed) / scale;
    drawn.append(svg("line", { class: "owed", x1: at, x2: at, y1: 0, y2: THICK + 6 }));
  }
  return drawn;
}

const told = (width) => (width === null ? "open" : brief(width));

function spent({ planned, held }) {
  const names = [...new Set([...planned, ...held].map((charge) => charge.by))];
  const cells = (charges, by) => {
    const found = charges.find((charge) => charge.by === by);
    return [cell(found ? told(found.width) : "–"), cell(found ? percent(found.delta) : "–")];
  };
  return names.map((by) => el("tr", {},
    el("th", { scope: "row", class: "who" }, swatch(by === "kept back" ? "spare" : shade(by)), by),
    ...cells(planned, by), ...cells(held, by)));
}

/** Cells of a deferred query: how each is brought up to date and what that saved. */
export function deferralPanel() {
  const saved = el("p", {});
  const cells = grid("Deadlines");

  function draw({ rows, total }) {
    const checks = rows.reduce((sum, row) => sum + row.checks, 0);
    const done = rows.reduce((sum, row) => sum + row.evaluations, 0);
    const grouped = rows.some((row) => row.group);
    put(saved, `Worked out ${number(done)} times in ${number(checks)} ticks: `,
      el("strong", {}, checks ? percent(1 - done / checks) : "none"), " of the evaluations were saved.",
      more(rows.length, total, "cells"));
    cells.draw(
      [...(grouped ? ["cell"] : []), "regime", ".members", ".silent", ".evaluations", ".of ticks", ".saved", ".usual wait",
        ".next deadline", ".drift a second", ".sigma", ".missed"],
      rows.map((row) => el("tr", {},
        grouped ? el("th", { scope: "row" }, groupText(row.group)) : null,
        el("td", {}, row.regime),
        ...[
          number(row.members), row.silent ? `${number(row.silent)}: ${listed(row.silent_series, row.silent)}` : "0", number(row.evaluations), number(row.checks),
          row.checks ? percent(Number((1 - row.evaluations / row.checks).toFixed(3))) : "–",
          row.wait ? seconds(row.wait) : "–", row.due ? clock(row.due) : "at each move",
          brief(row.drift), brief(row.sigma), number(row.missed),
        ].map(cell))));
  }

  return { node: el("div", {}, saved, cells.node), draw };
}

/** Names, and how many more there are. */
function listed(names, total) {
  return names.join(", ") + (total > names.length ? " …" : "");
}

/** What the auditor found of a query, or why it does not look. */
export function auditPanel() {
  const node = el("div", { class: "sheet audited" });

  function draw({ audited, reason: why }) {
    if (!audited) {
      put(node, el("span", { class: "faint" }, why ? `Not audited: ${why}.` : "Its turn to be compared with the truth has not come yet."));
      return;
    }
    const [word, tone] = audited.alarm ? ["alarm", "bad"] : audited.now ? ["auditing", "good"] : ["quiet", "faint"];
    const held = inPercent(audited.held);
    put(
      node,
      el("span", { class: `state ${tone}` }, word),
      held.value === null ? null : figure(held, { low: Math.max(0, Math.min(held.low ?? 0, 200 * audited.promised - 100)), high: 100 }),
      el("span", { class: "faint" }, held.value === null ? "How many of its bars held the truth is told when the first round is over" : "% of its bars held the truth"),
      el("dl", { class: "facts" },
        fact("Promised", percent(Number(audited.promised.toPrecision(4)))),
        fact("Compared", number(audited.comparisons)),
        fact("Missed", number(audited.misses)),
        fact("Largest error", audited.worst === null ? "–" : `${brief(audited.worst)} bars`),
        fact("Last compared", audited.last === null ? "–" : clock(audited.last))),
      audited.alarm ? el("p", { class: "bad" }, audited.alarm.text) : null,
    );
  }

  return { node, draw };
}

/** A share as an answer in per cent, to be drawn with its bar. */
function inPercent(answer) {
  const grown = (part) => (part === null ? null : Number((100 * part).toPrecision(4)));
  const charges = answer.charges.map((charge) => ({ ...charge, width: grown(charge.width) }));
  return { ...answer, value: grown(answer.value), low: grown(answer.low), high: grown(answer.high), charges };
}

/** A term and what it is, for a list of them. */
export function fact(term, told) {
  return el("div", {}, el("dt", {}, term), el("dd", {}, told));
}

function groupText(text) {
  try {
    return groupName(JSON.parse(text));
  } catch {
    return text;
  }
}

export function more(shown, total, what) {
  return total > shown ? el("span", { class: "faint" }, ` The first ${number(shown)} of ${number(total)} ${what} are shown.`) : null;
}

/** Newest answers, each in a row that stays where it is while its bar moves. */
export function answerTable(label, { named, choose }) {
  const rows = new Map();
  const shown = grid(label);

  /** Show these, in this order: [{key, name, answer}]. */
  function draw(items) {
    const scale = around(items.map((item) => item.answer));
    const wanted = items.slice(0, MOST_SHOWN).map((item) => {
      const known = rows.get(item.key) ?? made(item);
      fill(known, item.answer, scale);
      return [item.key, known];
    });
    rows.clear();
    wanted.forEach(([key, row]) => rows.set(key, row));
    shown.draw([named, "answer", ".as of", "basis", "contract"], wanted.map(([, row]) => row.node));
  }

  function made({ key, name }) {
    const cells = ["", "figure", "", "judged"].map((look) => el("td", { class: look || null }));
    const head = choose ? el("button", { class: "quiet", onclick: () => choose(key) }, name) : name;
    return { node: el("tr", {}, el("th", { scope: "row" }, head), ...cells), cells, figure: null, said: "" };
  }

  function fill(row, answer, scale) {
    const said = `${answer.as_of} ${answer.revision} ${answer.version} ${scale.low} ${scale.high}`;
    if (row.said === said) return;
    row.said = said;
    if (row.figure) refigure(row.figure, answer, scale);
    else put(row.cells[0], (row.figure = figure(answer, scale)));
    put(row.cells[1], clock(answer.as_of));
    put(row.cells[2], answer.basis);
    put(row.cells[3], judgement(answer));
  }

  return { node: shown.node, draw };
}
