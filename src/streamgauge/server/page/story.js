// The guided story above the pages: its acts as steps, one of them told, a button that begins it.

import { get, path, repeat, send } from "./api.js";
import { el, put } from "./dom.js";
import { problem } from "./problem.js";

const SECONDS = 1;
const FOLDED = "streamgauge.story.folded";
const WORDS = { waiting: "", running: "now", done: "done", failed: "broken off" };

/** Tell the story at a place until the page is closed. */
export function tell(place) {
  if (!place.hidden) return;
  place.hidden = false;
  put(place, new Telling().node);
}

class Telling {
  constructor() {
    this.chosen = null;
    this.leading = null;
    this.author = false;
    this.acts = [];
    this.steps = el("ol", { class: "steps" });
    this.text = el("p", { class: "text" });
    this.look = el("a", { href: "#/queries" });
    this.button = el("button", { class: "first", onclick: () => this.begin() });
    this.told = el("ul", { class: "told", "aria-live": "polite", "aria-label": "What the act says" });
    this.unread = el("div", {});
    this.refused = el("div", {});
    this.fold = el("button", { class: "fold", "aria-controls": "story-body", onclick: () => this.turn() });
    this.body = el(
      "div",
      { id: "story-body", class: "body" },
      el("div", { class: "act" }, this.text, el("p", { class: "doing" }, this.button, this.look)),
      this.told,
      this.unread,
      this.refused,
    );
    this.node = el(
      "div",
      { class: "story" },
      el("div", { class: "head" }, el("h2", {}, "Story"), this.steps, this.fold),
      this.body,
    );
    this.folded(sessionStorage.getItem(FOLDED) === "yes");
    get("/about").then(({ role }) => {
      this.author = role !== "reader";
    }, () => {});
    repeat(SECONDS, () => this.read(), (error) => put(this.unread, problem(error)));
  }

  async read() {
    this.take(await get("/story"));
    put(this.unread);
  }

  take(story) {
    const running = story.acts.find((act) => act.state === "running");
    // A reader who is led is taken along; one who has chosen stays until an act begins.
    if (running && running.name !== this.running) this.chosen = running.name;
    this.running = running?.name;
    this.acts = story.acts;
    this.opening = story.opening;
    this.draw();
    this.lead();
  }

  act() {
    const next = this.acts.find((act) => act.state !== "done") ?? this.acts.at(-1);
    return this.acts.find((act) => act.name === this.chosen) ?? next;
  }

  draw() {
    const shown = this.act();
    if (this.steps.children.length !== this.acts.length) put(this.steps, ...this.acts.map((act) => this.step(act)));
    this.acts.forEach((act, i) => {
      const step = this.steps.children[i].firstChild;
      step.dataset.state = act.state;
      same(step.lastChild, WORDS[act.state] ?? act.state);
      if (act === shown) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    });
    same(this.text, shown.text);
    this.look.href = shown.look;
    same(this.look, shown.at);
    this.button.hidden = !this.author;
    this.button.disabled = Boolean(this.running || this.opening);
    same(this.button, shown.state === "done" ? `${shown.button} again` : shown.button);
    this.said(this.opening ? [this.opening] : shown.told);
  }

  said(lines) {
    const there = [...this.told.children].map((line) => line.textContent);
    // Lines that stay are left alone, so that only the new ones are read aloud.
    if (there.some((line, i) => line !== lines[i])) put(this.told);
    for (const line of lines.slice(this.told.children.length)) this.told.append(el("li", {}, line));
  }

  step(act) {
    const number = this.acts.indexOf(act) + 1;
    return el(
      "li",
      {},
      el(
        "button",
        { class: "step", "data-act": act.name, onclick: () => this.choose(act.name) },
        el("span", { class: "number", "aria-hidden": "true" }, number),
        el("span", {}, act.title),
        el("span", { class: "word" }),
      ),
    );
  }

  choose(name) {
    this.chosen = name;
    put(this.refused);
    this.folded(false);
    this.draw();
  }

  async begin() {
    const { name } = this.act();
    this.chosen = name;
    try {
      this.take(await send("POST", path`/story/${name}`));
      put(this.refused);
      this.leading = { name, from: location.hash };
      this.lead();
    } catch (error) {
      put(this.refused, problem(error));
    }
  }

  /** Show what the act is about once it says something: before, that may not be there yet. */
  lead() {
    const act = this.acts.find(({ name }) => name === this.leading?.name);
    if (!act || (act.state === "running" && !act.told.length)) return;
    // Who has gone elsewhere meanwhile is left alone.
    if (location.hash === this.leading.from) location.hash = act.look;
    this.leading = null;
  }

  turn() {
    this.folded(!this.body.hidden);
  }

  folded(is) {
    this.body.hidden = is;
    this.fold.setAttribute("aria-expanded", String(!is));
    same(this.fold, is ? "Unfold" : "Fold away");
    sessionStorage.setItem(FOLDED, is ? "yes" : "no");
  }
}

function same(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
