// How the job goes: its figures, how they went over the last epochs, who feeds it, what it refused.

import { get, repeat } from "./api.js";
import { el, put, svg } from "./dom.js";
import { bytes, clock, number, percent, seconds } from "./numbers.js";
import { cell, grid, section } from "./panels.js";
import { problem } from "./problem.js";

const LOOK_SECONDS = 2;
const KEPT = 300;
// Rates are taken over the epochs that landed within so many seconds.
const RATE_SECONDS = 10;
const WIDTH = 160;
const HEIGHT = 36;
const LONG_LAG = 10;

/** Show the system; gives back what ends it. */
export function show(place) {
  const trouble = el("div", {});
  const now = tiles("tiles now");
  const courses = tiles("tiles courses");
  const since = el("p", { class: "faint since" });
  const agents = agentTable();
  const refused = refusedTable();
  let epochs = [];

  put(place, el("h1", {}, "System"), trouble, now.node, courses.node, since,
    section("agents-title", "Agents", agents.node), section("refused-title", "Refused changes", refused.node));

  async function look() {
    const last = epochs.at(-1)?.epoch ?? 0;
    const [progress, fresh, feeding] = await Promise.all([
      get("/progress"), get(`/epochs?newest=${KEPT}&after=${last}`), get("/agents?limit=500"),
    ]);
    // A home that was made anew counts from the start.
    if (fresh.epoch < last) epochs = [];
    epochs = [...epochs, ...fresh.epochs].slice(-KEPT);
    put(trouble, progress.failure ? problem({ title: "The job stopped", detail: progress.failure, hint: "Mend the cause and start it again: it goes on from the last committed epoch." }) : null);
    draw(progress);
    put(since, epochs.length ? `Lines show the last ${number(epochs.length)} epochs, since ${clock(epochs[0].landed_at)}.` : "No epoch is committed yet.");
    agents.draw(feeding);
    refused.draw(epochs);
  }

  function draw(p) {
    const age = p.epoch_age_seconds;
    now.draw("Job", p.job, p.ready ? "comes along" : "does not come along", p.job === "stopped" ? "bad" : p.ready ? "good" : "warn");
    now.draw("Epoch", number(p.epoch), age === null ? "none yet" : `${seconds(Math.max(age, 0))} ago`);
    now.draw("Epochs waiting", number(p.waiting), "landed, not answered", p.waiting > 1 ? "warn" : "");
    now.draw("Lag", p.lag_seconds ? seconds(p.lag_seconds) : "none", "of the oldest that waits", p.lag_seconds > LONG_LAG ? "warn" : "");
    now.draw("Queries", number(p.queries), "with shadows");
    now.draw("Subscribers", number(p.subscribers), "of live feeds");
    now.draw("Missed deadlines", number(p.missed), "of deferred queries", p.missed ? "warn" : "");
    drawCourses(p);
  }

  function drawCourses(p) {
    const rate = rates(epochs, p.epoch_age_seconds);
    const course = (take) => epochs.map((record, i) => ({ at: Date.parse(record.landed_at), value: take(record, i) }));
    const recent = (take) => number(epochs.reduce((sum, record) => sum + take(record), 0));
    const before = (i) => epochs[i - 1]?.overloaded ?? epochs[0].overloaded;
    courses.draw("Time for an epoch", seconds(p.epoch_seconds), `at most ${seconds(Math.max(0, ...epochs.map((record) => record.seconds)))}`, "", course((record) => record.seconds));
    courses.draw("Rows a second", number(rate.rows), `${number(Math.round(p.rows_per_second))} while it works`, "", course((record) => record.rows));
    courses.draw("Answers a second", number(rate.answers), `${number(p.answers)} in the last epoch`, "", course((record) => record.answers));
    courses.draw("State", bytes(p.state_bytes), "of all shards", "", course((record) => record.state_bytes));
    courses.draw("Late rows", number(p.late), `${recent((record) => record.late)} in the epochs shown`, "", course((record) => record.late));
    courses.draw("Dead letters", number(p.dead), `${recent((record) => record.dead)} in the epochs shown`, "", course((record) => record.dead));
    courses.draw("Ticks overloaded", number(p.overloaded), "of promising queries", p.overloaded ? "warn" : "",
      course((record, i) => Math.max(0, record.overloaded - before(i))));
    courses.draw("Looked at", percent(p.share), "by promising queries", p.share < 1 ? "warn" : "", course((record) => record.share));
  }

  return repeat(LOOK_SECONDS, look, (error) => put(trouble, problem(error)));
}

