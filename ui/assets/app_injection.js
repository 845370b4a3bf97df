// Rows put into a stream by hand, to see what the app does with them: one, many as CSV, or random ones. In paper
// sessions, by operators.

import { csvRows, randomValue, typed } from "./app_input_rows.js";
import { appAddress } from "./app_states.js";
import { button, element, setClass, setText } from "./elements.js";
import { ask, problemText } from "./requests.js";

const MOST = 1000;

export class AppInjection {
  constructor(service) {
    this.service = service;
    this.fields = element("div", { class: "app-fields" });
    this.said = element("p", { class: "said", role: "status", "data-part": "app-injected" });
    this.form = element("form", {}, this.fields, element("div", { class: "row" }, element("button", { type: "submit" }, "Put the row in"), button("Empty the fields", () => this.form.reset())));
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.sendOne();
    };
    this.csv = element("textarea", { rows: "4", spellcheck: "false", "data-part": "app-csv" });
    this.many = element("input", { type: "number", min: "1", max: String(MOST), value: "10" });
    this.stop = button("Stop putting rows in", () => (this.isStopped = true));
    this.stop.hidden = true;
    this.buttons = [button("Put the lines in", () => this.sendCsv()), button("Put random rows in", () => this.sendRandom())];
    this.all = element(
      "div", {},
      this.form,
      element("label", { class: "app-csv" }, "Or many as CSV, the first line with the names of the columns", this.csv),
      element("div", { class: "row app-tools" }, this.buttons[0], element("label", { class: "row" }, "Or so many random ones", this.many), this.buttons[1], this.stop),
      this.said,
    );
    this.none = element("p", { class: "quiet" });
    this.root = element("details", { class: "app-injection" }, element("summary", {}, "Put a row in by hand"), this.none, this.all);
  }

  // Streams of the product have rows of their own; an app's plain streams that no query writes take rows by hand.
  show(stream) {
    const explained = this.service.parts;
    const isGiven = (explained?.queries ?? []).some(({ gives }) => gives === stream);
    const columns = explained?.streams?.find(({ name }) => name === stream)?.columns ?? [];
    const mayTake = stream && !this.service.vocabulary.ofProduct.has(stream) && !isGiven && columns.length;
    this.all.hidden = !mayTake;
    setText(this.none, mayTake ? "" : "Choose a stream that the app defines and no query writes: those take rows by hand.");
    const key = JSON.stringify([this.service.open, stream, columns]);
    if (key === this.key) return;
    this.key = key;
    this.stream = stream;
    this.columns = columns;
    this.say("", "");
    this.csv.placeholder = columns.map(({ name }) => name).join(",");
    this.fields.replaceChildren(...columns.map(({ name, type }) => element("label", {}, element("span", {}, `${name} `, element("span", { class: "quiet" }, type)), element("input", { type: "text", name, autocomplete: "off", spellcheck: "false" }))));
  }

  sendOne() {
    const values = {};
    for (const { name, type } of this.columns) {
      const { value, problem } = typed(this.form.elements[name].value, type);
      if (problem) {
        this.say(`${name}: ${problem}`, "bad");
        this.form.elements[name].focus();
        return;
      }
      values[name] = value;
    }
    this.send([values]);
  }

  sendCsv() {
    const { rows, problem } = csvRows(this.csv.value, this.columns);
    if (problem) this.say(problem, "bad");
    else this.send(rows);
  }

  sendRandom() {
    const many = Math.min(Math.max(Math.trunc(Number(this.many.value)) || 1, 1), MOST);
    this.send(Array.from({ length: many }, () => Object.fromEntries(this.columns.map(({ name, type }) => [name, randomValue(type)]))));
  }

  // One after another: their order is that of the lines. The first that is refused ends it.
  async send(rows) {
    const { stream } = this;
    const address = appAddress(this.service.open, `/streams/${encodeURIComponent(stream)}`);
    this.lock(true, rows.length);
    let done = 0;
    let problem = "";
    for (const values of rows.slice(0, MOST)) {
      if (this.isStopped) break;
      const answer = await ask("POST", address, { values });
      if (!answer.isDone) {
        problem = problemText(answer);
        break;
      }
      done += 1;
      if (rows.length > 1) this.say(`${done} of ${rows.length} …`, "");
    }
    this.lock(false);
    const many = rows.length === 1 ? `Put into ${stream}.` : `${done} of ${rows.length} rows put into ${stream}.`;
    this.say(problem ? `${rows.length === 1 ? "Not put in" : `${done} of ${rows.length} rows put into ${stream}, then`}: ${problem}` : many, problem ? "bad" : "good");
  }

  lock(isBusy, many = 0) {
    this.isStopped = false;
    for (const one of [...this.buttons, this.form.querySelector('[type="submit"]')]) one.disabled = isBusy;
    this.stop.hidden = !isBusy || many < 2;
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}
