// A list of any length that keeps only the rows in view in the page.

import { el } from "./dom.js";

const BEYOND = 6;

/**
 * A grid whose rows have one height. `make()` gives the cells of an empty row, `fill(cells, name,
 * fresh)` puts what belongs to a name into them; `fresh` says that they showed another one before.
 * `open(name)` is called for the row that is chosen, `moved(names)` when other rows are in view.
 */
export function virtualList({ label, columns, height, make, fill, open, moved }) {
  const spacer = el("div", { class: "rows", role: "rowgroup" });
  const head = el(
    "div",
    { class: "head", role: "rowgroup" },
    el("div", { class: "row", role: "row", "aria-rowindex": 1 }, ...columns.map(heading)),
  );
  const node = el(
    "div",
    { class: "list", role: "grid", tabindex: 0, "aria-label": label, "aria-readonly": "true",
      "aria-colcount": columns.length, onkeydown: pressed, onscroll: later, onclick: clicked },
    head,
    spacer,
  );
  const shown = new Map();
  const spare = [];
  let names = [];
  let active = 0;
  let first = 0;
  let waiting = false;
  const changed = new Set();
  const watcher = new ResizeObserver(later);
  watcher.observe(node);

  function heading({ word, title, kind }) {
    return el("div", { role: "columnheader", class: kind, title }, word);
  }

  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(draw);
  }

  function inView() {
    const room = Math.max(node.clientHeight - head.offsetHeight, height);
    const from = Math.max(0, Math.floor(node.scrollTop / height) - BEYOND);
    const to = Math.min(names.length, Math.ceil((node.scrollTop + room) / height) + BEYOND);
    return [from, to];
  }

  function draw() {
    waiting = false;
    const [from, to] = inView();
    const wanted = new Map();
    for (let i = from; i < to; i += 1) wanted.set(names[i], i);
    let other = from !== first;
    first = from;
    for (const [name, row] of shown) {
      if (wanted.has(name)) continue;
      shown.delete(name);
      spare.push(row);
      other = true;
    }
    for (const [name, index] of wanted) {
      const known = shown.get(name);
      const row = known ?? taken(name);
      if (known === undefined || changed.has(name)) fill(row.cells, name, known === undefined);
      other ||= known === undefined;
      settle(row, index);
    }
    for (const row of spare.splice(BEYOND)) row.node.remove();
    spare.forEach(rest);
    changed.clear();
    point();
    if (other) moved([...wanted.keys()]);
  }

  function taken(name) {
    const row = spare.pop() ?? fresh();
    row.node.hidden = false;
    shown.set(name, row);
    return row;
  }

  function rest(row) {
    row.index = -1;
    row.node.hidden = true;
    row.node.removeAttribute("id");
  }

  function fresh() {
    const cells = make();
    const row = { cells, index: -1, node: el("div", { class: "row", role: "row" }, ...Object.values(cells)) };
    spacer.append(row.node);
    return row;
  }

  function settle(row, index) {
    if (row.index === index) return;
    row.index = index;
    row.node.style.transform = `translateY(${index * height}px)`;
    row.node.setAttribute("aria-rowindex", index + 2);
    row.node.id = `row-${index}`;
  }

  /** Say which row is chosen, to eyes and to screen readers. */
  function point() {
    let there = false;
    for (const row of shown.values()) {
      const chosen = row.index === active;
      row.node.classList.toggle("active", chosen);
      there ||= chosen;
    }
    if (there) node.setAttribute("aria-activedescendant", `row-${active}`);
    else node.removeAttribute("aria-activedescendant");
  }

  function choose(index) {
    active = Math.min(Math.max(index, 0), names.length - 1);
    const room = node.clientHeight - head.offsetHeight;
    const top = active * height;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + room) node.scrollTop = top + height - room;
    later();
  }

  function pressed(event) {
    if (event.target !== node || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((node.clientHeight - head.offsetHeight) / height) - 1);
    const steps = {
      ArrowDown: () => choose(active + 1),
      ArrowUp: () => choose(active - 1),
      PageDown: () => choose(active + page),
      PageUp: () => choose(active - page),
      Home: () => choose(0),
      End: () => choose(names.length - 1),
      Enter: () => names.length && open(names[active]),
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    steps[event.key]();
  }

  function clicked(event) {
    if (event.target.closest("a")) return;
    const chosen = event.target.closest(".rows .row");
    const found = [...shown].find(([, row]) => row.node === chosen);
    if (found) open(found[0]);
  }

  return {
    node,
    /** Show these names in this order; the chosen row stays with its name. */
    show(fresh) {
      const kept = names[active];
      names = fresh;
      const again = kept === undefined || names[active] === kept ? active : names.indexOf(kept);
      active = Math.max(0, Math.min(again < 0 ? active : again, names.length - 1));
      spacer.style.height = `${names.length * height}px`;
      node.setAttribute("aria-rowcount", names.length + 1);
      later();
    },
    /** Something of a name has changed; it is drawn with the next picture. */
    touch(name) {
      if (!shown.has(name)) return;
      changed.add(name);
      later();
    },
    touchAll() {
      for (const name of shown.keys()) changed.add(name);
      later();
    },
    inView: () => [...shown.keys()],
    close: () => watcher.disconnect(),
  };
}
