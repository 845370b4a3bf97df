// Below Live: the streams of stream apps that this browser shows, each with its newest rows and a chart.

import { AppChart } from "./app_chart.js";
import { pins } from "./app_pins.js";
import { ResultTable } from "./app_result_table.js";
import { cellsOf, pointsOf, StreamRows } from "./app_stream_rows.js";
import { button, element, setText } from "./elements.js";
import { persistentPart } from "./persistent_part.js";
import { problemText } from "./requests.js";

const POLL_MILLISECONDS = 1000;
const SHOWN = 5;

class Pinned {
  constructor({ app, stream, column }) {
    this.column = column;
    this.followed = new StreamRows(app, stream, () => this.draw());
    this.said = element("p", { class: "quiet", role: "status" });
    this.table = new ResultTable(`Newest rows of ${stream}`);
    this.chart = new AppChart();
    const remove = button("Remove", () => pins.put(app, stream, null));
    remove.setAttribute("aria-label", `Remove ${stream} of ${app}`);
    this.root = element("section", { class: "box", "aria-label": `${stream} of the app ${app}`, "data-pin": `${app} ${stream}` }, element("div", { class: "row app-pin-head" }, element("h4", {}, `${stream} `, element("span", { class: "quiet" }, app)), remove), this.said, this.chart.root, this.table.root);
    this.table.show(["time"], [], "No rows yet.");
  }

  async poll() {
    const answer = await this.followed.poll();
    if (!answer) return;
    setText(this.said, answer.isDone ? "" : `No rows: ${problemText(answer)}`);
    this.draw();
  }

  draw() {
    const { rows, columns } = this.followed;
    this.table.show(["time", ...columns], cellsOf(rows.slice(-SHOWN), columns), "No rows yet.");
    this.chart.show(this.column, pointsOf(rows, this.column));
  }
}

class PinsView {
  constructor() {
    this.shown = new Map();
    this.root = element("div", { class: "app-pins", "data-part": "app-pins" });
    pins.listen(() => this.rebuild());
    this.rebuild();
  }

  rebuild() {
    const wanted = new Map(pins.all.map((one) => [JSON.stringify(one), one]));
    for (const [key, one] of this.shown) if (!wanted.has(key)) one.followed.rest();
    this.shown = new Map([...wanted].map(([key, one]) => [key, this.shown.get(key) ?? new Pinned(one)]));
    this.root.replaceChildren(...[...this.shown.values()].map(({ root }) => root));
    this.root.hidden = !this.shown.size;
  }

  enter() {
    this.timer ??= setInterval(() => document.hidden || this.poll(), POLL_MILLISECONDS);
    this.poll();
  }

  leave() {
    clearInterval(this.timer);
    this.timer = null;
    for (const one of this.shown.values()) one.followed.rest();
  }

  poll() {
    for (const one of this.shown.values()) one.poll();
  }
}

export const { mount, unmount } = persistentPart(() => new PinsView());
