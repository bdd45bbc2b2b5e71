// The frame of the page: which page is shown, who is signed in, whether the server is heard.

import { get, useToken } from "./api.js";
import { announce, el, put } from "./dom.js";
import * as alerts from "./alerts.js";
import * as audit from "./audit.js";
import * as editor from "./editor.js";
import * as queries from "./queries.js";
import * as query from "./query.js";
import { tell } from "./story.js";
import * as streams from "./streams.js";
import * as system from "./system.js";

// First part of the address after #/ and what shows it; those with a word are in the menu.
const PAGES = {
  queries: { word: "Queries", show: (place, rest) => (rest ? query : queries).show(place, rest) },
  streams: { word: "Streams", show: streams.show },
  alerts: { word: "Alerts", show: alerts.show },
  audit: { word: "Audit", show: audit.show },
  system: { word: "System", show: system.show },
  editor: { word: "Editor", show: editor.show },
};

const place = document.getElementById("main");
let leave = null;

function route() {
  const [first, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const name = first in PAGES ? first : "queries";
  leave?.();
  put(place);
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const what = rest.length ? decodeURIComponent(rest.join("/")) : null;
  document.title = `${what ?? PAGES[name].word} - Streamgauge`;
  leave = PAGES[name].show(place, what) ?? null;
}

function menu() {
  const links = Object.entries(PAGES).map(([name, { word }]) =>
    el("a", { href: `#/${name}`, "data-page": name }, word),
  );
  put(document.getElementById("nav"), ...links);
}

function signIn() {
  if (document.querySelector("dialog[open]")) return;
  const shown = el("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  const dialog = el(
    "dialog",
    { "aria-labelledby": "sign-in-title" },
    el(
      "form",
      { method: "dialog" },
      el("h2", { id: "sign-in-title" }, "A token, please"),
      el("p", {}, "This server asks for a token. It is kept until this tab is closed."),
      el("label", {}, "Token ", shown),
      el("button", {}, "Sign in"),
    ),
  );
  dialog.addEventListener("close", () => {
    useToken(shown.value.trim());
    dialog.remove();
    start();
  });
  document.body.append(dialog);
  dialog.showModal();
}

async function start() {
  try {
    const about = await get("/about");
    if (about.story) tell(document.getElementById("story"));
    route();
  } catch (error) {
    if (error.status !== 401) announce(`${error.title}. ${error.hint}`);
    if (error.status === 0) setTimeout(start, 1000);
  }
}

document.addEventListener("sign-in", signIn);
window.addEventListener("hashchange", () => {
  route();
  place.focus();
});
menu();
start();
