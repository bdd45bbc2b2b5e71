// The page of a view: the rows it holds, and those that came and went.

import { follow, get, heard, path } from "./api.js";
import { el, put } from "./dom.js";
import { clock, number, percent } from "./numbers.js";
import { MOST_SHOWN, cell, grid, more, section } from "./panels.js";

const CHANGES = 40;
const DRAW_MILLISECONDS = 1000;

/** The body of a view; `head` is the upper part of its page. */
export function ofRows(name, head) {
  const held = heldRows();
  const changes = rowChanges();
  const node = el("div", { class: "columns" }, section("held-title", "Rows held", held.node), section("changes-title", "Changes", changes.node));
  let recent = [];
  let timer = 0;
  let halted = false;

  async function refresh() {
    timer = 0;
    try {
      const found = await get(path`/queries/${name}/answers/latest` + `?limit=${MOST_SHOWN}`);
      if (halted) return;
      held.draw(found);
      changes.draw(recent);
      put(head.newest, counted(found, recent[0]));
      head.judge(judged(recent[0]));
    } catch (error) {
      if (!halted && error.status !== 0) head.tell(error);
    }
  }

  const begun = get(path`/queries/${name}/answers` + `?newest=true&limit=${CHANGES}`).then((past) => {
    recent = past.answers.reverse();
    refresh();
    return follow(path`/queries/${name}/live`, {
      event(kind, data) {
        if (kind !== "row") return;
        recent = [data, ...recent].slice(0, CHANGES);
        if (!timer) timer = setTimeout(refresh, DRAW_MILLISECONDS);
      },
      state: (connected) => heard(connected),
    }, past.epoch);
  });
  begun.catch(head.tell);

  return {
    node,
    stop() {
      halted = true;
      clearTimeout(timer);
      begun.then((stop) => stop(), () => null);
    },
  };
}

function counted({ total }, last) {
  const partly = last && last.coverage < 1 ? `, covers ${percent(last.coverage)}` : last && last.share < 1
    ? `, looked at ${percent(last.share)}${last.unseen === null ? "" : `, about ${number(last.unseen)} not found`}` : "";
  return [el("span", { class: "count mono" }, number(total)), el("span", { class: "faint" }, `${total === 1 ? "row" : "rows"} held${partly}`)];
}

function judged(last) {
  if (!last) return { state: "waiting", why: "nothing came yet" };
  if (last.contract_met) return { state: "met", why: "" };
  return { state: "degraded", why: last.missing ? `${number(last.missing)} missing` : last.coverage < 1 ? `covers ${percent(last.coverage)}` : `looked at ${percent(last.share)}` };
}

function heldRows() {
  const count = el("p", {});
  const shown = grid("Rows held");

  function draw({ rows, total }) {
    const names = rows.length ? Object.keys(rows[0]) : [];
    const right = new Set(names.filter((name) => typeof rows[0][name] === "number"));
    put(count, `${number(total)} ${total === 1 ? "row is" : "rows are"} held.`, more(rows.length, total, "rows"));
    shown.draw(names.map((name) => (right.has(name) ? `.${name}` : name)), rows.map((row) =>
      el("tr", {}, names.map((name) => el("td", { class: right.has(name) && "figure" }, plain(row[name]))))));
  }

  return { node: el("div", {}, count, shown.node), draw };
}

function rowChanges() {
  const count = el("p", {});
  const shown = grid("Changes");
  const word = (change) => (change.count > 0 ? el("span", { class: "state good" }, "came") : el("span", { class: "state faint" }, "went"));

  function draw(changes) {
    put(count, changes.length ? `The last ${changes.length}, newest first.` : "Nothing came or went yet.");
    shown.draw(["change", ".at", "row", ".covers", ".looked at", ".not found"], changes.map((change) =>
      el("tr", {},
        el("td", {}, word(change)),
        cell(clock(change.as_of)),
        el("td", {}, Object.values(change.row).map(plain).join(", ")),
        cell(percent(change.coverage)),
        cell(percent(change.share)),
        cell(change.unseen === null ? "–" : number(change.unseen)))));
  }

  return { node: el("div", {}, count, shown.node), draw };
}

function plain(value) {
  if (typeof value === "number") return number(value);
  return value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}
