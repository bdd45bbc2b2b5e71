// The state of a query in one word, and why. The server's board has the same rule for its counts.

import { el } from "./dom.js";
import { number, percent } from "./numbers.js";

const OUTSIDE = ["interruption", "late rows"];

/** What is said of each state, and its colour. */
export const STATES = {
  met: { word: "met", tone: "good" },
  broken: { word: "not met", tone: "bad" },
  degraded: { word: "degraded", tone: "warn" },
  suspended: { word: "suspended", tone: "bad" },
  paused: { word: "paused", tone: "faint" },
  waiting: { word: "waiting", tone: "faint" },
};

/** The state that an answer puts its query into. */
export function stateOf(answer) {
  if (answer.contract_met) return "met";
  const partial = answer.value === null || answer.coverage < 1 || answer.share < 1;
  const outside = answer.charges.some((charge) => OUTSIDE.includes(charge.by));
  return partial || outside || answer.basis === "interrupted" ? "degraded" : "broken";
}

/** Why a contract is not met, in a few words; `silent` are names of those that are not heard. */
export function reason(answer, silent = []) {
  if (answer === null || answer.contract_met) return "";
  if (answer.basis === "interrupted" || answer.charges.some((charge) => charge.by === "interruption")) {
    if (!silent.length) return "interrupted: sensor silent";
    const more = silent.length > 1 ? ` and ${silent.length - 1} more` : "";
    return `interrupted: ${silent[0]}${more} silent`;
  }
  if (answer.value === null) return "nothing to answer from";
  if (answer.share < 1) return `looked at ${percent(answer.share)}`;
  if (answer.coverage < 1) return `covers ${percent(Math.min(answer.coverage, 0.999))}`;
  const late = answer.charges.find((charge) => charge.by === "late rows");
  if (late) return `late rows: ${late.width === null ? "without bound" : number(late.width)}`;
  return "bar wider than owed";
}

/** A small label of a state. */
export function chip(state) {
  return rechip(el("span", { class: "state" }), state);
}

export function rechip(drawn, state) {
  const { word, tone } = STATES[state] ?? { word: state, tone: "faint" };
  if (drawn.textContent !== word) drawn.textContent = word;
  drawn.className = `state ${tone}`;
  drawn.dataset.state = state;
  return drawn;
}
