// The frame of the page: which page is shown, who is signed in, whether the server is heard.

import { get, heard, useToken } from "./api.js";
import { el, put } from "./dom.js";
import * as alerts from "./alerts.js";
import * as audit from "./audit.js";
import * as editor from "./editor.js";
import { problem } from "./problem.js";
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
let leave = () => {};

function route() {
  const [first, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const name = first || "queries";
  const what = rest.length ? decoded(rest.join("/")) : null;
  leave();
  leave = () => {};
  put(place);
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const known = Object.hasOwn(PAGES, name);
  document.title = `${what ?? (known ? PAGES[name].word : "No such page")} - Streamgauge`;
  leave = known ? shown(PAGES[name], what) : missing(name);
}

/** Show a page, which may take its time; gives what ends it, also when it is not all there yet. */
function shown(page, what) {
  // Each has a place of its own, so that one that comes late does not draw over the next.
  const inside = put(place, el("div")).firstChild;
  let over = false;
  let end = null;
  Promise.resolve()
    .then(() => (over ? null : page.show(inside, what)))
    .then((ending) => {
      end = typeof ending === "function" ? ending : null;
      if (over) end?.();
    })
    .catch((error) => {
      if (over || error.name === "AbortError") return;
      put(inside, problem(error));
      // A mistake of the page itself belongs into the log as well.
      if (error.status === undefined) throw error;
    });
  return () => {
    over = true;
    end?.();
  };
}

function missing(name) {
  put(place, problem({
    title: "There is no such page",
    detail: `The address ends with ${name}.`,
    hint: "Choose one from the menu above.",
  }));
  return () => {};
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // Typed by hand, with a percent sign that escapes nothing.
    return text;
  }
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
      el("p", {}, "Changes need a token. `streamgauge token --home DIR` prints it. It is kept until this tab is closed."),
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

/** Whoever shows no token may read; this button is how to change something. */
function offerToken(wanted) {
  document.getElementById("offer-token")?.remove();
  if (wanted) document.getElementById("nav").append(el("button", { id: "offer-token", onclick: signIn }, "Sign in"));
}

async function start() {
  try {
    const about = await get("/about");
    document.body.dataset.role = about.role;
    offerToken(about.name === "anyone");
    heard(true);
    if (about.story) tell(document.getElementById("story"));
    route();
  } catch (error) {
    if (error.status === undefined) throw error;
    if (error.status === 0) {
      heard(false);
      setTimeout(start, 1000);
    } else if (error.status !== 401) put(place, problem(error));
  }
}

/** Take the token of the address that the server printed, and leave it out of the history. */
function takeToken() {
  const shown = /^#token=([\w-]+)$/.exec(location.hash);
  if (!shown) return;
  useToken(shown[1]);
  history.replaceState(null, "", location.pathname);
}

document.addEventListener("sign-in", signIn);
document.querySelector(".skip").addEventListener("click", (event) => {
  // The address says which page is shown, so this link must not become a part of it.
  event.preventDefault();
  place.focus();
});
window.addEventListener("hashchange", () => {
  route();
  place.focus();
});
takeToken();
menu();
start();
