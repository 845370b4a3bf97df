// The text over what was recorded, before it is published: which rows, when, how many, and what it costs.

import { AppChart } from "./app_chart.js";
import { ResultTable } from "./app_result_table.js";
import { microseconds } from "./app_states.js";
import { button, element, setClass, setText, shape } from "./elements.js";
import { clockTime, count, exchangeName, fullTime, number } from "./format.js";
import { ask, problemText } from "./requests.js";

const ADDRESS = "/api/apps/dry-run";
const POLL_MILLISECONDS = 700;
const MINUTES = [5, 10, 30, 60];
const SHOWN = 200;

export class AppDryRunPanel {
  constructor(service, editor) {
    this.service = service;
    this.editor = editor;
    this.source = element("select", { "aria-label": "Over what", "data-part": "app-dry-source" });
    this.against = element("input", { type: "checkbox" });
    this.compare = element("label", { class: "tick" }, this.against, "compare with the published version");
    this.go = button("Dry run", () => this.run(), "main");
    this.stop = button("Cancel", () => this.cancel());
    this.stop.hidden = true;
    this.said = element("p", { class: "said", role: "status", "data-part": "app-dry-said" });
    this.figures = element("dl", { class: "app-figures" });
    this.bars = element("div", { class: "app-bars" });
    this.market = element("select", { "aria-label": "Prices of", "data-part": "app-dry-market" });
    this.market.addEventListener("change", () => this.drawPrices());
    this.prices = new AppChart();
    this.lie = element("div", { class: "app-dry-prices" }, element("label", {}, "Rows over the prices of ", this.market), this.prices.root);
    this.rows = new ResultTable("Rows of the dry run");
    this.here = new ResultTable("Rows of this text alone");
    this.there = new ResultTable("Rows of the published version alone");
    this.result = element("div", { hidden: true }, this.figures, this.lie, this.bars, ...this.named("Rows", this.rows), ...this.named("Only with this text", this.here), ...this.named("Only with the published version", this.there));
    this.root = element(
      "div", { "data-part": "app-dry-run" },
      element("p", { class: "quiet" }, "Runs the text as it stands in the editor; nothing is published, and no row leaves this page."),
      element("div", { class: "row app-tools" }, this.source, this.compare, this.go, this.stop), this.said, this.result,
    );
    this.offer([], []);
  }

  named(title, table) {
    table.title = element("h4", {}, title);
    return [table.title, table.root];
  }

  async enter() {
    this.draw();
    if (this.isOffered) return;
    this.isOffered = true;
    const answer = await ask("GET", `${ADDRESS}/sources`);
    if (answer.isDone) this.offer(answer.body.sessions ?? [], (answer.body.sets ?? []).map((one) => one.name ?? one));
    else {
      const sets = await ask("GET", "/api/tick-sets");
      if (sets.isDone) this.offer([], sets.body.map(({ name }) => name));
    }
  }

  offer(sessions, sets) {
    const option = (source, words) => element("option", { value: JSON.stringify(source) }, words);
    const group = (label, options) => (options.length ? [element("optgroup", { label }, ...options)] : []);
    const others = sets.filter((name) => !sessions.some((one) => one.name === name));
    const chosen = this.source.value;
    this.source.replaceChildren(
      ...group("This session", MINUTES.map((minutes) => option({ minutes }, `the last ${minutes} minutes`))),
      ...group("Recorded sessions and tick sets", sessions.map((one) => option({ session: one.name }, recordingWords(one)))),
      ...group("Tick sets", others.map((name) => option({ set: name }, name))),
    );
    this.source.value = chosen || JSON.stringify({ minutes: 10 });
  }

  open() {
    this.forget();
    this.draw();
  }

  forget() {
    this.id = null;
    clearTimeout(this.timer);
    this.result.hidden = true;
    this.stop.hidden = true;
    this.go.disabled = false;
    this.say("", "");
  }

  draw() {
    this.compare.hidden = !this.service.stored?.published_version;
  }

  async run() {
    this.forget();
    this.go.disabled = true;
    this.say("Asked for …", "");
    const asked = this.service.open;
    const isCompared = this.against.checked && !this.compare.hidden;
    const body = { text: this.editor.text, name: asked, source: JSON.parse(this.source.value), ...(isCompared ? { against: asked } : {}) };
    const answer = await ask("POST", ADDRESS, body);
    if (asked !== this.service.open) return;
    if (!answer.isDone) {
      this.go.disabled = false;
      this.say(`No dry run: ${problemText(answer)}`, "bad");
      return;
    }
    this.id = answer.body.id;
    this.stop.hidden = false;
    this.follow(this.id);
  }

  async follow(id) {
    const answer = await ask("GET", `${ADDRESS}/${encodeURIComponent(id)}`);
    if (id !== this.id) return;
    const run = answer.body;
    if (answer.isDone && !["queued", "running"].includes(run.state)) {
      this.end(run);
      return;
    }
    if (answer.status === 404) {
      this.forget();
      this.say("The dry run is gone; start it again.", "bad");
      return;
    }
    if (answer.isDone) this.say(run.state === "queued" ? "Waits for its turn." : `Running${run.progress ? `, ${number(run.progress * 100, 0)} %` : " …"}`, "");
    this.timer = setTimeout(() => this.follow(id), POLL_MILLISECONDS);
  }

