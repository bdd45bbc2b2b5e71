// Value and bar of a query over time, and below it who widened the bar. Drawn whole at each change:
// some hundred answers are a handful of paths.

import { shade } from "./bar.js";
import { el, put, svg } from "./dom.js";
import { number } from "./numbers.js";

const LEFT = 68;
const RIGHT = 14;
const TOP = 12;
const PLOT = 230;
const BETWEEN = 34;
const STRIP = 48;
const BOTTOM = 24;
const SECOND = 1000;
const MOST_TICKS = 20;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];
// Beyond so many usual widths a bar is cut off, or the others could not be seen.
const REACH = 3;
// So many usual gaps between exact answers mean that no shadow ran.
const LONG_GAP = 20;

/**
 * A chart; `told(pick, byKey)` gets what the cursor is on: {answer, shadow}, or null without one.
 * `draw({answers, shadow, owed, reached, audited})` takes answers by time, exact ones or none, a function that
 * says how far an answer may be off or null, the instant until which the last one holds, and
 * whether the exact ones go on.
 */
export function chart(label, told) {
  const canvas = svg("svg", { role: "img", "aria-label": label });
  const node = el(
    "div",
    {
      class: "chart", tabindex: 0, role: "group", "aria-label": `${label}. Left and right move through its answers.`,
      onkeydown: key, onpointermove: point, onpointerleave: () => pick(null, false), onblur: () => pick(null, false),
    },
    canvas,
  );
  let model = { answers: [], shadow: [], owed: () => null, reached: null, audited: false };
  let drawn = null;
  let at = null;
  let frame = 0;

  function draw(next) {
    model = next;
    if (!frame) frame = requestAnimationFrame(render);
  }

  function render() {
    frame = 0;
    const width = Math.max(node.clientWidth, 320);
    drawn = model.answers.length ? layout(model, width) : null;
    const height = (drawn?.foot ?? TOP + PLOT) + BOTTOM;
    canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
    canvas.setAttribute("width", width);
    canvas.setAttribute("height", height);
    canvas.setAttribute("aria-label", drawn ? summary(label, model.answers) : `${label}: no answer yet`);
    put(canvas, drawn ? [...picture(drawn), cursor()] : empty(width));
  }

  function cursor() {
    const mark = svg("g", { class: "cursor" });
    const span = at === null ? null : spanAt(drawn, at);
    if (!span) return mark;
    const x = drawn.x(Math.max(span.from, drawn.start));
    mark.append(svg("line", { x1: x, x2: x, y1: TOP, y2: drawn.foot }));
    if (span.answer.value !== null) mark.append(svg("circle", { cx: x, cy: drawn.y(span.answer.value), r: 4 }));
    return mark;
  }

  function pick(instant, byKey) {
    at = instant;
    const span = at === null || !drawn ? null : spanAt(drawn, at);
    canvas.querySelector(".cursor")?.replaceWith(drawn ? cursor() : svg("g", { class: "cursor" }));
    told(span ? { answer: span.answer, shadow: beside(drawn.shadow, span) } : null, byKey);
  }

  function point(event) {
    if (!drawn) return;
    const x = event.clientX - canvas.getBoundingClientRect().left;
    pick(drawn.start + ((x - LEFT) / (drawn.width - LEFT - RIGHT)) * (drawn.end - drawn.start), false);
  }

  function key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return pick(null, true);
    if (!drawn || !(event.key in moves)) return undefined;
    event.preventDefault();
    const last = drawn.spans.length - 1;
    const here = at === null ? last + (moves[event.key] < 0 ? 1 : 0) : drawn.spans.indexOf(spanAt(drawn, at));
    const next = Math.min(last, Math.max(0, here + moves[event.key]));
    return pick(drawn.spans[next].from, true);
  }

  const watch = new ResizeObserver(() => draw(model));
  watch.observe(node);
  return {
    node,
    draw,
    close() {
      watch.disconnect();
      cancelAnimationFrame(frame);
    },
  };
}

