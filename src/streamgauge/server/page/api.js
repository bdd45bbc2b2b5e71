// Speaking with the server: requests, problems, and the live feed with resume.

import { announce } from "./dom.js";

const TOKEN = "streamgauge.token";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;

/** An error of the server: what, the numbers, what to do. */
export class Problem extends Error {
  constructor(told, status) {
    super(told.title ?? "the server cannot be reached");
    this.title = this.message;
    this.detail = told.detail ?? "";
    this.hint = told.hint ?? "";
    this.status = status;
    // Where in a text it is, when it is about one: line and column from 1, and the length.
    this.place = told.place ?? null;
  }
}

export function token() {
  return sessionStorage.getItem(TOKEN);
}

export function useToken(text) {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

function headers(more = {}) {
  const known = token();
  return known ? { ...more, Authorization: `Bearer ${known}` } : more;
}

/** A path of the interface with its names escaped: path`/queries/${name}`. */
export function path(parts, ...names) {
  return parts.reduce((made, part, i) => made + encodeURIComponent(names[i - 1]) + part);
}

function unheard(error) {
  if (error.name === "AbortError") throw error;
  throw new Problem({ detail: String(error.message), hint: "look whether it runs" }, 0);
}

async function fetched(method, where, { body, version, signal, more } = {}) {
  const sent = { method, headers: headers(more), signal };
  if (body !== undefined) {
    sent.body = JSON.stringify(body);
    sent.headers["Content-Type"] = "application/json";
  }
  if (version !== undefined) sent.headers["If-Match"] = `"${version}"`;
  const response = await fetch(`v1${where}`, sent).catch(unheard);
  if (response.status === 401) document.dispatchEvent(new CustomEvent("sign-in"));
  if (!response.ok && response.status !== 304) {
    throw new Problem(await response.json().catch(() => ({})), response.status);
  }
  return response;
}

async function asked(method, where, options) {
  const response = await fetched(method, where, options);
  return response.status === 204 ? null : response.json().catch(unheard);
}

/** Whether somebody with a role may declare streams and alerts: the roles above it may too. */
export const administers = (role) => ["admin", "functions", "operator"].includes(role);

export const get = (where, options) => asked("GET", where, options);
export const send = (method, where, body, options = {}) => asked(method, where, { ...options, body });

/**
 * Follow a live feed until the function that is given back is called. After a break it comes again
 * with the last id, so that nothing is missed. `on.event(kind, data)` gets each event,
 * `on.state(connected)` says when the connection comes or goes.
 */
export function follow(where, on, since = null) {
  const halt = new AbortController();
  let last = null;
  let wait = FIRST_WAIT;
  const first = since === null ? "" : `${where.includes("?") ? "&" : "?"}after_epoch=${since}`;

  async function connect() {
    const more = last === null ? {} : { "Last-Event-ID": last };
    const response = await fetch(`v1${where}${last === null ? first : ""}`, {
      headers: headers({ Accept: "text/event-stream", ...more }),
      signal: halt.signal,
    });
    if (response.status === 401) document.dispatchEvent(new CustomEvent("sign-in"));
    if (!response.ok) throw new Problem(await response.json().catch(() => ({})), response.status);
    on.state?.(true);
    wait = FIRST_WAIT;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let kept = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (kept + value).split("\n\n");
      kept = blocks.pop();
      blocks.forEach(take);
    }
  }

  function take(block) {
    const fields = { event: "message", data: "" };
    for (const line of block.split("\n")) {
      const colon = line.indexOf(": ");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (fields.id !== undefined) last = fields.id;
    if (fields.data) on.event(fields.event, JSON.parse(fields.data));
  }

  async function stay() {
    while (!halt.signal.aborted) {
      try {
        await connect();
      } catch (error) {
        if (halt.signal.aborted) return;
        if (error.status >= 400 && error.status < 500 && error.status !== 429) {
          on.state?.(false, error);
          return;
        }
      }
      if (halt.signal.aborted) return;
      on.state?.(false);
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  }

  stay();
  return () => halt.abort();
}

/**
 * A resource that is looked at again and again: each call gives it, or null when it is as before.
 * The server tells by its tag, and sends nothing then.
 */
export function changing() {
  let known = null;
  return async (where, options = {}) => {
    const same = known?.where === where ? { "If-None-Match": known.tag } : {};
    const response = await fetched("GET", where, { ...options, more: same });
    if (response.status === 304) return null;
    known = { where, tag: response.headers.get("ETag") };
    return response.json().catch(unheard);
  };
}

let audible = true;

/** Say whether the server is heard, once for each change. */
export function heard(now) {
  if (now || audible) announce(now ? "live" : "the server is not heard; trying again");
  audible = now;
}

/**
 * Call again and again, never twice at once and only while the page is looked at, until the function
 * that is given back is called. `failed` gets problems other than a server that is not heard.
 */
export function repeat(seconds, look, failed = () => {}) {
  let timer = null;
  let over = false;
  let resting = false;
  async function round() {
    resting = document.hidden;
    if (resting) return;
    try {
      await look();
      if (!over) heard(true);
    } catch (error) {
      if (over || error.name === "AbortError") return;
      if (!(error instanceof Problem)) throw error;
      if (error.status === 0) heard(false);
      else failed(error);
    } finally {
      if (!over) timer = setTimeout(round, 1000 * seconds);
    }
  }
  function back() {
    if (resting && !document.hidden) round();
  }
  document.addEventListener("visibilitychange", back);
  round();
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", back);
  };
}
