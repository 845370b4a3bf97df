// Building DOM without HTML strings: whatever an exchange sends stays text.

import { zoneWord } from "./zone.js";

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function button(words, act, name = null) {
  const made = element("button", { type: "button", class: name }, words);
  made.onclick = act;
  return made;
}

// A title above what it names.
export function titled(title, ...nodes) {
  return element("section", {}, element("h3", {}, title), ...nodes);
}

let fields = 0;

// A control of a form below its name.
export function field(words, control) {
  control.id ||= `field-${(fields += 1)}`;
  return element("div", { class: "rule-field" }, element("label", { for: control.id }, words), control);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setClass(node, names) {
  if (node.className !== names) node.className = names;
}

// A table body whose rows are only rebuilt if their content changed: no flicker, no lost text selection.
export class KeyedRows {
  constructor(body, build) {
    this.body = body;
    this.build = build;
    this.known = new Map();
  }

  show(items, keyOf, emptyNode) {
    const next = new Map();
    const zone = zoneWord();
    for (const item of items) {
      const key = keyOf(item);
      const old = this.known.get(key);
      const isSameZone = old?.zone === zone;
      if (isSameZone && old.item === item) {
        next.set(key, old);
        continue;
      }
      const text = JSON.stringify(item);
      if (isSameZone && old.text === text) {
        next.set(key, { ...old, item });
        continue;
      }
      const node = this.build(item);
      if (!old && this.known.size > 0) node.classList.add("is-new");
      next.set(key, { item, text, zone, node });
    }
    const nodes = items.length ? [...next.values()].map((entry) => entry.node) : [emptyNode];
    place(this.body, nodes);
    this.known = next;
  }
}

// A list with the newest on top: rows keep their places and only their text changes, so that nothing
// on the page moves, however fast news comes.
export class SlotRows {
  constructor(body, build, { marksNew = true } = {}) {
    this.body = body;
    this.build = build;
    this.marksNew = marksNew;
    this.slots = [];
    this.keys = new Set();
  }

  show(items, keyOf, emptyNode) {
    const zone = zoneWord();
    this.slots = items.map((item, i) => this.slot(this.slots[i], item, keyOf(item), zone));
    this.keys = new Set(this.slots.map((slot) => slot.key));
    place(this.body, items.length ? this.slots.map((slot) => slot.node) : [emptyNode]);
  }

  slot(old, item, key, zone) {
    const isSame = old?.key === key && old.zone === zone;
    if (isSame && old.item === item) return old;
    const text = JSON.stringify(item);
    if (isSame && old.text === text) return { ...old, item };
    const made = this.build(item);
    if (this.marksNew && this.keys.size && !this.keys.has(key)) made.classList.add("is-new");
    return { item, key, text, zone, node: old ? takeOver(old.node, made) : made };
  }
}

function takeOver(node, made) {
  for (const { name } of [...node.attributes]) node.removeAttribute(name);
  for (const { name, value } of made.attributes) node.setAttribute(name, value);
  node.replaceChildren(...made.childNodes);
  return node;
}

// Only nodes that must move are moved: a node that is inserted again loses its selection and restarts its animation.
function place(body, nodes) {
  const kept = new Set(nodes);
  for (const node of [...body.childNodes]) if (!kept.has(node)) node.remove();
  let next = body.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else body.insertBefore(node, next);
  }
}

export function emptyRow(columns, text) {
  return element("tr", { class: "empty" }, element("td", { colspan: columns }, text));
}
