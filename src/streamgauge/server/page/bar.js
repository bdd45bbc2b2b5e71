// The bar around an answer, split by who widened it. The one way a number of an answer is drawn.

import { el, svg } from "./dom.js";
import { interval, number, spoken } from "./numbers.js";

const WIDTH = 200;
const HEIGHT = 18;
const COLOURS = 8;
const shades = new Map();

/** The class that colours a charge; equal names have equal colours while the page lives. */
export function shade(by) {
  if (!shades.has(by)) shades.set(by, shades.size % COLOURS);
  return `charge-${shades.get(by)}`;
}

/** An answer: its value, and its bar on a scale from `scale.low` to `scale.high`. */
export function figure(answer, scale = around([answer])) {
  const drawn = el("span", { class: "answer" }, el("span", { class: "value" }), blank(WIDTH, HEIGHT));
  return refigure(drawn, answer, scale);
}

/** Show another answer in a figure that is there already, so that its bar glides. */
export function refigure(drawn, answer, scale = around([answer])) {
  const [value, picture] = drawn.children;
  drawn.setAttribute("data-basis", answer.basis);
  drawn.setAttribute("data-met", answer.contract_met);
  const text = number(answer.value);
  if (value.textContent !== text) value.textContent = text;
  rebar(picture, answer, scale, WIDTH, HEIGHT);
  return drawn;
}

/** Only the bar. */
export function bar(answer, scale = around([answer]), width = WIDTH, height = HEIGHT) {
  return rebar(blank(width, height), answer, scale, width, height);
}

function blank(width, height) {
  const drawn = svg("svg", { class: "bar", role: "img", viewBox: `0 0 ${width} ${height}`, width, height });
  drawn.append(svg("title"), svg("rect", { class: "track", x: 0, y: height / 2 - 1, width, height: 2 }));
  return drawn;
}

function rebar(drawn, answer, scale, width, height) {
  const label = spoken(answer);
  drawn.setAttribute("aria-label", label);
  drawn.setAttribute("data-low", answer.low ?? "");
  drawn.setAttribute("data-high", answer.high ?? "");
  drawn.firstChild.textContent = label;
  const pieces = answer.value === null ? [] : pictured(answer, scale, width, height);
  // The title and the track stay; pieces are used again where they are.
  while (drawn.children.length > pieces.length + 2) drawn.lastChild.remove();
  pieces.forEach((piece, i) => {
    let rect = drawn.children[i + 2];
    if (rect === undefined) {
      rect = svg("rect", {}, svg("title"));
      drawn.append(rect);
    }
    for (const name of ["class", "x", "y", "width", "height"]) rect.setAttribute(name, piece[name]);
    rect.firstChild.textContent = piece.title;
  });
  return drawn;
}

/** The rectangles of a bar: one for each charge, and the tick at the value. */
function pictured(answer, scale, width, height) {
  const at = placer(scale, width);
  const low = answer.low === null ? 0 : at(answer.low);
  const high = answer.high === null ? width : at(answer.high);
  const size = Math.max(high - low, 2);
  const spread = parts(answer, Math.min(low, width - size), size);
  const tick = { class: "tick", x: at(answer.value) - 1, y: 0, width: 2, height, title: number(answer.value) };
  return [...spread.map((part) => ({ ...part, y: 4, height: height - 8 })), tick];
}

/** Pieces of a bar in proportion to its charges; one plain piece when nobody is charged. */
export function parts(answer, low, width) {
  const charged = answer.charges.filter((charge) => charge.width === null || charge.width > 0);
  if (!charged.length) return [{ x: low, width, class: "exact", title: interval(answer) }];
  const bounded = charged.map((charge) => charge.width).filter((size) => size !== null);
  const largest = Math.max(...bounded, 0) || 1;
  const sizes = charged.map((charge) => charge.width ?? largest);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  let x = low;
  return charged.map((charge, i) => {
    const piece = { x, width: (width * sizes[i]) / whole, class: shade(charge.by) };
    x += piece.width;
    const said = charge.width === null ? "without bound" : number(charge.width);
    return { ...piece, title: `${charge.by}: ${said}` };
  });
}

/** A scale that holds some answers, with a little room at both ends. */
export function around(answers) {
  const ends = answers.flatMap((a) => [a.low ?? a.value, a.value, a.high ?? a.value]).filter(Number.isFinite);
  if (!ends.length) return { low: 0, high: 1 };
  const low = ends.reduce((x, y) => Math.min(x, y));
  const high = ends.reduce((x, y) => Math.max(x, y));
  const room = 0.08 * (high - low) || 0.05 * Math.abs(high) || 0.5;
  return { low: low - room, high: high + room };
}

function placer(scale, width) {
  const span = scale.high - scale.low || 1;
  return (value) => Math.min(width, Math.max(0, (width * (value - scale.low)) / span));
}

/** The last answers as a line inside their bars. */
export function sparkline(answers, width = 120, height = 24) {
  const drawn = svg(
    "svg",
    { class: "sparkline", "aria-hidden": "true", viewBox: `0 0 ${width} ${height}`, width, height },
    svg("polygon", { class: "band" }),
    svg("polyline", { class: "line" }),
  );
  return respark(drawn, answers, width, height);
}

/** Show other answers in a sparkline that is there already. */
export function respark(drawn, answers, width = 120, height = 24) {
  const [band, line] = drawn.children;
  const given = answers.filter((answer) => answer.value !== null);
  // One answer stands since it was given: a level line.
  const known = given.length === 1 ? [...given, ...given] : given;
  const scale = around(known);
  const up = placer(scale, height);
  const points = known.map((answer, i) => ({
    x: (width * i) / (known.length - 1),
    value: height - up(answer.value),
    low: height - up(answer.low ?? scale.low),
    high: height - up(answer.high ?? scale.high),
  }));
  const upper = points.map((p) => `${p.x},${p.high}`);
  const lower = points.map((p) => `${p.x},${p.low}`).reverse();
  band.setAttribute("points", [...upper, ...lower].join(" "));
  line.setAttribute("points", points.map((p) => `${p.x},${p.value}`).join(" "));
  return drawn;
}
