// The form that creates an alert.

import { get, send } from "./api.js";
import { announce, el, put } from "./dom.js";
import { problem } from "./problem.js";

const LEVELS = ["certainly above", "possibly above", "certainly below", "possibly below"];
const OCCASIONS = [...LEVELS, "contract broken", "interrupted", "alarm"];
const SAID = {
  "certainly above": "the whole bar lies above the level",
  "possibly above": "some of the bar lies above the level",
  "certainly below": "the whole bar lies below the level",
  "possibly below": "some of the bar lies below the level",
  "contract broken": "an answer does not keep its contract",
  interrupted: "a source of the answer is silent",
  alarm: "the auditor finds that a contract is not kept",
};
/** The form; `kinds` are the kinds of targets by name; `made` is called when an alert was created. */
export function alertForm(kinds, made) {
  const names = el("datalist", { id: "alert-queries" });
  const field = {
    name: el("input", { name: "name", required: true, maxlength: 200, autocomplete: "off" }),
    query: el("input", { name: "query", required: true, list: "alert-queries", autocomplete: "off" }),
    when: choice("when", OCCASIONS.map((word) => [word, word])),
    level: el("input", { name: "level", type: "number", step: "any", required: true }),
    clear: el("input", { name: "clear", type: "number", step: "any", placeholder: "the level" }),
    kind: choice("kind", Object.entries(kinds).map(([kind, { word }]) => [kind, word])),
    address: el("input", { name: "address", required: true, maxlength: 2000, autocomplete: "off" }),
    detail: el("input", { name: "detail", maxlength: 500, autocomplete: "off" }),
  };
  const words = Object.fromEntries(Object.keys(field).map((name) => [name, el("span", {})]));
  const says = { name: "Name", query: "On query", when: "When", level: "Level", clear: "Clear at", kind: "Deliver to" };
  for (const [name, word] of Object.entries(says)) put(words[name], word);
  const labels = Object.fromEntries(Object.entries(field).map(([name, input]) => [name, el("label", {}, words[name], input)]));
  const meaning = el("p", { class: "faint meaning", "aria-live": "polite" });
  const trouble = el("div", {});
  const form = el("form", { class: "sheet alert-form", onsubmit: submitted },
    ...Object.values(labels), el("button", { class: "first" }, "Create alert"), meaning, trouble, names);

  function fit() {
    const when = field.when.value;
    const levelled = LEVELS.includes(when);
    for (const name of ["level", "clear"]) shown(name, levelled);
    shown("query", when !== "alarm");
    field.clear.required = false;
    const { address, example, detail, sample } = kinds[field.kind.value];
    put(words.address, address);
    field.address.placeholder = example;
    put(words.detail, detail ?? "Detail");
    field.detail.placeholder = sample ?? "";
    shown("detail", detail !== null);
    put(meaning, `Raised when ${SAID[when]}; told once, and once more when it is over.`);
  }

  function shown(name, wanted) {
    labels[name].hidden = !wanted;
    field[name].required = wanted;
    field[name].disabled = !wanted;
  }

  async function submitted(event) {
    event.preventDefault();
    put(trouble);
    const given = (name) => (field[name].disabled || field[name].value === "" ? null : field[name].value);
    const level = (name) => (given(name) === null ? null : Number(given(name)));
    const target = { kind: field.kind.value, address: given("address"), detail: given("detail") ?? "" };
    try {
      await send("POST", "/alerts", {
        name: given("name"), query: given("query"), when: field.when.value,
        level: level("level"), clear: level("clear"), targets: [target],
      });
      announce(`Alert ${given("name")} is created.`);
      form.reset();
      fit();
      await made();
    } catch (error) {
      put(trouble, problem(error));
    }
  }

  async function learn() {
    const { queries } = await get("/queries?limit=1000");
    put(names, queries.filter((query) => query.answers === "numbers").map((query) => el("option", { value: query.name })));
  }

  field.when.addEventListener("change", fit);
  field.kind.addEventListener("change", fit);
  field.query.addEventListener("focus", () => learn().catch(() => put(names)), { once: true });
  fit();
  return el("section", { "aria-labelledby": "new-alert-title" }, el("h2", { id: "new-alert-title" }, "New alert"), form);
}

function choice(name, pairs) {
  return el("select", { name }, pairs.map(([value, word]) => el("option", { value }, word)));
}
