// Elements from plain values. Text becomes text, never markup, so that no name can inject any.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: attributes by name, handlers as `onclick`, children as nodes or text. */
export function el(tag, attributes = {}, ...children) {
  return dressed(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), attributes, children);
}

function dressed(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  put(node, ...children);
  return node;
}

/** Put children into a node in place of those it has. */
export function put(node, ...children) {
  const fresh = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  node.replaceChildren(...fresh.map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

/** Say something to who cannot see the page. */
export function announce(text) {
  const place = document.getElementById("connection");
  if (place.dataset.said !== text) {
    place.dataset.said = text;
    place.textContent = text;
  }
}