function empty(width) {
  return [svg("text", { class: "caption", x: width / 2, y: TOP + PLOT / 2, "text-anchor": "middle" }, "no answer yet")];
}

function summary(label, answers) {
  const known = answers.map((answer) => answer.value).filter((value) => value !== null);
  const range = known.length ? `between ${number(least(known))} and ${number(most(known))}` : "without a value";
  return `${label}: ${answers.length} answers, ${range}`;
}

const least = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
const most = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);

/** Where everything goes: spans of time in which an answer holds, and both scales. */
function layout({ answers, shadow, owed, reached, audited }, width) {
  const times = answers.map((answer) => Date.parse(answer.as_of));
  const start = times[0];
  const late = shadow.length ? Date.parse(shadow.at(-1).as_of) : start;
  const seen = Math.max(times.at(-1), late, reached ?? start);
  const end = seen + Math.max(0.02 * (seen - start), SECOND);
  const spans = spansOf(answers, times, end).map((span) => ({ ...span, owed: owed(span.answer) }));
  const exact = shadowSpans(shadow, audited ? end : null).filter((span) => span.until > start);
  const scale = extent(spans, exact);
  const x = (time) => LEFT + ((width - LEFT - RIGHT) * (Math.max(time, start) - start)) / (end - start);
  const y = (value) => {
    const held = Math.min(scale.high, Math.max(scale.low, value));
    return TOP + PLOT - (PLOT * (held - scale.low)) / (scale.high - scale.low);
  };
  const charged = spans.some((span) => span.answer.charges.length);
  const foot = TOP + PLOT + (charged ? BETWEEN + STRIP : 0);
  return { width, start, end, spans, shadow: exact, scale, x, y, charged, foot };
}

/** Each answer with the time it holds: until the next one. */
function spansOf(answers, times, end) {
  return answers.map((answer, i) => ({ answer, from: times[i], until: times[i + 1] ?? end }));
}

/** The same for a shadow: it runs for a while now and then, and says nothing of the time between. */
function shadowSpans(shadow, end) {
  const times = shadow.map((answer) => Date.parse(answer.as_of));
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  const long = LONG_GAP * (gaps[Math.floor(gaps.length / 2)] ?? SECOND);
  return spansOf(shadow, times, end ?? times.at(-1))
    .map((span, i) => (i < times.length - 1 ? { ...span, until: Math.min(span.until, span.from + long) } : span));
}

function spanAt(drawn, time) {
  return drawn.spans.findLast((span) => span.from <= time) ?? drawn.spans[0];
}

/** The exact answer that held when an answer was given. */
function beside(shadow, span) {
  const found = shadow.findLast((other) => other.from <= span.from);
  return found && span.from <= found.until ? found.answer : null;
}

function extent(spans, exact) {
  const known = spans.filter((span) => span.answer.value !== null);
  const values = known.map((span) => span.answer.value);
  if (!values.length) return { low: 0, high: 1 };
  const widths = known
    .filter(({ answer }) => answer.low !== null && answer.high !== null)
    .map(({ answer, owed }) => Math.max(answer.high - answer.low, 2 * (owed ?? 0)))
    .sort((a, b) => a - b);
  const usual = widths[Math.floor(widths.length / 2)] ?? 0;
  const room = REACH * usual || 0.5 * (most(values) - least(values)) || 0.05 * Math.abs(values[0]) || 1;
  const floor = least(values) - room;
  const roof = most(values) + room;
  const ends = known.flatMap(({ answer, owed }) => [
    answer.value, answer.low ?? answer.value, answer.high ?? answer.value,
    answer.value - (owed ?? 0), answer.value + (owed ?? 0),
  ]);
  const truths = exact.map(({ answer }) => answer.value).filter((value) => value !== null);
  const all = [...ends, ...truths].map((value) => Math.min(roof, Math.max(floor, value)));
  const pad = 0.06 * (most(all) - least(all)) || 0.5 * room;
  return { low: least(all) - pad, high: most(all) + pad };
}