/** Tiles by name, made when they are first drawn. */
function tiles(look) {
  const made = new Map();
  const node = el("dl", { class: look });

  function tile(name) {
    const parts = { value: el("dd", {}), note: el("dd", { class: "note" }), line: trend() };
    made.set(name, parts);
    node.append(el("div", {}, el("dt", {}, name), parts.value, parts.note, el("dd", { class: "course", hidden: true }, parts.line)));
    return parts;
  }

  function draw(name, value, note, tone = "", course = []) {
    const parts = made.get(name) ?? tile(name);
    parts.value.textContent = value;
    parts.value.className = tone;
    parts.note.textContent = note;
    retrend(parts.line, course);
  }

  return { node, draw };
}

/** Rows and answers by the clock, over the newest epochs. */
function rates(epochs, age) {
  if (!epochs.length) return { rows: 0, answers: 0 };
  const now = Date.parse(epochs.at(-1).landed_at) + 1000 * Math.max(age ?? 0, 0);
  const recent = epochs.filter((record) => Date.parse(record.landed_at) > now - 1000 * RATE_SECONDS);
  const first = Date.parse(epochs[0].landed_at);
  const span = Math.max(Math.min(RATE_SECONDS, (now - first) / 1000), 1);
  const each = (take) => Number((recent.reduce((sum, record) => sum + take(record), 0) / span).toPrecision(3));
  return { rows: each((record) => record.rows), answers: each((record) => record.answers) };
}

function trend() {
  return svg("svg", { class: "trend", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "area" }), svg("path", { class: "line" }));
}

/** Show another course of a figure; its foot is zero. */
function retrend(drawn, course) {
  const [area, line] = drawn.children;
  drawn.parentNode.hidden = course.length < 2;
  if (course.length < 2) return;
  const start = course[0].at;
  const span = course.at(-1).at - start || 1;
  const top = Math.max(...course.map((point) => point.value)) || 1;
  const points = course.map(({ at, value }) =>
    `${((WIDTH * (at - start)) / span).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 3) * value) / top).toFixed(1)}`);
  line.setAttribute("d", `M${points.join("L")}`);
  area.setAttribute("d", `M0,${HEIGHT}L${points.join("L")}L${WIDTH},${HEIGHT}Z`);
}

function agentTable() {
  const told = el("p", {});
  const shown = grid("Agents");

  function draw({ rows, total }) {
    const silent = rows.filter((row) => row.state !== "heard").length;
    const read = rows.reduce((sum, row) => sum + (row.readings ?? 0), 0);
    const sent = rows.reduce((sum, row) => sum + (row.updates ?? 0), 0);
    put(told, rows.length ? `${number(total)} ${total === 1 ? "agent" : "agents"}, ` : "No stream of this job is fed by agents.",
      rows.length ? el("span", { class: silent ? "warn" : "good" }, silent ? `${number(silent)} interrupted` : "all heard") : null,
      read ? `; ${share(1 - sent / read)} of ${number(read)} readings stayed inside their bounds and were not sent.` : null);
    shown.draw(["stream", "agent", "state", ".last heard", ".objects", ".readings", ".sent", ".suppressed", ".late", ".refused"], rows.map((row) =>
      el("tr", {},
        el("td", {}, row.stream),
        el("th", { scope: "row" }, row.agent),
        el("td", {}, el("span", { class: `state ${row.state === "heard" ? "good" : "warn"}` }, row.state ?? "unknown")),
        ...[
          row.heard ? clock(row.heard) : "never", number(row.objects ?? 0), number(row.readings ?? 0), number(row.updates ?? 0),
          row.readings ? share(Math.max(0, 1 - row.updates / row.readings)) : "–", number(row.late ?? 0), number(row.refused ?? 0),
        ].map(cell))));
  }

  return { node: el("div", {}, told, shown.node), draw };
}

const share = (part) => percent(Number(part.toFixed(3)));

function refusedTable() {
  const told = el("p", {});
  const shown = grid("Refused changes");

  function draw(epochs) {
    const found = epochs.flatMap((record) => record.refused).reverse();
    put(told, `${found.length ? number(found.length) : "None"} in the last ${number(epochs.length)} epochs.`);
    shown.draw([".epoch", "what", "detail", "hint"], found.map((error) =>
      el("tr", {}, cell(number(error.epoch)), el("td", {}, error.title), el("td", {}, error.detail), el("td", {}, error.hint))));
  }

  return { node: el("div", {}, told, shown.node), draw };
}
