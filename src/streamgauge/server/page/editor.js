// The page where statements are written: colours, completion, errors in place, what they come to.

import { get, path, send } from "./api.js";
import { Completion, insert } from "./complete.js";
import { el, put } from "./dom.js";
import { draw, quoted, toUnits } from "./highlight.js";
import { bytes } from "./numbers.js";
import { foreseen, outcomes } from "./outcomes.js";
import { problem } from "./problem.js";

const REST = 250;
const SLOW = 1000;
const MOST_PROBLEMS = 5;
const MOST_TOLD = 10;
const INDENT = "  ";
let known = null;
// What was typed stays while the page lives.
let draft = "";

async function language() {
  known ??= await get("/words");
  return Object.fromEntries(Object.entries(known).map(([kind, words]) => [kind, new Set(words)]));
}

export async function show(place, name) {
  const [words, { streams }, start] = await Promise.all([language(), get("/streams"), loaded(name)]);
  const editor = new Editor(words, start.text ?? draft);
  put(
    place,
    el("h1", {}, name === null ? "Editor" : ["Change ", el("a", { href: `#/queries/${encodeURIComponent(name)}` }, name)]),
    start.note ? el("p", { class: "sheet editor-note" }, start.note) : null,
    examples(streams, words, editor),
    editor.node,
  );
  editor.opened();
  return () => editor.leave();
}

/** The text of a query that is to be changed, or why there is none. */
async function loaded(name) {
  if (name === null) return {};
  const said = await get(path`/queries/${name}/text`);
  const words = await language();
  if (said.text !== null) return { text: `ALTER QUERY ${quoted(name, words)} AS\n${said.text}` };
  return {
    text: `-- ${said.question.replaceAll("\n", " ")}\nALTER QUERY ${quoted(name, words)} AS\n`,
    note: "No text says exactly what this query asks, so it stands here in words. Ask anew to change it.",
  };
}

/** Buttons that put a statement about a stream that is there into the editor. */
function examples(streams, words, editor) {
  const found = streams.flatMap((stream) => ofStream(stream, words)).slice(0, 5);
  found.push({ word: "What there is", text: "SHOW STREAMS;\nSHOW QUERIES;" });
  if (!streams.length) {
    const text = "CREATE STREAM plant FROM PLANT (100, 1, 60) KEY series TIME ts;\n\n"
      + "CREATE QUERY heat AS\nSELECT AVG(value)\nFROM plant [RANGE 1 MINUTE]\nEVERY 5 SECONDS;";
    found.unshift({ word: "A stream and a query", text });
  }
  const buttons = found.map(({ word, text }) =>
    el("button", { type: "button", onclick: () => editor.replace(text) }, word),
  );
  return el("div", { class: "examples", role: "group", "aria-label": "Start from an example" },
    el("span", { class: "faint" }, "Start from"), buttons);
}

function ofStream({ name, declaration }, words) {
  const { schema, key, time } = declaration;
  const say = (word) => quoted(word, words);
  const numeric = Object.keys(schema).find((column) => schema[column] === "float" && column !== declaration.width);
  if (numeric === undefined) return [];
  const [stream, value] = [say(name), say(numeric)];
  const group = Object.keys(schema).find((column) => schema[column] === "string" && !key.includes(column));
  const found = [{ word: `Average of ${name}`, text: `SELECT AVG(${value})\nFROM ${stream} [RANGE 1 MINUTE]\nEVERY 5 SECONDS` }];
  if (key.length) {
    const latest = `[PARTITION BY ${key.map(say).join(", ")} ROWS 1]`;
    found.push({ word: `Newest of ${name}, within 1`, text: `SELECT SUM(${value})\nFROM ${stream} ${latest}\nWITHIN 1 CONFIDENCE 0.95` });
  }
  if (group) {
    found.push({ word: `${name} by ${group}`, text: `SELECT ${say(group)}, MAX(${value})\nFROM ${stream} [RANGE 1 MINUTE]\nGROUP BY ${say(group)}\nEVERY 5 SECONDS` });
  }
  const shown = [...key, time].map(say).join(", ");
  found.push({ word: `Rows of ${name}`, text: `SELECT ${shown}, ${value}\nFROM ${stream} [RANGE 10 SECONDS]\nWHERE ${value} > 0` });
  return found;
}

