// A stream of a running app as a live table, with pause and filter; a numeric column as a chart; rows put in by hand.

import { AppChart } from "./app_chart.js";
import { AppInjection } from "./app_injection.js";
import { pins } from "./app_pins.js";
import { ResultTable } from "./app_result_table.js";
import { cellsOf, pointsOf, StreamRows } from "./app_stream_rows.js";
import { button, element, setText } from "./elements.js";
import { problemText } from "./requests.js";

const POLL_MILLISECONDS = 1000;
const SHOWN = 100;

export class AppRowsPanel {
  constructor(service) {
    this.service = service;
    this.stream = element("select", { "aria-label": "Stream", "data-part": "app-stream" });
    this.filter = element("input", { type: "search", placeholder: "Filter: all words must match", "aria-label": "Filter rows" });
    this.pause = button("Pause", () => this.togglePause());
    this.pause.setAttribute("aria-pressed", "false");
    this.column = element("select", { "aria-label": "Column of the chart" });
    this.pin = element("input", { type: "checkbox" });
    this.pin.onchange = () => this.togglePin();
    this.version = element("p", { class: "quiet", "data-part": "app-rows-version" });
    this.said = element("p", { class: "said", role: "status", "data-part": "app-rows-said" });
    this.table = new ResultTable("Newest rows");
    this.chart = new AppChart();
    this.injection = new AppInjection(service);
    this.root = element(
      "div", { "data-part": "app-rows" },
      element("div", { class: "row app-tools" }, this.stream, this.filter, this.pause, element("label", { class: "row" }, "Chart", this.column), element("label", { class: "tick" }, this.pin, "show on Live")),
      this.version, this.said, this.chart.root, this.table.root, this.injection.root,
    );
    this.stream.onchange = () => this.choose();
    this.column.onchange = () => this.chooseColumn();
    this.filter.oninput = () => this.draw();
    this.forget();
  }

  forget() {
    this.followed?.rest();
    this.followed = new StreamRows(this.service.open, this.stream.value, () => this.isPaused || this.draw());
    this.numeric = null;
    this.chart.forget();
  }

  open() {
    this.forget();
    this.drawStreams();
    this.draw();
  }

  enter() {
    this.timer ??= setInterval(() => document.hidden || this.poll(), POLL_MILLISECONDS);
    this.drawStreams();
    this.poll();
  }

  leave() {
    clearInterval(this.timer);
    this.timer = null;
    this.followed.rest();
  }

  // Streams of the app that run now, those that it gives first.
  drawStreams() {
    const given = new Set((this.service.parts?.queries ?? []).map(({ gives }) => gives));
    const names = (this.service.parts?.streams ?? []).map(({ name }) => name).filter((name) => /^\w/.test(name)).sort((a, b) => given.has(b) - given.has(a));
    const key = names.join();
    if (key !== this.names) {
      const chosen = this.stream.value;
      this.stream.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
      if (names.includes(chosen)) this.stream.value = chosen;
      this.names = key;
      if (this.stream.value !== chosen) this.choose();
    }
    setText(this.version, this.service.partsWords && `Streams of ${this.service.partsWords}.`);
    this.injection.show(this.stream.value);
  }

  choose() {
    this.forget();
    this.draw();
    this.poll();
    this.injection.show(this.stream.value);
  }

  togglePause() {
    this.isPaused = !this.isPaused;
    setText(this.pause, this.isPaused ? "Go on" : "Pause");
    this.pause.setAttribute("aria-pressed", String(this.isPaused));
    if (this.isPaused) return;
    this.draw();
    this.poll();
  }

  togglePin() {
    pins.put(this.service.open, this.stream.value, this.pin.checked ? this.column.value : null);
    this.draw();
  }

  // What is on Live shows the same column.
  chooseColumn() {
    if (this.pin.checked) this.togglePin();
    else this.draw();
  }

  async poll() {
    const { followed } = this;
    if (!this.service.open || !followed.stream || this.isPaused) return;
    if (!["running", "starting", "stopping"].includes(this.service.state)) {
      setText(this.said, "The app does not run; publish it to see its rows.");
      return;
    }
    const answer = await followed.poll();
    if (!answer || followed !== this.followed) return;
    setText(this.said, answer.isDone ? "" : `No rows: ${problemText(answer)}`);
    if (answer.isDone && !this.isPaused) this.draw();
  }

  drawColumns() {
    const { numeric } = this.followed;
    const key = numeric.join();
    if (key === this.numeric) return;
    this.numeric = key;
    const chosen = this.column.value || pins.column(this.service.open, this.stream.value);
    this.column.replaceChildren(element("option", { value: "" }, "none"), ...numeric.map((name) => element("option", { value: name }, name)));
    if (numeric.includes(chosen)) this.column.value = chosen;
  }

  draw() {
    this.drawColumns();
    this.pin.checked = pins.has(this.service.open, this.stream.value);
    this.pin.disabled = !this.stream.value || (!this.pin.checked && pins.isFull);
    const { rows, columns } = this.followed;
    const words = this.filter.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const matching = rows.filter((row) => words.every((word) => JSON.stringify(Object.values(row.values)).toLowerCase().includes(word)));
    this.table.show(["time", ...columns], cellsOf(matching.slice(-SHOWN), columns), rows.length ? "No row matches the filter." : "No rows yet.");
    this.chart.show(this.column.value, pointsOf(matching, this.column.value));
  }
}
