// Elements without markup as text: what comes from a model is never read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

export function fill(id, ...children) {
  byId(id).replaceChildren(...children.filter((child) => child !== null));
}

/* A name or a path of names, which a narrow column may break between its words. */
export function breakable(path) {
  return path.split(/(?<=[._])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

/* A number with its noun: "1 state", "1,200 states". */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