class Editor {
  constructor(words, text) {
    this.words = words;
    this.marks = [];
    this.found = null;
    this.free = false;
    this.turn = 0;
    this.timer = null;
    this.drawn = el("pre", { class: "drawn", "aria-hidden": "true" });
    this.area = el("textarea", {
      class: "area", "aria-label": "Statements", "aria-describedby": "said keys", "aria-multiline": "true",
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "soft", value: text,
      placeholder: "SELECT AVG(value) FROM plant [RANGE 1 MINUTE] EVERY 10 SECONDS",
      oninput: () => this.typed(), onkeydown: (event) => this.key(event),
      onblur: () => this.completion.close(), onclick: () => this.completion.close(),
    });
    this.heard = el("span", { class: "unseen", role: "status" });
    this.completion = new Completion(this.area, this.drawn, (said) => put(this.heard, said));
    this.said = el("div", { id: "said", class: "said", "aria-live": "polite" });
    this.name = el("input", { id: "asked-name", maxlength: 200, autocomplete: "off", placeholder: "made from the question", oninput: () => this.soon() });
    this.naming = el("label", { class: "naming", for: "asked-name", hidden: true }, "Name", this.name);
    this.results = el("section", { class: "results", "aria-label": "Results", "aria-live": "polite" });
    const explain = el("button", { type: "button", onclick: () => this.explain() }, "Explain");
    const run = el("button", { type: "button", class: "first", "aria-keyshortcuts": "Control+Enter", onclick: () => this.run() }, "Run");
    this.buttons = [explain, run];
    this.node = el("div", { class: "editor" },
      el("div", { class: "code" }, this.drawn, this.area, this.completion.list),
      this.heard,
      this.said,
      el("div", { class: "doing" }, this.naming, explain, run,
        el("span", { id: "keys", class: "faint" }, "Ctrl+Enter runs, Ctrl+Space completes, Escape then Tab leaves the text")),
      this.results,
    );
  }

  opened() {
    this.redraw();
    this.check();
    const end = this.area.value.length;
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(end, end);
  }

  leave() {
    clearTimeout(this.timer);
    this.turn += 1;
  }

  redraw() {
    draw(this.drawn, this.area.value, this.words, this.marks);
  }

  /** Put another text in place of all. */
  replace(text) {
    this.area.focus();
    this.area.select();
    insert(this.area, text);
    this.completion.close();
  }

  typed() {
    draft = this.area.value;
    this.marks = [];
    this.redraw();
    this.completion.ask();
    this.soon();
  }

  soon() {
    clearTimeout(this.timer);
    this.turn += 1;
    this.timer = setTimeout(() => this.check(), REST);
  }

  /** Ask the server what the text would do; draw and tell what is wrong. */
  async check() {
    clearTimeout(this.timer);
    const turn = (this.turn += 1);
    const text = this.area.value;
    const name = this.naming.hidden ? "" : this.name.value.trim();
    // The first sketch of a server takes a while to be made ready.
    const slow = setTimeout(() => put(this.said, el("p", { class: "faint" }, "looking at it")), SLOW);
    try {
      const found = await send("POST", "/check", { text, ...(name ? { name } : {}) });
      if (turn !== this.turn) return null;
      this.tell(found, text);
      return found;
    } catch (error) {
      if (turn === this.turn) put(this.said, problem(error));
      return null;
    } finally {
      clearTimeout(slow);
    }
  }

  tell(found, text) {
    this.found = found;
    const [only] = found.statements;
    this.naming.hidden = !(found.statements.length === 1 && only.kind === "ask" && !found.problems.some((told) => told.place.offset > only.offset + only.length));
    this.marks = found.problems.map((told) => marked(text, told.place));
    this.redraw();
    this.area.setAttribute("aria-invalid", String(found.problems.length > 0 && text.trim() !== ""));
    if (!text.trim()) put(this.said);
    else if (found.problems.length) put(this.said, this.problems(found.problems, text));
    else put(this.said, this.foretold(found.statements));
  }

  foretold(statements) {
    const doing = statements.filter((one) => one.did || !one.tried || one.queries.length);
    if (doing.length) return doing.slice(0, MOST_TOLD).map(foretold);
    return el("p", { class: "faint" }, "reads as it should");
  }

