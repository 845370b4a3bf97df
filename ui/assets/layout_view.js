// Which parts of Live are shown, and in what order: kept in this browser, by name too, and in the page's address, so that
// it can be shared; how dense it is; and the wall, which is for a screen that many look at from afar.

import { choice, pick } from "./choices.js";
import { button, element, setText } from "./elements.js";
import { hangOnWall } from "./wall.js";

const PARTS = { figures: "Figures", prices: "Prices", spreads: "Spreads and opportunities", assets: "Assets × exchanges", trades: "Trades", state: "Positions, balances, feeds and latency", signals: "Moving average signals", more: "Attribution, rejections and inventory" };
const PARAMETER = "layout";
const OWN = "live.layout";
const NAMED = "live.layouts";
const DENSE = "live.dense";
const MOST = 20;
const NAMES = Object.keys(PARTS);

export class LayoutView {
  constructor(root, place) {
    this.blocks = Object.fromEntries(NAMES.map((name) => [name, root.querySelector(`[data-block="${name}"]`)]));
    this.root = root;
    this.lines = Object.fromEntries(NAMES.map((name) => [name, this.line(name)]));
    this.list = element("ul", {});
    this.name = element("input", { type: "text", maxlength: "40", autocomplete: "off", "aria-label": "Name of the layout", placeholder: "desk" });
    this.saved = choice({});
    this.saved.setAttribute("aria-label", "Saved layouts");
    this.saved.onchange = () => this.saved.value && this.take(layouts()[this.saved.value] ?? "");
    this.said = element("span", { class: "muted", role: "status" });
    const saving = element("div", { class: "layout-row" }, this.name, button("Save", () => this.save()), this.saved, button("Forget", () => this.forget()));
    this.dense = element("input", { type: "checkbox" });
    this.dense.onchange = () => (keep(DENSE, this.dense.checked ? "yes" : ""), this.showDensity());
    const looks = element("div", { class: "layout-row" }, element("label", {}, this.dense, " Dense rows"), button("Wall", hangOnWall), element("span", { class: "muted" }, "Larger, without links; Escape ends it."));
    const rest = element("div", { class: "layout-row" }, button("As it comes", () => this.take("")), button("Copy link", () => this.copy()), this.said);
    place.append(this.list, saving, looks, rest);
    this.dense.checked = kept(DENSE) === "yes";
    this.showDensity();
    this.showSaved();
    // a link that somebody sent says more than what was last chosen here
    this.show(new URLSearchParams(location.search).get(PARAMETER) ?? kept(OWN) ?? "");
  }

  line(name) {
    const tick = element("input", { type: "checkbox" });
    tick.onchange = () => this.change(tick.checked ? [...this.shown, name] : this.shown.filter((one) => one !== name));
    const moved = (sign, words, by) => {
      const made = button(sign, () => this.move(name, by, made));
      made.setAttribute("aria-label", `Move ${PARTS[name]} ${words}`);
      return made;
    };
    const node = element("li", {}, element("label", {}, tick, ` ${PARTS[name]}`), moved("↑", "up", -1), moved("↓", "down", 1));
    return { node, tick };
  }

  // text: names of what is shown, in their order; "" for all, as they come.
  show(text) {
    const wanted = [...new Set(text.split(","))].filter((name) => name in PARTS);
    this.shown = wanted.length ? wanted : NAMES;
    const order = [...this.shown, ...NAMES.filter((name) => !this.shown.includes(name))];
    for (const name of order) {
      const isShown = this.shown.includes(name);
      this.blocks[name].hidden = !isShown;
      this.lines[name].tick.checked = isShown;
      this.lines[name].node.querySelectorAll("button").forEach((one) => (one.disabled = !isShown));
    }
    // what is in its place stays there: a chart that moves is drawn again
    if ([...this.root.querySelectorAll("[data-block]")].some((block, i) => block.dataset.block !== order[i])) this.root.append(...order.map((name) => this.blocks[name]));
    this.list.append(...order.map((name) => this.lines[name].node));
  }

  get text() {
    return this.shown.join() === NAMES.join() ? "" : this.shown.join();
  }

  // As the user chose.
  take(text) {
    this.show(text);
    keep(OWN, this.text);
    const address = new URL(location.href);
    if (this.text) address.searchParams.set(PARAMETER, this.text);
    else address.searchParams.delete(PARAMETER);
    history.replaceState(history.state, "", address);
    setText(this.said, "");
  }

  change(shown) {
    // nothing at all would be everything
    this.take((shown.length ? shown : this.shown).join());
  }

  move(name, by, pressed) {
    const order = [...this.shown];
    const from = order.indexOf(name);
    const to = from + by;
    if (from < 0 || to < 0 || to >= order.length) return;
    order.splice(to, 0, ...order.splice(from, 1));
    this.change(order);
    pressed.focus();
  }

  showDensity() {
    this.root.toggleAttribute("data-dense", this.dense.checked);
  }

  save() {
    const name = this.name.value.trim();
    if (!name) return setText(this.said, "Give it a name first.");
    const others = Object.entries(layouts()).filter(([known]) => known !== name);
    keep(NAMED, JSON.stringify(Object.fromEntries([...others.slice(-MOST + 1), [name, this.text]])));
    this.showSaved(name);
    return setText(this.said, `Saved as ${name}, in this browser.`);
  }

  forget() {
    const others = Object.entries(layouts()).filter(([known]) => known !== this.saved.value);
    keep(NAMED, JSON.stringify(Object.fromEntries(others)));
    this.showSaved();
  }

  showSaved(chosen = "") {
    const known = Object.keys(layouts());
    this.saved.replaceChildren(element("option", { value: "" }, known.length ? "Saved layouts" : "None is saved"), ...known.map((name) => element("option", { value: name }, name)));
    pick(this.saved, chosen);
  }

  async copy() {
    const address = new URL(location.href);
    address.searchParams.set(PARAMETER, this.shown.join());
    const isDone = await navigator.clipboard?.writeText(address.href).then(() => true, () => false);
    setText(this.said, isDone ? "Copied." : `Not copied: ${address.href}`);
  }
}

function layouts() {
  try {
    const found = JSON.parse(kept(NAMED));
    return Object.fromEntries(Object.entries(found ?? {}).filter(([, text]) => typeof text === "string"));
  } catch {
    return {};
  }
}

function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // a browser that keeps nothing: it holds while the page is open
  }
}
