// One card per market: price and the moving average of its last ten mids, drawn by uPlot.

import { element, setClass, setText } from "./elements.js";
import { exchangeName, number, price } from "./format.js";
import { withGaps } from "./gaps.js";
import { digitsOf } from "./market_digits.js";
import { isLocalTime, isoText } from "./zone.js";

const HEIGHT = 132;
const SPAN_SECONDS = 180;
const STATUS_WORDS = { fresh: "", stale: "stale", withdrawn: "withdrawn" };

export function loadPlot() {
  if (window.uPlot) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = element("script", { src: "/vendor/uplot/uPlot.iife.min.js" });
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

export class Charts {
  constructor(container) {
    this.container = container;
    this.cards = new Map();
    this.resize = new ResizeObserver(() => this.cards.forEach((card) => card.fit()));
    this.resize.observe(container);
  }

  // markets: [key, series] of the asset to show
  show(model, markets) {
    if (markets.map(([key]) => key).join() !== [...this.cards.keys()].join()) this.rebuild(markets);
    const quotes = new Map(model.quotes.map((quote) => [`${quote.exchange} ${quote.symbol}`, quote]));
    for (const [key, card] of this.cards) card.show(model.series.get(key), quotes.get(key), model.now / 1_000_000);
  }

  rebuild(markets) {
    this.close();
    this.cards = new Map(markets.map(([key, series]) => [key, new Card(series)]));
    this.container.replaceChildren(...[...this.cards.values()].map((card) => card.node));
  }

  recolour() {
    this.cards.forEach((card) => card.drop());
  }

  close() {
    this.cards.forEach((card) => card.drop());
  }

  disconnect() {
    this.resize.disconnect();
    this.close();
  }
}

class Card {
  constructor(series) {
    this.digits = digitsOf(series.tick_size);
    this.currency = series.quote_currency;
    this.dot = element("span", { class: "dot" });
    this.status = element("span", { class: "note" });
    this.price = element("div", { class: "figure" }, "–");
    this.mean = element("span", {}, "–");
    this.spread = element("span", {}, "–");
    const drawn = `Price of ${series.symbol} on ${exchangeName(series.exchange)} and its moving average, the last three minutes`;
    this.plotBox = element("div", { class: "plot", role: "img", "aria-label": drawn }, element("div", { class: "waiting" }, "Waiting for quotes…"));
    this.node = element(
      "article",
      { class: "card chart", "data-market": `${series.exchange} ${series.symbol}` },
      element(
        "header",
        {},
        element("h3", {}, this.dot, `${series.symbol} `, element("span", { class: "muted" }, exchangeName(series.exchange))),
        element("span", { class: "tag" }, series.region),
      ),
      element("div", { class: "prices" }, this.price, this.status),
      this.plotBox,
      element(
        "footer",
        { class: "muted" },
        element("span", {}, element("i", { class: "key" }), "price"),
        element("span", {}, element("i", { class: "key mean" }), "average ", this.mean),
        element("span", {}, "bid–ask ", this.spread),
      ),
    );
  }

  // now: the market's, in seconds
  show(series, quote, now) {
    if (quote) this.showQuote(quote);
    const [times, mids, means] = series.points;
    if (times.length === 0) return;
    setText(this.mean, price(means.at(-1), this.currency, this.digits));
    // the line of a silent market ends at its last price, and the time goes on
    const newest = Math.max(times.at(-1), now);
    this.range = [Math.max(Math.min(times[0], newest - 10), newest - SPAN_SECONDS), newest];
    const drawn = withGaps([times, mids, means]);
    if (this.plot) this.plot.setData(drawn);
    else this.draw(drawn);
  }

  showQuote(quote) {
    setText(this.price, price(quote.mid, this.currency, this.digits));
    setText(this.spread, `${number(((quote.ask - quote.bid) * 10000) / quote.mid, 1)} bps`);
    setText(this.status, STATUS_WORDS[quote.status]);
    setClass(this.dot, `dot ${quote.status}`);
    this.node.classList.toggle("is-old", quote.status !== "fresh");
  }

  draw(data) {
    const style = getComputedStyle(this.node);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [line, mean, faint, grid] = ["--line", "--mean", "--muted", "--border"].map(colour);
    const font = `10.5px ${style.fontFamily}`;
    const axis = { stroke: faint, font, ticks: { show: false }, grid: { stroke: grid, width: 0.5 } };
    const digits = this.digits;
    this.plotBox.replaceChildren();
    this.plot = new window.uPlot(
      {
        width: Math.max(this.plotBox.clientWidth, 100),
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        padding: [6, 4, 0, 14],
        tzDate: (seconds) => (isLocalTime() ? new Date(seconds * 1000) : window.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC")),
        scales: {
          x: { range: () => this.range },
          y: { range: (_, low, high) => padded(low, high, digits) },
        },
        axes: [
          { ...axis, size: 22, space: 64, grid: { show: false }, values: (_, marks) => marks.map(clock) },
          {
            ...axis,
            side: 1,
            space: 24,
            size: (_, values) => 10 + 6.2 * Math.max(0, ...(values ?? []).map((value) => value.length)),
            values: (_, marks) => marks.map((mark) => mark.toLocaleString("en-US", { maximumFractionDigits: digits })),
          },
        ],
        series: [
          {},
          { stroke: line, width: 1.6, fill: colour("--line-fill"), points: { show: false } },
          { stroke: mean, width: 1.2, dash: [4, 3], points: { show: false } },
        ],
      },
      data,
      this.plotBox,
    );
  }

  fit() {
    const width = this.plotBox.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  drop() {
    this.plot?.destroy();
    this.plot = null;
  }
}

function clock(seconds) {
  return isoText(seconds * 1_000_000).slice(11, 19);
}

function padded(low, high, digits) {
  if (low === null || low === undefined) return [0, 1];
  const room = Math.max((high - low) * 0.15, 10 ** -digits, Math.abs(high) * 1e-6);
  return [low - room, high + room];
}
