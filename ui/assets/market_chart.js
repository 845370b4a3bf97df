// One chart of candles with marks. Drawn on a canvas; a sentence and a table say the same.

import { CandlestickSeries, createChart, createSeriesMarkers } from "/vendor/lightweight-charts/lightweight-charts.standalone.production.mjs";
import { CandleFeed, SECONDS } from "./candle_feed.js";
import { canvasColour } from "./canvas_colours.js";
import { element, emptyRow, setText } from "./elements.js";
import { fullTime, number } from "./format.js";
import { isoText } from "./zone.js";

const POLL_MILLISECONDS = { "1s": 1000, "5s": 2000, "15s": 2000 };
const SLOW_MILLISECONDS = 5000;
const OLDER_BEFORE = 20;
const LISTED = 20;
const STEP = 0.15;
// A chart that was flung goes on for a while.
const USED_MILLISECONDS = 1500;
const LOOKS = { bought: ["--good", "arrowUp", "belowBar"], sold: ["--bad", "arrowDown", "aboveBar"], opportunity: ["--line", "circle", "aboveBar"], settings: ["--mean", "square", "belowBar"] };
const COLUMNS = ["Begins", "Open", "High", "Low", "Close"];

export class MarketChart {
  // what: {key, title, address, digits, unit, markets}
  constructor(what, interval, { onRange, onPoint, onMark }) {
    this.what = what;
    this.interval = interval;
    this.onRange = onRange;
    this.onPoint = onPoint;
    this.onMark = onMark;
    this.feed = new CandleFeed(what.address, interval);
    this.marks = [];
    this.box = element("div", { class: "candles", tabindex: "0", role: "img" });
    this.box.onkeydown = (event) => this.press(event);
    this.usedAt = -Infinity;
    for (const act of ["keydown", "wheel", "pointerdown", "touchmove", "mousemove"]) this.box.addEventListener(act, (event) => (act === "mousemove" && !event.buttons) || (this.usedAt = performance.now()), { passive: true, capture: true });
    this.said = element("p", { class: "quiet", "data-part": "chart-said" }, "Waiting for candles…");
    this.table = element("tbody");
    const heads = COLUMNS.map((name, i) => element("th", { scope: "col", class: i ? "number" : null }, name));
    const name = `${what.title}, candles of ${interval}`;
    this.listing = element("details", {}, element("summary", {}, `Newest ${LISTED} as a table`), element("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": `${name} as a table` }, element("table", { "aria-label": name }, element("thead", {}, element("tr", {}, ...heads)), this.table)));
    this.listing.ontoggle = () => this.drawTable();
    this.root = element("article", { class: "box market-chart", "data-chart": `${what.key} ${interval}` }, element("h3", {}, what.title, " ", element("span", { class: "quiet" }, interval)), this.box, this.said, this.listing);
    this.describe();
  }

  enter() {
    if (this.timer) return;
    const wait = POLL_MILLISECONDS[this.interval] ?? SLOW_MILLISECONDS;
    this.timer = setInterval(() => document.hidden || this.poll(), wait);
    this.poll();
  }

  leave() {
    clearInterval(this.timer);
    this.timer = null;
  }

  close() {
    this.leave();
    this.chart?.remove();
    this.chart = null;
  }

  // One question at a time: a slow server is not asked again before it has answered.
  async poll() {
    if (this.isPolling) return;
    this.isPolling = true;
    const changed = await this.feed.readNewest();
    this.isPolling = false;
    if (!this.timer) return;
    if (this.feed.rows.length && !this.chart) this.draw();
    else if (changed.length > 5) this.setAll();
    else for (const row of changed) this.update(row);
    if (changed.length) this.drawMarks();
    this.describe();
    this.drawTable();
  }

  draw() {
    this.chart = createChart(this.box, { autoSize: true, handleScale: { axisPressedMouseMove: true }, ...this.look() });
    this.series = this.chart.addSeries(CandlestickSeries, this.seriesLook());
    this.markers = createSeriesMarkers(this.series, []);
    this.setAll();
    const scale = this.chart.timeScale();
    scale.subscribeVisibleTimeRangeChange((range) => range && this.takeRange(range));
    this.chart.subscribeCrosshairMove(({ time, sourceEvent }) => sourceEvent && this.onPoint(this, time));
    scale.subscribeVisibleLogicalRangeChange((range) => range && range.from < OLDER_BEFORE && this.readOlder());
    this.chart.subscribeClick(({ hoveredObjectId }) => hoveredObjectId && this.onMark(String(hoveredObjectId)));
  }

  look() {
    const colour = (name) => canvasColour(this.root, name);
    const faint = colour("--border");
    return {
      layout: { background: { type: "solid", color: colour("--ground") }, textColor: colour("--muted"), fontFamily: getComputedStyle(this.root).fontFamily, fontSize: 11, attributionLogo: false },
      grid: { vertLines: { color: faint }, horzLines: { color: faint } },
      rightPriceScale: { borderColor: faint },
      timeScale: { borderColor: faint, timeVisible: true, secondsVisible: SECONDS[this.interval] < 60, tickMarkFormatter: (seconds) => this.tick(seconds), rightOffset: 3 },
      localization: { timeFormatter: (seconds) => isoText(seconds * 1e6).slice(0, 19).replace("T", " "), priceFormatter: (value) => number(value, this.what.digits) },
    };
  }

  seriesLook() {
    const [up, down] = ["--good", "--bad"].map((name) => canvasColour(this.root, name));
    return { upColor: up, downColor: down, borderUpColor: up, borderDownColor: down, wickUpColor: up, wickDownColor: down, priceFormat: { type: "price", precision: this.what.digits, minMove: 10 ** -this.what.digits } };
  }

  tick(seconds) {
    const text = isoText(seconds * 1e6);
    if (SECONDS[this.interval] >= 86_400) return text.slice(0, 10);
    return text.slice(11, SECONDS[this.interval] < 60 ? 19 : 16) === "00:00" ? text.slice(5, 10) : text.slice(11, SECONDS[this.interval] < 60 ? 19 : 16);
  }

  recolour() {
    if (!this.chart) return;
    this.chart.applyOptions(this.look());
    this.series.applyOptions(this.seriesLook());
    this.drawMarks();
  }

  setAll() {
    this.series.setData(this.feed.rows.map(bar));
    this.drawnUntil = this.feed.rows.at(-1)?.start ?? 0;
  }

  // The library takes changes of the last candle it has, and those behind it.
  update(row) {
    if (row.start < this.drawnUntil) return this.setAll();
    this.series.update(bar(row));
    this.drawnUntil = row.start;
    return undefined;
  }

  async readOlder() {
    if (!(await this.feed.readOlder()) || !this.chart) return;
    this.setAll();
    this.drawMarks();
    this.describe();
  }

  // Said on the box as well: a canvas tells nobody what it shows.
  takeRange(range) {
    this.box.dataset.range = `${range.from} ${range.to}`;
    this.onRange(this, range);
  }

  // range: {from, to} in seconds; what this chart has of it
  showRange(range) {
    const { rows } = this.feed;
    if (!this.chart || rows.length < 2) return;
    const from = Math.max(range.from, rows[0].start / 1e6);
    const to = Math.min(range.to, rows.at(-1).start / 1e6);
    if (from < to) this.chart.timeScale().setVisibleRange({ from, to });
  }

  // time: seconds, that another chart points at; undefined: at none
  pointAt(time) {
    if (!this.chart) return;
    const start = Math.floor((time ?? 0) / this.feed.seconds) * this.feed.seconds;
    const row = time === undefined ? null : this.feed.byStart.get(start * 1e6);
    if (row) this.chart.setCrosshairPosition(Number(row.close), start, this.series);
    else this.chart.clearCrosshairPosition();
  }

  // marks: [{time (microseconds), kind, id, words}]
  setMarks(marks) {
    this.marks = marks;
    this.drawMarks();
    this.describe();
  }

  drawMarks() {
    if (!this.chart) return;
    const first = this.feed.rows[0]?.start ?? Infinity;
    const looks = Object.fromEntries(Object.entries(LOOKS).map(([kind, [name, shape, position]]) => [kind, [canvasColour(this.root, name), shape, position]]));
    const shown = this.marks.filter((mark) => mark.time >= first).sort((one, other) => one.time - other.time);
    this.markers.setMarkers(
      shown.map(({ time, kind, id, words }) => {
        const [colour, shape, position] = looks[kind];
        return { time: Math.floor(time / 1e6 / this.feed.seconds) * this.feed.seconds, color: colour, shape, position, id, text: kind === "settings" ? words : undefined };
      }),
    );
  }

  press(event) {
    const scale = this.chart?.timeScale();
    const range = scale?.getVisibleLogicalRange();
    const moves = { ArrowLeft: [-STEP, -STEP], ArrowRight: [STEP, STEP], "+": [STEP, -STEP], "=": [STEP, -STEP], "-": [-STEP, STEP] };
    const move = moves[event.key];
    if (!range || (!move && event.key !== "End" && event.key !== "Home")) return;
    event.preventDefault();
    if (event.key === "End") scale.scrollToRealTime();
    else if (event.key === "Home") scale.fitContent();
    else {
      const width = range.to - range.from;
      scale.setVisibleLogicalRange({ from: range.from + move[0] * width, to: range.to + move[1] * width });
    }
  }

  describe() {
    const { rows } = this.feed;
    const last = rows.at(-1);
    const words = last ? `${rows.length} candles since ${fullTime(rows[0].start)}; the last: open ${this.figure(last.open)}, high ${this.figure(last.high)}, low ${this.figure(last.low)}, close ${this.figure(last.close)}${this.markWords()}` : "No candles yet: they begin with the first quote that this page's server sees.";
    setText(this.said, this.feed.trouble ? `Not read: ${this.feed.trouble}` : words);
    this.box.setAttribute("aria-label", `${this.what.title}, candles of ${this.interval}. ${words} Arrow keys move, plus and minus zoom, End goes to now.`);
  }

  markWords() {
    const first = this.feed.rows[0]?.start ?? Infinity;
    const counts = { bought: 0, sold: 0, opportunity: 0, settings: 0 };
    for (const mark of this.marks) if (mark.time >= first) counts[mark.kind] += 1;
    const names = { bought: "bought", sold: "sold", opportunity: "opportunities", settings: "settings changes" };
    const parts = Object.entries(counts).filter(([, count]) => count).map(([kind, count]) => `${count} ${names[kind]}`);
    return parts.length ? `; marks: ${parts.join(", ")}.` : ".";
  }

  figure(text) {
    return `${number(text, this.what.digits)}${this.what.unit}`;
  }

  drawTable() {
    if (!this.listing.open) return;
    const rows = this.feed.rows.slice(-LISTED).reverse();
    const lines = rows.map((row) => element("tr", {}, element("td", {}, fullTime(row.start).slice(0, 19)), ...["open", "high", "low", "close"].map((name) => element("td", { class: "number", title: row[name] }, number(row[name], this.what.digits)))));
    this.table.replaceChildren(...(lines.length ? lines : [emptyRow(COLUMNS.length, "No candles yet.")]));
  }
}

function bar({ start, open, high, low, close }) {
  return { time: start / 1e6, open: Number(open), high: Number(high), low: Number(low), close: Number(close) };
}