function picture(drawn) {
  const widths = drawn.charged ? strip(drawn) : [];
  return [...grid(drawn), ...shading(drawn), ...band(drawn), ...lines(drawn), ...widths, ...versions(drawn)];
}

function grid({ width, scale, start, end, x, y, foot }) {
  const nodes = [];
  for (const value of ticks(scale.low, scale.high)) {
    nodes.push(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
    nodes.push(svg("text", { class: "axis", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, number(value)));
  }
  const step = stride((end - start) / SECOND, Math.max(width / 110, 2));
  for (let time = Math.ceil(start / SECOND / step) * step * SECOND; time <= end; time += step * SECOND) {
    nodes.push(svg("line", { class: "grid", x1: x(time), x2: x(time), y1: TOP, y2: foot }));
    if (x(time) > width - RIGHT - 20) continue;
    nodes.push(svg("text", { class: "axis", x: x(time), y: foot + 17, "text-anchor": "middle" }, moment(time, step)));
  }
  return nodes;
}

/** Seconds between two marks, so that a span has so many at most; of long ones whole days. */
function stride(span, count) {
  const day = STEPS.at(-1);
  return STEPS.find((size) => span / size <= count) ?? day * Math.ceil(span / day / count);
}

function moment(time, step) {
  const text = new Date(time).toISOString();
  if (step >= 30 * 86_400) return text.slice(0, 10);
  if (step >= 86_400) return text.slice(5, 10);
  return step >= 60 ? text.slice(11, 16) : text.slice(11, 19);
}

function ticks(low, high) {
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const found = [];
  const first = Math.ceil(low / step);
  for (let n = 0; (first + n) * step <= high && n <= MOST_TICKS; n += 1) found.push((first + n) * step + 0);
  // Beyond 2 ** 53 neighbours may be the same number.
  return [...new Set(found)];
}

/** Times without a full answer behind the chart, times of a broken contract as a line on top. */
function shading({ spans, x }) {
  const path = (chosen, top, height) => chosen
    .map((span) => `M${x(span.from)},${top}H${x(span.until)}v${height}H${x(span.from)}Z`).join("");
  const interrupted = spans.filter(({ answer }) => answer.basis === "interrupted");
  const broken = spans.filter(({ answer }) => !answer.contract_met);
  return [
    svg("path", { class: "interrupted", d: path(interrupted, TOP, PLOT) }),
    svg("path", { class: "broken", d: path(broken, TOP - 6, 4) }),
  ];
}

/** Neighbours for which `take` gives numbers, as runs. */
function runs(spans, take) {
  const found = [];
  let open = null;
  for (const span of spans) {
    const taken = take(span);
    if (taken === null) open = null;
    else if (open) open.push({ ...span, ...taken });
    else found.push((open = [{ ...span, ...taken }]));
  }
  return found;
}

const moved = (span) => (span.answer.slope ?? 0) * ((span.until - span.from) / SECOND);

/** A line through spans, level while an answer holds, or along its slope. */
function stepped(run, value, { x, y }) {
  return run.map((span, i) => {
    const from = `${x(span.from)},${y(value(span))}`;
    const until = `${x(span.until)},${y(value(span) + moved(span))}`;
    return `${i ? "L" : "M"}${from}L${until}`;
  }).join("");
}

function back(run, value, { x, y }) {
  return [...run].reverse()
    .map((span) => `L${x(span.until)},${y(value(span) + moved(span))}L${x(span.from)},${y(value(span))}`)
    .join("");
}

function band(drawn) {
  const { low, high } = drawn.scale;
  const bars = runs(drawn.spans, ({ answer }) =>
    answer.value === null || answer.basis === "interrupted" && answer.low === null
      ? null : { low: answer.low ?? low, high: answer.high ?? high });
  const d = bars.map((run) => `${stepped(run, (s) => s.high, drawn)}${back(run, (s) => s.low, drawn)}Z`).join("");
  return [svg("path", { class: "band", d })];
}

function lines(drawn) {
  const owed = runs(drawn.spans, (span) => (span.answer.value === null || !span.owed ? null : {}));
  const outline = owed.map((run) =>
    stepped(run, (s) => s.answer.value + s.owed, drawn) + stepped(run, (s) => s.answer.value - s.owed, drawn));
  const valued = (span) => (span.answer.value === null ? null : {});
  const line = (spans) => runs(spans, valued).map((run) => stepped(run, (s) => s.answer.value, drawn)).join("");
  return [
    svg("path", { class: "owed", d: outline.join("") }),
    svg("path", { class: "shadow", d: line(drawn.shadow) }),
    svg("path", { class: "line", d: line(drawn.spans) }),
  ];
}

/** Widths by who is charged with them, stacked; one without bound fills the strip. */
function strip({ spans, width, x }) {
  const top = TOP + PLOT + BETWEEN;
  const total = (answer) => answer.charges.reduce((sum, charge) => sum + (charge.width ?? 0), 0);
  const owed = spans.map((span) => 2 * (span.owed ?? 0));
  const usual = spans.map((span) => total(span.answer)).sort((a, b) => a - b);
  const cut = REACH * (usual[Math.floor(0.9 * usual.length)] ?? 0);
  const largest = Math.max(most(owed), Math.min(most(usual), cut)) || 0;
  const tall = (size) => Math.min(STRIP, largest ? (STRIP * size) / (1.08 * largest) : 0);
  const paths = new Map();
  for (const { answer, from, until } of spans) {
    let foot = top + STRIP;
    for (const charge of answer.charges) {
      const height = charge.width === null ? foot - top : Math.min(tall(charge.width), foot - top);
      const piece = `M${x(from)},${foot}H${x(until)}v${-height}H${x(from)}Z`;
      paths.set(charge.by, (paths.get(charge.by) ?? "") + piece);
      foot -= height;
    }
  }
  const promised = runs(spans, (span) => (span.owed ? {} : null)).map((run) =>
    stepped(run, (s) => 2 * s.owed, { x, y: (size) => top + STRIP - tall(size) }));
  return [
    svg("text", { class: "caption", x: LEFT, y: top - 9 }, "Width of the bar, by who widened it"),
    svg("line", { class: "foot", x1: LEFT, x2: width - RIGHT, y1: top + STRIP, y2: top + STRIP }),
    ...[...paths].map(([by, d]) => svg("path", { class: shade(by), d }, svg("title", {}, by))),
    svg("path", { class: "owed", d: promised.join("") }),
    svg("text", { class: "axis", x: LEFT - 8, y: top + STRIP + 4, "text-anchor": "end" }, "0"),
    largest ? svg("text", { class: "axis", x: LEFT - 8, y: top + STRIP - tall(largest) + 4, "text-anchor": "end" }, number(Number(largest.toPrecision(3)))) : null,
  ].filter(Boolean);
}

/** Where another version of the question begins. */
function versions({ spans, x, width }) {
  const fresh = spans.filter((span, i) => i > 0 && span.answer.version !== spans[i - 1].answer.version);
  return fresh.flatMap((span) => [
    svg("line", { class: "version", x1: x(span.from), x2: x(span.from), y1: TOP, y2: TOP + PLOT }),
    svg("text", { class: "axis", y: TOP + 11, ...aside(x(span.from), width) }, `version ${span.answer.version}`),
  ]);
}

/** Beside a line, on the side where there is room. */
function aside(x, width) {
  return x > width - RIGHT - 80 ? { x: x - 4, "text-anchor": "end" } : { x: x + 4 };
}
