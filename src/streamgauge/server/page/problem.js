// Errors as all pages show them: what it is, the detail, and what to do.

import { el } from "./dom.js";

/** A box that tells an error of the server, or one of the page. */
export function problem(error) {
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("strong", {}, error.title ?? error.message ?? String(error)),
    error.detail ? el("p", { class: "detail" }, error.detail) : null,
    error.hint ? el("p", { class: "hint" }, error.hint) : null,
  );
}
