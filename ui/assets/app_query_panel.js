// Questions over the tables, named windows and aggregations of a running app, with those asked before.

import { AppEditor } from "./app_editor.js";
import { ResultTable } from "./app_result_table.js";
import { appAddress, microseconds } from "./app_states.js";
import { button, element, setClass, setText } from "./elements.js";
import { fullTime } from "./format.js";
import { ask, problemText } from "./requests.js";

const HISTORY = "apps.queries";
const REMEMBERED = 50;
// As the server sees whether a query may change a table.
const WRITES = /\b(insert|update|delete)\b/i;

export class AppQueryPanel {
  constructor(service) {
    this.service = service;
    this.editor = new AppEditor(service.vocabulary, "Query", { run: () => this.run(), changed: (text) => keep("apps.query", text) }, { isShort: true, hint: "from Table select *" });
    this.editor.show(recall("apps.query") ?? "");
    this.go = button("Ask", () => this.run(), "main");
    this.history = element("select", { "aria-label": "Queries asked before" });
    this.history.onchange = () => this.takeOld();
    this.said = element("p", { class: "said", role: "status", "data-part": "app-answer" });
    this.table = new ResultTable("Answer");
    this.table.root.hidden = true;
    this.stored = element("p", { class: "quiet" });
    this.root = element("div", { "data-part": "app-query" }, this.stored, this.editor.root, element("div", { class: "row app-tools" }, this.go, this.history, element("span", { class: "quiet" }, "Ctrl-Enter asks.")), this.said, this.table.root);
    this.drawHistory();
  }

  enter() {
    this.editor.enter();
    this.draw();
  }

  open() {
    this.say("", "");
    this.table.root.hidden = true;
    this.draw();
  }

  draw() {
    const named = ["tables", "windows", "aggregations"].flatMap((kind) => (this.service.parts?.[kind] ?? []).map(({ name }) => name));
    const version = this.service.partsWords;
    setText(this.stored, named.length ? `May be asked${version && ` of ${version}`}: ${named.join(", ")}.` : "This app has no table, named window or aggregation to ask.");
  }

  async run() {
    const query = this.editor.text.trim();
    const { open, state } = this.service;
    if (!query || this.isAsking) return;
    if (state !== "running") {
      this.say("The app does not run; publish it first.", "bad");
      return;
    }
    this.isAsking = true;
    this.go.disabled = true;
    const answer = await ask("POST", appAddress(open, "/query"), { query }, {}, !WRITES.test(query));
    this.isAsking = false;
    this.go.disabled = false;
    if (open !== this.service.open) return;
    this.editor.showMistakes(answer.body?.mistakes ?? []);
    if (!answer.isDone) {
      this.say(problemText(answer), "bad");
      return;
    }
    this.remember(query);
    const { columns, rows, as_of: asOf } = answer.body;
    this.table.root.hidden = false;
    this.table.show(columns.map((column) => column.name ?? column), rows.map((row) => (Array.isArray(row) ? row : columns.map((column) => row[column.name ?? column]))), "No rows.");
    this.say(`${rows.length.toLocaleString("en-US")} row${rows.length === 1 ? "" : "s"}${asOf ? `, as of ${asOf.time ? fullTime(microseconds(asOf.time)) : ""}${asOf.offset === undefined ? "" : `, offset ${JSON.stringify(asOf.offset).replaceAll('"', "")}`}` : ""}.`, "good");
  }

  get past() {
    try {
      return JSON.parse(recall(HISTORY)) ?? [];
    } catch {
      return [];
    }
  }

  remember(query) {
    keep(HISTORY, JSON.stringify([query, ...this.past.filter((one) => one !== query)].slice(0, REMEMBERED)));
    this.drawHistory();
  }

  drawHistory() {
    const { past } = this;
    this.history.hidden = !past.length;
    this.history.replaceChildren(element("option", { value: "" }, "Asked before…"), ...past.map((query, i) => element("option", { value: i }, query.replace(/\s+/g, " ").slice(0, 80))));
  }

  takeOld() {
    const old = this.past[Number(this.history.value)];
    if (this.history.value !== "" && old) this.editor.replace(old);
    this.history.value = "";
    this.editor.view.focus();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // a browser that keeps nothing: the query holds while the page is open
  }
}
