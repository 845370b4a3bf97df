// The apps of the session: state, rows a second, errors; and how a new one begins.

import { leftWords } from "./app_acting.js";
import { nameProblem, renamed } from "./app_drafts.js";
import { rateWords, STATES, stateWords } from "./app_states.js";
import { element, setClass, setText, shape } from "./elements.js";

const WIDTH = 60;
const HEIGHT = 16;
const FILTERED_FROM = 9;

export class AppList {
  constructor(service) {
    this.service = service;
    this.filter = element("input", { type: "search", "aria-label": "Filter apps by name", placeholder: "Filter", hidden: true });
    this.filter.oninput = () => this.draw();
    this.items = element("ul", { class: "app-items", tabindex: "-1" });
    this.rows = new Map();
    this.empty = element("li", { class: "quiet" }, "No apps yet.");
    this.trouble = element("p", { class: "said bad", role: "status" });
    this.left = element("p", { class: "bad", hidden: true, "data-part": "app-left" });
    this.begin = element("button", { type: "button", class: "main", "aria-expanded": "false" }, "New app");
    this.begin.onclick = () => this.toggle();
    this.form = this.newForm();
    this.root = element(
      "aside", { class: "app-list box", "aria-label": "All apps", "data-part": "app-list" },
      element("div", { class: "row" }, element("h3", {}, "All apps"), this.begin),
      this.form, this.filter, this.trouble, this.left, this.items,
    );
  }

  newForm() {
    this.name = element("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: "64", "data-part": "app-name" });
    this.template = element("select", { "data-part": "app-template" });
    this.about = element("p", { class: "quiet" });
    this.wrong = element("p", { class: "bad", role: "alert" });
    this.template.onchange = () => this.drawTemplate();
    const cancel = element("button", { type: "button" }, "Cancel");
    cancel.onclick = () => this.toggle(false);
    const form = element(
      "form", { class: "app-new", hidden: true, "data-part": "app-new" },
      element("label", {}, "Name", this.name),
      element("label", {}, "Begin with", this.template),
      this.about, this.wrong,
      element("div", { class: "row" }, element("button", { type: "submit", class: "main" }, "Create"), cancel),
    );
    form.onsubmit = (event) => {
      event.preventDefault();
      this.create();
    };
    return form;
  }

  toggle(isOpen = this.form.hidden) {
    this.form.hidden = !isOpen;
    this.begin.setAttribute("aria-expanded", String(isOpen));
    setText(this.wrong, "");
    if (isOpen) this.name.focus();
  }

  learn() {
    const { templates } = this.service.vocabulary.language;
    const chosen = this.template.value;
    this.template.replaceChildren(
      ...templates.map(({ name }) => element("option", { value: name }, name)),
      element("option", { value: "" }, "nothing"),
    );
    if (chosen) this.template.value = chosen;
    this.drawTemplate();
  }

  get chosen() {
    return this.service.vocabulary.language.templates.find(({ name }) => name === this.template.value);
  }

  drawTemplate() {
    setText(this.about, this.chosen?.description ?? "An empty text.");
    this.name.placeholder = this.chosen?.name ?? "my-app";
  }

  // Of a template under its own name, or another; with a number if there is one already.
  use(template) {
    this.template.value = template;
    this.drawTemplate();
    this.toggle(true);
    this.name.value = this.freeName(template);
    this.name.select();
  }

  freeName(wanted) {
    const taken = this.service.rows().map(({ name }) => name);
    let number = 2;
    let free = wanted;
    while (taken.includes(free)) free = `${wanted}-${number++}`;
    return free;
  }

  create() {
    const name = this.name.value.trim();
    const problem = nameProblem(name, this.service.rows().map((one) => one.name));
    setText(this.wrong, problem ?? "");
    if (problem) {
      this.name.focus();
      return;
    }
    this.service.create(name, renamed(this.chosen?.text ?? "", name), this.chosen?.cases);
    this.name.value = "";
    this.toggle(false);
  }

  draw() {
    const rows = this.service.rows();
    const wanted = this.filter.value.trim().toLowerCase();
    this.filter.hidden = rows.length < FILTERED_FROM && !wanted;
    setText(this.trouble, this.service.trouble ?? "");
    setText(this.left, leftWords(this.service.left));
    this.left.hidden = !this.left.textContent;
    const shown = rows.filter(({ name }) => name.toLowerCase().includes(wanted));
    setText(this.empty, rows.length ? "No app has such a name." : this.service.isListed ? "No apps yet." : "…");
    this.place(shown.map(({ name }) => name));
    for (const row of shown) this.rows.get(row.name).show(row, this.service);
  }

  // Rows stay the same nodes: who goes through them by keyboard keeps the place.
  place(names) {
    const key = JSON.stringify(names);
    if (key === this.placed) return;
    this.placed = key;
    this.rows = new Map(names.map((name) => [name, this.rows.get(name) ?? new AppRow(name, () => this.service.show(name))]));
    this.items.replaceChildren(...(names.length ? [...this.rows.values()].map(({ root }) => root) : [this.empty]));
  }
}

class AppRow {
  constructor(name, open) {
    this.changed = element("span", { class: "warn", hidden: true, title: "changed, not saved" }, " ●", element("span", { class: "unseen" }, " changed, not saved"));
    this.about = element("span", { class: "app-item-about", hidden: true });
    this.word = element("span");
    this.state = element("span", {}, element("i", { class: "dot" }), this.word);
    this.spark = sparkline();
    this.rate = element("span", { class: "app-item-rate" });
    this.errors = element("span", { class: "app-item-errors bad", hidden: true });
    this.button = element("button", { type: "button", class: "app-item", "data-app": name }, element("span", { class: "app-item-name" }, name, this.changed), this.about, this.state, this.spark.root, this.rate, this.errors);
    this.button.onclick = open;
    this.root = element("li", {}, this.button);
  }

  show({ name, state, errors, rows_per_second: rate, description }, service) {
    const isOpen = name === service.open;
    if (isOpen !== this.button.hasAttribute("aria-current")) this.button.toggleAttribute("aria-current", isOpen);
    if (isOpen) this.button.setAttribute("aria-current", "true");
    this.button.title = description ?? "";
    this.about.hidden = !description;
    setText(this.about, description ?? "");
    this.changed.hidden = !service.drafts.get(name);
    setText(this.word, stateWords(state));
    setClass(this.state, `app-item-state ${STATES[state]?.[1] ?? ""}`);
    this.spark.show(service.rates.get(name) ?? []);
    setText(this.rate, rateWords(rate));
    this.errors.hidden = !errors;
    setText(this.errors, `${(errors ?? 0).toLocaleString("en-US")} error${errors === 1 ? "" : "s"}`);
  }
}

// The rows a second of the last two minutes; the number stands beside it.
function sparkline() {
  const line = shape("polyline");
  const root = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "spark", "aria-hidden": "true" }, line);
  const show = (rates) => {
    const most = Math.max(...rates, 1e-9);
    const points = rates.length < 2 ? [] : rates.map((rate, i) => `${((WIDTH * i) / (rates.length - 1)).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 2) * rate) / most).toFixed(1)}`);
    line.setAttribute("points", points.join(" "));
  };
  return { root, show };
}
