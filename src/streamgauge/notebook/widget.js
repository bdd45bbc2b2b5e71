// A standing answer in a notebook: value, bar, the way it came, and how long ago it was heard.

import { around, figure, refigure, respark, shade, sparkline } from "./bar.js";
import { el, put } from "./dom.js";
import { interval, number, percent, seconds, spoken } from "./numbers.js";

const SECOND = 1000;
const SPARK = [140, 26];

/** How it was made; a basis that is among the charges has been said. */
function facts(answer) {
  const basis = answer.charges.some((charge) => charge.by === answer.basis) ? [] : [answer.basis];
  const covers = answer.coverage < 1 ? [`covers ${percent(answer.coverage)}`] : [];
  const looked = answer.share < 1 ? [`looked at ${percent(answer.share)}`] : [];
  return [...basis, ...covers, ...looked, `as of ${answer.as_of}`].join(" · ");
}

function charge({ by, width }) {
  const said = width === null ? "without bound" : number(width);
  return el("span", { class: "charge" }, el("span", { class: `square ${shade(by)}` }), `${by} ${said}`);
}

/** One group, kept and changed in place; its bar is on the scale of its last answers. */
function line(group) {
  const course = el("div", { class: "course" });
  const notes = el("div", { class: "facts" });
  const name = group.length ? el("span", { class: "group" }, group.join(", ")) : null;
  const root = el("div", { class: "line-of-answer" }, name, course, notes);

  function show({ answer, recent }) {
    const scale = around([answer, ...recent]);
    if (!course.children.length) {
      put(course, figure(answer, scale), el("span", { class: "interval" }), sparkline(recent, ...SPARK));
    }
    const [drawn, bounds, way] = course.children;
    refigure(drawn, answer, scale);
    respark(way, recent, ...SPARK);
    put(bounds, interval(answer));
    const met = answer.contract_met;
    put(
      notes,
      answer.charges.map(charge),
      el("span", { class: met ? "good" : "bad", "aria-hidden": "true" }, met ? "✓" : "✗"),
      met ? " contract met" : " contract not met",
      el("span", { class: "faint" }, ` · ${facts(answer)}`),
    );
  }

  return { root, show };
}

function render({ model, el: place }) {
  // Known charges first, so that they have the colours they have elsewhere in the notebook.
  model.get("charges").forEach(shade);
  const groups = new Map();
  let heard = Date.now();
  const state = el("span", { class: "state" });
  const lines = el("div", { class: "lines" });
  const rest = el("div", { class: "faint" });
  const loud = el("span", { class: "aloud", role: "status" });
  const label = `live answer of ${model.get("name")}`;
  const head = el("header", {}, el("strong", {}, model.get("name")), state);
  const root = el("section", { class: "streamgauge", "aria-label": label }, head, lines, rest, loud);
  put(place, root);

  function answers() {
    const known = model.get("lines");
    for (const item of known) {
      const key = JSON.stringify(item.answer.group);
      if (!groups.has(key)) {
        groups.set(key, line(item.answer.group));
        lines.append(groups.get(key).root);
      }
      groups.get(key).show(item);
    }
    const more = model.get("more");
    put(rest, known.length ? (more ? `and ${number(more)} more groups` : "") : "no answer yet");
    // Read aloud is what changes what one does, not every move of the value.
    const broken = known.filter((item) => !item.answer.contract_met);
    const said = broken.length ? `contract not met: ${spoken(broken[0].answer)}` : "";
    if (!broken.length || !loud.textContent) put(loud, said);
  }

  function age() {
    const live = model.get("state") === "live";
    const ago = (Date.now() - heard) / SECOND;
    const since = ago < 1.5 ? "now" : `${seconds(Math.round(ago))} ago`;
    root.dataset.state = live ? "live" : "over";
    put(state, live ? `live, heard ${since}` : model.get("state"));
  }

  function fresh() {
    heard = Date.now();
    answers();
    age();
  }

  answers();
  age();
  model.on("change:lines", fresh);
  model.on("change:state", age);
  const timer = setInterval(age, SECOND);
  return () => {
    clearInterval(timer);
    model.off("change:lines", fresh);
    model.off("change:state", age);
  };
}

export const widget = { render };
