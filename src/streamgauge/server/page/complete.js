// Words that can come: a list beside the cursor, filled by the server as one types.

import { send } from "./api.js";
import { el, put } from "./dom.js";
import { placed, toCharacters, toUnits } from "./highlight.js";

const MOST_SHOWN = 60;
const LIST = "completions";

/** Completion of a text area whose text is drawn in `drawn`; `said` is told how many words there are. */
export class Completion {
  constructor(area, drawn, said) {
    this.area = area;
    this.drawn = drawn;
    this.said = said;
    this.words = [];
    this.chosen = 0;
    this.from = 0;
    this.asked = 0;
    this.list = el("ul", { id: LIST, class: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-haspopup", "listbox");
    area.setAttribute("aria-controls", LIST);
  }

  get open() {
    return !this.list.hidden;
  }

  /** Ask what can come at the cursor; without a letter typed the list opens only when `wanted`. */
  async ask(wanted = false) {
    const { area } = this;
    const turn = (this.asked += 1);
    const text = area.value;
    const end = area.selectionEnd;
    if (area.selectionStart !== end) return this.close();
    if (!wanted && !/[\p{L}\p{N}_".]$/u.test(text.slice(0, end))) return this.close();
    let found;
    try {
      found = await send("POST", "/complete", { text, offset: toCharacters(text, end) });
    } catch {
      return this.close();
    }
    // Who typed on meanwhile has asked again.
    if (turn !== this.asked || area.value !== text || document.activeElement !== area) return null;
    this.from = toUnits(text, found.from);
    if (!found.words.length || (!wanted && this.from === end && text[end - 1] !== ".")) return this.close();
    return this.show(found.words);
  }

  show(words) {
    this.words = words.slice(0, MOST_SHOWN);
    this.chosen = 0;
    put(this.list, this.words.map((item, i) => this.option(item, i)));
    this.list.hidden = false;
    const at = placed(this.drawn, this.from);
    const box = this.list.offsetParent.getBoundingClientRect();
    const room = box.width - this.list.offsetWidth - 4;
    this.list.style.left = `${Math.max(0, Math.min(at.left - box.left, room))}px`;
    this.list.style.top = `${at.bottom - box.top + 4}px`;
    this.choose(0);
    this.said(`${words.length} ${words.length === 1 ? "completion" : "completions"}, ${this.words[0].word} first`);
  }

  option({ word, kind }, i) {
    return el(
      "li",
      {
        id: `${LIST}-${i}`, role: "option", "aria-selected": "false",
        // Without this the text area would lose the cursor before the word is put there.
        onmousedown: (event) => event.preventDefault(),
        onclick: () => this.accept(i),
      },
      el("span", { class: `word is-${kind}` }, word),
      el("span", { class: "kind" }, kind),
    );
  }

  choose(i) {
    const options = this.list.children;
    options[this.chosen]?.setAttribute("aria-selected", "false");
    this.chosen = (i + options.length) % options.length;
    const chosen = options[this.chosen];
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", chosen.id);
  }

  accept(i = this.chosen) {
    const { word, kind } = this.words[i];
    const { area } = this;
    area.setSelectionRange(this.from, area.selectionEnd);
    const next = area.value[area.selectionEnd] ?? "";
    const after = kind === "function" ? "(" : kind === "keyword" ? " " : "";
    insert(area, word + (after && !next.startsWith(after) ? after : ""));
    this.close();
  }

  close() {
    this.asked += 1;
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
    return null;
  }

  /** Whether a key was meant for the list. */
  key(event) {
    if (!this.open || event.ctrlKey || event.metaKey || event.altKey) return false;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in steps) {
      const goal = this.chosen + steps[event.key];
      const far = Math.abs(steps[event.key]) > 1;
      this.choose(far ? Math.max(0, Math.min(this.words.length - 1, goal)) : goal);
    } else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) this.accept();
    else if (event.key === "Escape") this.close();
    else return false;
    return true;
  }
}

/** Put a text in place of the selection, so that it can be undone. */
export function insert(area, text) {
  area.focus();
  if (document.execCommand("insertText", false, text)) return;
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input"));
}
