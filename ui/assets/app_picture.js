// Streams and queries as a picture: what reads what, with the rows a second of each stream.

import { rateWords } from "./app_states.js";
import { element, setText, shape } from "./elements.js";

const BOX = { width: 176, height: 44, gapX: 56, gapY: 18, pad: 8 };
const LONGEST = 22;

// Nodes and arrows of an explained app: a query stands between what it reads and what it gives.
export function graphOf(explained) {
  const nodes = new Map();
  const arrows = [];
  const add = (id, name, kind) => nodes.has(id) || nodes.set(id, { id, name, kind });
  for (const kind of ["streams", "windows", "tables", "aggregations"]) {
    for (const one of explained?.[kind] ?? []) add(one.name, one.name, kind.replace(/s$/, ""));
  }
  (explained?.queries ?? []).forEach((query, i) => {
    const id = `query ${i}`;
    add(id, query.name || (query.line ? `query at line ${query.line}` : `query ${i + 1}`), "query");
    for (const name of query.reads ?? []) {
      add(name, name, "stream");
      arrows.push([name, id]);
    }
    if (query.gives) {
      add(query.gives, query.gives, "stream");
      arrows.push([id, query.gives]);
    }
  });
  return { nodes: [...nodes.values()], arrows };
}

// Column of each node: one behind the last of what leads to it. A circle ends where it began.
export function columnsOf({ nodes, arrows }) {
  const before = new Map(nodes.map(({ id }) => [id, []]));
  for (const [from, to] of arrows) before.get(to).push(from);
  const columns = new Map();
  const column = (id, path) => {
    if (columns.has(id)) return columns.get(id);
    if (path.has(id)) return 0;
    const within = new Set(path).add(id);
    const found = Math.max(0, ...before.get(id).map((from) => column(from, within) + 1));
    columns.set(id, found);
    return found;
  };
  for (const { id } of nodes) column(id, new Set());
  return columns;
}

export class AppPicture {
  constructor(service) {
    this.service = service;
    this.drawing = element("div", { class: "app-picture", tabindex: "0", role: "group", "aria-label": "Streams and queries; the list below says the same" });
    this.words = element("ul", { class: "app-flow" });
    this.note = element("p", { class: "quiet" });
    this.root = element("div", {}, this.note, this.drawing, element("details", {}, element("summary", {}, "As a list"), this.words));
    this.rates = new Map();
  }

  draw() {
    const { explained } = this.service;
    const key = JSON.stringify(explained ?? null);
    setText(this.note, explained ? this.shownWords : "The picture appears when the text has no mistakes.");
    if (key !== this.key) this.rebuild(explained);
    this.key = key;
    this.drawRates();
  }

  // Which text it is of: what is typed, and not what runs, if they differ.
  get shownWords() {
    const { stored, isChanged } = this.service;
    const published = stored?.published_version;
    const shown = isChanged || !stored ? "the text in the editor" : `version ${stored.version}`;
    return `Of ${shown}${published && (isChanged || published !== stored.version) ? `; version ${published} is published` : ""}.`;
  }

  rebuild(explained) {
    const graph = graphOf(explained);
    this.words.replaceChildren(...(explained?.queries ?? []).map((query, i) => element("li", {}, `${query.name || `query ${i + 1}`}: ${(query.reads ?? []).join(", ") || "nothing"} → ${query.gives ?? "its listeners"}`)));
    this.rates.clear();
    this.drawing.replaceChildren(...(graph.nodes.length ? [this.svgOf(graph)] : []));
  }

  svgOf(graph) {
    const columns = columnsOf(graph);
    const rows = new Map();
    const places = new Map();
    for (const node of graph.nodes) {
      const column = columns.get(node.id);
      const row = rows.get(column) ?? 0;
      rows.set(column, row + 1);
      places.set(node.id, { x: BOX.pad + column * (BOX.width + BOX.gapX), y: BOX.pad + row * (BOX.height + BOX.gapY) });
    }
    const width = Math.max(...[...places.values()].map(({ x }) => x)) + BOX.width + BOX.pad;
    const height = Math.max(...[...places.values()].map(({ y }) => y)) + BOX.height + BOX.pad;
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    for (const [from, to] of graph.arrows) svg.append(arrow(places.get(from), places.get(to)));
    for (const node of graph.nodes) svg.append(this.box(node, places.get(node.id)));
    return svg;
  }

  box({ id, name, kind }, { x, y }) {
    const rate = shape("text", { x: BOX.width / 2, y: 35, class: "rate" });
    if (kind !== "query") this.rates.set(id, rate);
    const shown = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    const title = shape("title", {}, `${kind} ${name}`);
    const label = shape("text", { x: BOX.width / 2, y: 19 }, shown);
    if (kind === "query") rate.textContent = "query";
    return shape("g", { transform: `translate(${x} ${y})`, class: `node ${kind}` }, shape("rect", { width: BOX.width, height: BOX.height, rx: kind === "query" ? 4 : 20 }), title, label, rate);
  }

  drawRates() {
    const rates = this.service.stored?.status?.streams ?? {};
    for (const [name, node] of this.rates) {
      const words = rateWords(rates[name]) || this.kindOf(name);
      if (node.textContent !== words) node.textContent = words;
    }
  }

  kindOf(name) {
    if (this.service.vocabulary.ofProduct.has(name)) return "of the product";
    const found = ["window", "table", "aggregation"].find((kind) => (this.service.explained?.[`${kind}s`] ?? []).some((one) => one.name === name));
    return found ?? "stream";
  }
}

function arrow(from, to) {
  const begin = { x: from.x + BOX.width, y: from.y + BOX.height / 2 };
  const end = { x: to.x, y: to.y + BOX.height / 2 };
  const bend = Math.max(24, Math.abs(end.x - begin.x) / 2);
  const line = shape("path", { d: `M${begin.x} ${begin.y} C${begin.x + bend} ${begin.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}` });
  const tip = shape("path", { d: `M${end.x - 7} ${end.y - 4} L${end.x} ${end.y} L${end.x - 7} ${end.y + 4}` });
  return shape("g", { class: "arrow" }, line, tip);
}