  async cancel() {
    const answer = await ask("DELETE", `${ADDRESS}/${encodeURIComponent(this.id)}`);
    if (!answer.isDone) this.say(`Not cancelled: ${problemText(answer)}`, "bad");
    else {
      this.forget();
      this.say("Cancelled.", "");
    }
  }

  end(run) {
    this.stop.hidden = true;
    this.go.disabled = false;
    if (run.state !== "done") {
      this.say(run.reason ? `The dry run ended: ${run.reason}` : `The dry run is ${run.state}.`, run.state === "failed" ? "bad" : "");
      return;
    }
    const total = (run.streams ?? []).reduce((sum, { rows }) => sum + rows, 0);
    this.say(`${count(total)} row${total === 1 ? "" : "s"}.`, "good");
    this.result.hidden = false;
    this.drawFigures(run);
    this.offerMarkets(run);
    this.drawBars(run.minutes ?? []);
    this.drawRows(this.rows, run.rows, total);
    this.drawRows(this.here, run.only_here, run.only_here_count);
    this.drawRows(this.there, run.only_there, run.only_there_count);
  }

  drawFigures(run) {
    const figures = [
      ...(run.streams ?? []).map(({ name, rows }) => [name, `${count(rows)} rows`]),
      ...(run.from && run.until ? [["over", `${clockTime(run.from)} to ${clockTime(run.until)}`]] : []),
      ...(run.cpu_seconds === undefined || run.cpu_seconds === null ? [] : [["CPU", `${number(run.cpu_seconds, 2)} s`]]),
      ...(run.state_bytes === undefined || run.state_bytes === null ? [] : [["state", `${count(Math.ceil(run.state_bytes / 1024))} KiB`]]),
    ];
    this.figures.replaceChildren(...figures.map(([name, words]) => element("div", {}, element("dt", {}, name), element("dd", {}, words))));
  }

  // The market that most rows name comes first; of an app that reads no prices there is none.
  offerMarkets({ prices = [], rows = [] }) {
    const named = ({ exchange, symbol }) => rows.filter(({ values }) => values.exchange === exchange && values.symbol === symbol).length;
    this.tracks = prices.filter(({ points }) => points.length > 1).sort((one, other) => named(other) - named(one));
    this.marks = rows;
    this.lie.hidden = !this.tracks.length;
    this.market.replaceChildren(...this.tracks.map(({ exchange, symbol }, i) => element("option", { value: String(i) }, `${symbol} ${exchangeName(exchange)}`)));
    this.drawPrices();
  }

  // A row that names a market lies on the prices of that one alone.
  drawPrices() {
    const track = this.tracks[Number(this.market.value)];
    if (!track) return;
    const isHere = ({ values }) => ["exchange", "symbol"].every((name) => values[name] === undefined || values[name] === track[name]);
    const marks = this.marks.filter(isHere).map(({ time }) => microseconds(time) / 1e6);
    const words = `${track.symbol} on ${exchangeName(track.exchange)} with ${count(marks.length)} row${marks.length === 1 ? "" : "s"}`;
    this.prices.show(words, track.points.map(([time, value]) => [microseconds(time) / 1e6, value]), marks);
  }

  // Rows a minute; minutes without a row are there too.
  drawBars(minutes) {
    const most = Math.max(1, ...minutes.map(({ rows }) => rows));
    if (!minutes.length) {
      this.bars.replaceChildren();
      return;
    }
    const bars = minutes.map(({ at, rows }, i) => bar(i, (58 * rows) / most, `${clockTime(microseconds(at))}: ${count(rows)} rows`));
    const svg = shape("svg", { viewBox: `0 0 ${minutes.length * 10} 60`, preserveAspectRatio: "none", role: "img", "aria-label": `Rows a minute, at most ${count(most)}` }, ...bars);
    const ends = element("div", { class: "row quiet app-bar-ends" }, element("span", {}, clockTime(microseconds(minutes[0].at))), element("span", {}, `rows a minute, at most ${count(most)}`), element("span", {}, clockTime(microseconds(minutes.at(-1).at))));
    this.bars.replaceChildren(svg, ends);
  }

  drawRows(table, rows, total) {
    table.title.hidden = table.root.hidden = rows === undefined || rows === null;
    if (table.root.hidden) return;
    const newest = rows.slice(-SHOWN).reverse();
    const columns = [...new Set(newest.flatMap(({ values }) => Object.keys(values)))];
    const of = total > newest.length ? `, the newest ${newest.length} of ${count(total)}` : total === undefined ? "" : `: ${count(total)}`;
    setText(table.title, `${table.title.textContent.replace(/[,:].*/, "")}${of}`);
    table.show(["time", "stream", ...columns], newest.map((row) => [clockTime(microseconds(row.time)), row.stream ?? "", ...columns.map((name) => row.values[name])]), "None.");
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function recordingWords({ name, start_time: begin, end_time: end }) {
  return begin ? `${fullTime(begin).slice(0, 16)} to ${clockTime(end).slice(0, 5)}, ${name}` : name;
}

function bar(place, height, words) {
  return shape("rect", { x: place * 10 + 1, y: 60 - height, width: 8, height }, shape("title", {}, words));
}
