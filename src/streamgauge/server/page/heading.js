// The upper part of a query's page: name, state, what may be done, what was asked, and the plan.

import { get, path, send } from "./api.js";
import { el, put } from "./dom.js";
import { budgetPanel, fact, section } from "./panels.js";
import { problem } from "./problem.js";
import { chip } from "./state.js";

/** Name, state, what may be done, and what was asked. */
export function header(name, about, first) {
  const state = el("span", { class: "judged" });
  const buttons = el("div", { class: "buttons" });
  const trouble = el("div", { "aria-live": "polite" });
  const facts = el("dl", { class: "facts" });
  const newest = el("div", { class: "newest" });
  const question = el("p", { class: "question mono" });
  let query = first;
  let judged = { state: "waiting", why: "no answer yet" };
  let drawn = "";

  async function act(verb) {
    const dropping = verb === "drop";
    const where = path`/queries/${name}` + (dropping ? "" : `/${verb}`);
    try {
      const changed = await send(dropping ? "DELETE" : "POST", where, undefined, { version: query.version });
      put(trouble);
      if (changed) update(changed);
      else location.hash = "#/queries";
    } catch (error) {
      tell(error);
      // Somebody changed it meanwhile: show what it is now, so that the next press means that.
      if (error.status === 412) await get(path`/queries/${name}`).then(update, () => null);
    }
  }

  function offered() {
    if (about.role === "reader") return [];
    const verb = query.status === "paused" || query.status === "suspended" ? "resume" : "pause";
    return [
      el("button", { onclick: () => act(verb) }, verb === "pause" ? "Pause" : "Resume"),
      el("a", { class: "button", href: `#/editor/${encodeURIComponent(name)}` }, "Edit"),
      el("button", { class: "danger", onclick: () => confirmed(name, () => act("drop")) }, "Drop"),
    ];
  }

  function tell(error) {
    put(trouble, problem(error));
  }

  function update(found) {
    query = found;
    if (judged.state === "waiting" && found.waiting) judged = { state: "waiting", why: found.waiting.text };
    const said = `${found.status} ${found.note} ${found.version} ${found.cadence} ${found.contract.words}`;
    if (said !== drawn) {
      drawn = said;
      put(buttons, offered());
      put(question, found.text ?? found.question);
      put(facts, fact("Contract", found.contract.words), fact("Answers", found.cadence),
        fact(found.streams.length > 1 ? "Streams" : "Stream", found.streams.join(", ")),
        fact("Version", `${found.version}, since epoch ${found.epoch}`));
    }
    judge(judged);
  }

  /** Say the state of its answers: {state, why}. */
  function judge(found) {
    judged = found;
    const shown = query.status === "running" ? judged : { state: query.status, why: whyNot(query) };
    const said = `${shown.state} ${shown.why}`;
    if (state.dataset.said === said) return;
    state.dataset.said = said;
    put(state, chip(shown.state), shown.why ? el("span", { class: "faint" }, shown.why) : null);
  }

  const node = el(
    "header", { class: "query-head" },
    el("div", { class: "title" }, el("h1", {}, name), state, buttons),
    trouble, question, el("div", { class: "summary sheet" }, newest, facts),
  );
  return { node, newest, update, judge, tell };
}

/** Why a query does not run as it was asked to. */
function whyNot(query) {
  if (query.status === "suspended") return query.note;
  return query.status === "waiting" ? "in force with the next epoch" : "";
}

function confirmed(name, go) {
  const dialog = el(
    "dialog", { class: "confirm", "aria-labelledby": "drop-title", onclose: () => dialog.remove() },
    el("form", { method: "dialog" },
      el("h2", { id: "drop-title" }, `Drop ${name}?`),
      el("p", {}, "It is forgotten with the next epoch. Answers that were given stay in the home."),
      el("div", { class: "buttons" },
        el("button", { class: "danger", onclick: go }, "Drop it"),
        el("button", { autofocus: true }, "Keep it"))),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** Plan and error budget; the plan is read again when the question changes. */
export function plans(name) {
  const budget = budgetPanel();
  const text = el("pre", { tabindex: 0, role: "group", "aria-label": "Plan as text" });
  let known = null;
  const node = el("div", { class: "columns plans" }, section("budget-title", "Error budget", budget.node), section("plan-title", "Plan", text));

  async function update({ version, status }) {
    budget.draw(await get(path`/queries/${name}/budget`));
    const wanted = `${version} ${status}`;
    if (known === wanted) return;
    text.textContent = (await get(path`/queries/${name}/plan`)).plan;
    known = wanted;
  }

  return { node, update };
}
