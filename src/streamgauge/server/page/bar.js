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
  return el(
    "span",
    { class: "answer", "data-basis": answer.basis, "data-met": answer.contract_met },
    el("span", { class: "value" }, number(answer.value)),
    bar(answer, scale),
  );
}

/** Only the bar. */
export function bar(answer, scale = around([answer]), width = WIDTH, height = HEIGHT) {
  const label = spoken(answer);
  const drawn = svg("svg", {
    class: "bar", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`,
    width, height, "data-low": answer.low ?? "", "data-high": answer.high ?? "",
  });
  drawn.append(svg("title", {}, label));
  drawn.append(svg("rect", { class: "track", x: 0, y: height / 2 - 1, width, height: 2 }));
  if (answer.value === null) return drawn;
  const at = placer(scale, width);
  const low = answer.low === null ? 0 : at(answer.low);
  const high = answer.high === null ? width : at(answer.high);
  for (const part of parts(answer, low, Math.max(high - low, 2))) drawn.append(rect(part, height));
  const x = at(answer.value);
  drawn.append(svg("rect", { class: "tick", x: x - 1, y: 0, width: 2, height }));
  return drawn;
}

function rect(part, height) {
  const drawn = svg("rect", { class: part.class, x: part.x, y: 4, width: part.width, height: height - 8 });
  drawn.append(svg("title", {}, part.title));
  return drawn;
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
  const known = answers.filter((answer) => answer.value !== null);
  const drawn = svg("svg", {
    class: "sparkline", "aria-hidden": "true", viewBox: `0 0 ${width} ${height}`, width, height,
  });
  if (known.length < 2) return drawn;
  const scale = around(known);
  const up = placer({ low: scale.low, high: scale.high }, height);
  const points = known.map((answer, i) => ({
    x: (width * i) / (known.length - 1),
    value: height - up(answer.value),
    low: height - up(answer.low ?? scale.low),
    high: height - up(answer.high ?? scale.high),
  }));
  const upper = points.map((p) => `${p.x},${p.high}`);
  const lower = points.map((p) => `${p.x},${p.low}`).reverse();
  drawn.append(svg("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  drawn.append(svg("polyline", { class: "line", points: points.map((p) => `${p.x},${p.value}`).join(" ") }));
  return drawn;
}
