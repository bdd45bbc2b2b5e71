// Statements in colour: a text cut into pieces, drawn behind the text area that it is typed into.

import { el, put } from "./dom.js";

const PIECE = new RegExp(
  [
    "(?<comment>--[^\\n]*|/\\*[^]*?(?:\\*/|$))",
    "(?<text>'(?:[^']|'')*'?)",
    '(?<name>"(?:[^"]|"")*"?)',
    "(?<parameter>\\$[\\p{L}_][\\p{L}\\p{N}_]*)",
    "(?<word>[\\p{L}_][\\p{L}\\p{N}_]*)",
    "(?<number>(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?)",
    "(?<sign>[-;()\\[\\],.*+/%=<>!|])",
  ].join("|"),
  "gu",
);

/** Pieces of a text with their kind and start; what lies between them is space. */
export function pieces(text, language) {
  return Array.from(text.matchAll(PIECE), (match) => {
    const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    const after = text.slice(match.index + match[0].length).trimStart();
    return { kind: kind === "word" ? wordKind(match[0], after, language) : kind, text: match[0], start: match.index };
  });
}

/** Keywords are reserved, or written large; a word before a bracket is a function. */
function wordKind(word, after, { words, reserved }) {
  const large = word.toUpperCase();
  if (reserved.has(large)) return "keyword";
  if (after.startsWith("(") && !(words.has(large) && word === large)) return "function";
  return words.has(large) && word === large ? "keyword" : "word";
}

/** A name as it is written: in quotes where it would be read as something else. */
export function quoted(name, { quoted: never }) {
  const plain = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !never.has(name.toUpperCase());
  return plain ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Draw a text into a node; `marks` are spans {start, end} that are wrong. */
export function draw(node, text, language, marks = []) {
  const edges = marks.flatMap(({ start, end }) => [start, end]);
  const drawn = [];
  let at = 0;
  for (const piece of pieces(text, language)) {
    if (piece.start > at) drawn.push(...cut(text, at, piece.start, null, edges, marks));
    at = piece.start + piece.text.length;
    drawn.push(...cut(text, piece.start, at, `is-${piece.kind}`, edges, marks));
  }
  drawn.push(...cut(text, at, text.length, null, edges, marks));
  // A last line without letters has a height only when something follows it.
  put(node, ...drawn, "\u200b");
}

function cut(text, from, to, kind, edges, marks) {
  const inside = edges.filter((edge) => edge > from && edge < to).sort((a, b) => a - b);
  const stops = [from, ...inside, to];
  return stops.slice(1).flatMap((stop, i) => {
    const start = stops[i];
    if (stop === start) return [];
    const wrong = marks.some((mark) => mark.start < stop && mark.end > start);
    const names = [kind, wrong ? "wrong" : null].filter(Boolean).join(" ");
    const part = text.slice(start, stop);
    return [names ? el("span", { class: names }, part) : part];
  });
}

/** Where a place of the drawn text is on the screen. */
export function placed(node, offset) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  let left = offset;
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (left <= text.length) {
      const range = document.createRange();
      range.setStart(text, left);
      range.collapse(true);
      const [first] = range.getClientRects();
      if (first) return first;
    }
    left -= text.length;
  }
  return node.getBoundingClientRect();
}

/** The server counts characters, a text area counts halves of the rare ones: from one to the other. */
export function toUnits(text, offset) {
  return Array.from(text).slice(0, offset).join("").length;
}

export function toCharacters(text, units) {
  return Array.from(text.slice(0, units)).length;
}