  problems(told, text) {
    const shown = told.slice(0, MOST_PROBLEMS).map((one) => {
      const go = el("button", { type: "button", class: "where", onclick: () => this.go(text, one.place) }, `${one.place.line}:${one.place.column}`);
      go.setAttribute("aria-label", `Go to line ${one.place.line}, column ${one.place.column}`);
      // A grammar error only repeats its line there.
      const detail = one.detail.startsWith("line ") ? null : el("span", { class: "detail" }, one.detail);
      return el("li", {}, go, el("span", {}, el("strong", {}, one.title), detail, el("span", { class: "hint" }, one.hint)));
    });
    const more = told.length - shown.length;
    return [el("ul", { class: "wrongs" }, shown), more > 0 ? el("p", { class: "faint" }, `and ${more} more`) : null];
  }

  go(text, place) {
    const start = toUnits(text, place.offset);
    this.area.focus();
    this.area.setSelectionRange(start, toUnits(text, place.offset + place.length));
  }

  key(event) {
    if (this.completion.key(event)) {
      event.preventDefault();
      return;
    }
    const freed = this.free;
    this.free = event.key === "Escape";
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.run();
    } else if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.completion.ask(true);
    } else if (event.key === "Tab" && !event.shiftKey && !freed) {
      event.preventDefault();
      insert(this.area, INDENT);
    } else if (["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) this.completion.close();
  }

  async explain() {
    await this.busy(async () => {
      const found = await this.check();
      const plans = (found?.statements ?? []).flatMap((one) => one.queries.map(foreseen));
      if (plans.length) return plans;
      return [found?.problems.length ? unrun() : el("p", { class: "faint" }, "There is no question in this text that a plan could be made for.")];
    });
  }

  async run() {
    await this.busy(async () => {
      const text = this.area.value;
      const found = await this.check();
      if (found === null || found.problems.length) return [unrun()];
      const name = this.naming.hidden ? "" : this.name.value.trim();
      try {
        if (!name) return await outcomes((await send("POST", "/statements", { text })).outcomes);
        const [only] = found.statements;
        const own = Array.from(text).slice(only.offset, only.offset + only.length).join("");
        const made = await send("POST", "/queries", { name, text: own });
        return await outcomes([{ did: "registered", names: made.queries.map((query) => query.name) }]);
      } catch (error) {
        return [problem(error)];
      }
    });
  }

  async busy(work) {
    this.completion.close();
    this.node.setAttribute("aria-busy", "true");
    for (const button of this.buttons) button.disabled = true;
    try {
      put(this.results, await work());
    } finally {
      this.node.removeAttribute("aria-busy");
      for (const button of this.buttons) button.disabled = false;
    }
  }
}

const unrun = () => el("p", { class: "faint" }, "Nothing was run; what is wrong stands under the text.");

/** The span of a place: of a long one its first line, of the end of a text the word before it. */
function marked(text, place) {
  const start = toUnits(text, place.offset);
  if (!text.slice(start, start + Math.max(place.length, 1)).trim()) {
    const before = text.slice(0, start).trimEnd();
    return { start: before.search(/\S+$/), end: before.length };
  }
  const end = toUnits(text, place.offset + place.length);
  const line = text.indexOf("\n", start);
  return { start, end: Math.max(start + 1, line < 0 ? end : Math.min(end, line)) };
}

/** What a statement would do, in a line. */
function foretold(one) {
  if (!one.tried) return el("p", { class: "faint" }, `${one.kind}: what it reaches is looked at when it runs`);
  const same = one.did.startsWith("unchanged");
  const did = same ? "nothing would change:" : one.did ? `would be ${one.did}` : one.kind;
  const parts = one.queries.map((query) => {
    const keeps = query.bytes === null ? query.spends : `${query.technique}, ${bytes(query.bytes)} a group and pane`;
    return `${query.name}: ${query.contract}, ${query.cadence}; ${keeps}`;
  });
  const more = one.names.length - one.queries.length;
  const named = parts.length ? parts.join("; ") + (more > 0 ? ` and ${more} more` : "") : one.names.slice(0, 5).join(", ");
  return el("p", { class: "good-to-go" }, el("span", { class: "good" }, did), " ", el("span", { class: "faint" }, named));
}
