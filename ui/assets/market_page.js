// The page Market: candles of two markets and of the spread between them, over several lengths at once, with what we did
// there; and both order books with our size walked through them, now or as they were at a decision.

import { ask, problemText } from "./requests.js";
import { BookView, grossWords } from "./book_view.js";
import { SECONDS } from "./candle_feed.js";
import { element, setText } from "./elements.js";
import { exchangeName, fullTime, stateName } from "./format.js";
import { liveFeed } from "./live_feed.js";
import { digitsOf } from "./market_digits.js";
import { MarketChart } from "./market_chart.js";
import { KINDS, readMarks } from "./market_marks.js";
import { persistentPart } from "./persistent_part.js";
import { recall, remember } from "./tab_memory.js";

const BOOK_MILLISECONDS = 1000;
const MARK_MILLISECONDS = 5000;
const LISTED_DECISIONS = 25;
const MOST_INTERVALS = 3;
const SHOWN = { buy: "Market to buy on", sell: "Market to sell on", spread: "Spread between them" };
const DEFAULTS = { intervals: ["1s", "1m"], shown: ["buy", "spread"], marks: ["fills", "opportunities", "settings"] };

class MarketPage {
  constructor() {
    this.choices = Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, recalled(name, value)]));
    this.charts = [];
    this.marks = [];
    this.asset = select("Asset", () => this.chooseAsset(this.asset.value));
    this.buy = select("Buy on", () => this.chooseMarkets());
    this.sell = select("Sell on", () => this.chooseMarkets());
    this.together = element("input", { type: "checkbox" });
    this.size = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", maxlength: "40" });
    this.size.oninput = () => this.readBooks();
    this.decision = select("Books as of", () => this.chooseDecision(this.decision.value));
    this.said = element("p", { class: "said", role: "status", "data-part": "market-said" });
    this.grid = element("div", { class: "market-charts" });
    this.books = { asks: new BookView("asks"), bids: new BookView("bids") };
    this.gross = element("p", { "data-part": "market-gross" });
    this.root = element("section", { class: "market", "data-part": "market", "aria-label": "Market" }, this.controls(), this.said, this.grid, this.bookPart());
    this.readAddress();
  }

  controls() {
    return element(
      "div",
      { class: "box market-controls" },
      element("div", { class: "row" }, labelled("Asset", this.asset), labelled("Buy on", this.buy), labelled("Sell on", this.sell)),
      element("div", { class: "row market-ticks" }, this.ticks("Charts", "shown", SHOWN), this.ticks("Candles of", "intervals", Object.fromEntries(Object.keys(SECONDS).map((name) => [name, name])), MOST_INTERVALS), this.ticks("Marks", "marks", KINDS), element("label", { class: "tick" }, this.together, "Same range for all lengths")),
      element("p", { class: "quiet" }, "▲ bought   ▼ sold   ● opportunity   ■ settings. A click on a fill, or on an opportunity that was taken, opens its arbitrage."),
    );
  }

  ticks(legend, name, words, most = Infinity) {
    const boxes = Object.entries(words).map(([value, text]) => {
      const box = element("input", { type: "checkbox", value });
      box.checked = this.choices[name].includes(value);
      box.onchange = () => this.tick(name, value, box, most);
      return element("label", { class: "tick" }, box, text);
    });
    return element("fieldset", { class: "row" }, element("legend", { class: "quiet" }, legend), ...boxes);
  }

  tick(name, value, box, most) {
    const others = this.choices[name].filter((one) => one !== value);
    if (box.checked && others.length >= most) {
      box.checked = false;
      this.say(`At most ${most} lengths at once: take one away first.`, "warn");
      return;
    }
    this.say("", "");
    this.choices[name] = box.checked ? [...others, value] : others;
    remember(`market.${name}`, JSON.stringify(this.choices[name]));
    if (name === "marks") this.readMarks();
    else this.drawCharts();
  }

  bookPart() {
    return element(
      "section",
      { "aria-label": "Order books" },
      element("div", { class: "row market-size" }, labelled("Our size", this.size), labelled("Books as of", this.decision)),
      this.gross,
      element("div", { class: "market-books" }, this.books.asks.root, this.books.bids.root),
    );
  }

  enter() {
    this.isHere = true;
    if (this.known && new URLSearchParams(location.search).get("at") !== this.at) this.readAddress();
    this.hangUp ??= liveFeed.join(this);
    for (const chart of this.charts) {
      chart.enter();
      chart.recolour();
    }
    this.timers ??= [setInterval(() => document.hidden || this.readBooks(), BOOK_MILLISECONDS), setInterval(() => document.hidden || this.readMarks(), MARK_MILLISECONDS)];
    this.readBooks();
    this.readMarks();
  }

  leave() {
    this.isHere = false;
    this.hangUp?.();
    this.hangUp = undefined;
    this.timers?.forEach(clearInterval);
    this.timers = undefined;
    for (const chart of this.charts) chart.leave();
  }

  // The markets come with the first snapshot, and with one of another session.
  show(model, changed) {
    if (!model.isKnown) return;
    if (changed.has("zone") || changed.has("all")) this.charts.forEach((chart) => chart.recolour());
    const known = [...model.series.keys()].join();
    if (this.known === known) return;
    this.known = known;
    this.markets = [...model.series.values()];
    this.limit = Number(model.settings?.max_notional ?? 0);
    fill(this.asset, model.bases().map((base) => [base, base]));
    this.chooseAsset(this.markets.some((one) => one.base === this.asked.base) ? this.asked.base : model.bases()[0], this.asked);
    if (this.asked.at) this.chooseDecision(this.asked.at);
  }

  readAddress() {
    const asked = new URLSearchParams(location.search);
    this.asked = Object.fromEntries(["base", "buy", "sell", "at"].map((name) => [name, asked.get(name) ?? ""]));
    if (this.known && this.asked.at) this.chooseDecision(this.asked.at);
  }

  writeAddress() {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries({ base: this.asset.value, buy: this.buy.value, sell: this.sell.value, at: this.at })) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(history.state, "", address);
  }

  chooseAsset(base, asked = {}) {
    if (!base) return;
    this.asset.value = base;
    liveFeed.showAsset(base);
    const names = this.markets.filter((one) => one.base === base).map((one) => [nameOf(one), `${exchangeName(one.exchange)} ${one.symbol}`]);
    fill(this.buy, names);
    fill(this.sell, [...names, ["", "nothing"]]);
    const has = (name) => names.some(([value]) => value === name);
    this.buy.value = has(asked.buy) ? asked.buy : names[0][0];
    this.sell.value = has(asked.sell) ? asked.sell : (names.find(([value]) => value !== this.buy.value)?.[0] ?? "");
    this.size.value = "";
    this.chooseMarkets(asked.at);
  }

  chooseMarkets(at = "") {
    this.at = at;
    this.decided = null;
    this.marks = [];
    this.drawCharts();
    this.readDecisions();
    this.readBooks();
    this.readMarks();
    if (this.isHere) this.writeAddress();
  }

  get pair() {
    const find = (name) => this.markets?.find((one) => nameOf(one) === name && one.base === this.asset.value);
    return [find(this.buy.value), find(this.sell.value)];
  }

  drawCharts() {
    this.charts.forEach((chart) => chart.close());
    const [buy, sell] = this.pair;
    const whats = [];
    if (buy && this.choices.shown.includes("buy")) whats.push(marketOf("buy", buy));
    if (sell && this.choices.shown.includes("sell")) whats.push(marketOf("sell", sell));
    if (buy && sell && nameOf(buy) !== nameOf(sell) && this.choices.shown.includes("spread")) whats.push(spreadOf(buy, sell));
    const intervals = Object.keys(SECONDS).filter((name) => this.choices.intervals.includes(name));
    const handlers = { onRange: (chart, range) => this.shareRange(chart, range), onPoint: (chart, time) => this.sharePoint(chart, time), onMark: (id) => openArbitrage(id) };
    this.charts = whats.flatMap((what) => intervals.map((interval) => [what, interval])).map(([what, interval]) => new MarketChart(what, interval, handlers));
    const empty = element("p", { class: "quiet" }, "Nothing is chosen: tick a chart and a length above.");
    this.grid.replaceChildren(...(this.charts.length ? this.charts.map((chart) => chart.root) : [empty]));
    if (this.isHere) for (const chart of this.charts) chart.enter();
    this.giveMarks();
  }

  // What one chart is moved to, all of its length show, or all.
  shareRange(from, range) {
    for (const chart of this.charts) if (chart !== from && (this.together.checked || chart.interval === from.interval)) chart.showRange(range);
  }

  sharePoint(from, time) {
    for (const chart of this.charts) if (chart !== from) chart.pointAt(time);
  }

  async readMarks() {
    const [buy, sell] = this.pair;
    if (!this.isHere || !buy) return;
    const kinds = Object.fromEntries(this.choices.marks.map((name) => [name, true]));
    const marks = await readMarks(buy.base, [buy, sell], kinds);
    if (this.pair[0] !== buy || this.pair[1] !== sell || JSON.stringify(marks) === JSON.stringify(this.marks)) return;
    this.marks = marks;
    this.giveMarks();
  }

  giveMarks() {
    for (const chart of this.charts) chart.setMarks(this.marks.filter((mark) => !mark.exchange || chart.what.markets.includes(`${mark.exchange} ${mark.symbol}`)));
  }

  async readDecisions() {
    const [buy] = this.pair;
    if (!buy) return;
    const answer = await ask("GET", `/api/arbitrages?${new URLSearchParams({ base: buy.base, limit: LISTED_DECISIONS })}`);
    if (this.pair[0] !== buy || !answer.isDone) return;
    const rows = answer.body.items.map((one) => [one.arbitrage_id, `${fullTime(one.event_time).slice(0, 23)} ${exchangeName(one.buy_exchange)} → ${exchangeName(one.sell_exchange)}, ${stateName(one.outcome)}`]);
    if (this.at && !rows.some(([id]) => id === this.at)) rows.unshift([this.at, `arbitrage ${this.at}`]);
    fill(this.decision, [["", "now"], ...rows]);
    this.decision.value = this.at ?? "";
  }

  // The books that an arbitrage was decided on, with its own orders; "" for those of now.
  async chooseDecision(id) {
    this.at = id;
    this.decided = null;
    if (!id) {
      this.writeAddress();
      this.readBooks();
      return;
    }
    const [answer, decision] = await Promise.all([ask("GET", `/api/arbitrages/${encodeURIComponent(id)}`), ask("GET", `/api/arbitrages/${encodeURIComponent(id)}/decision`)]);
    if (this.at !== id) return;
    if (!answer.isDone || !decision.isDone) {
      this.at = "";
      this.decision.value = "";
      this.say(`The decision is not known: ${problemText(answer.isDone ? decision : answer)}`, "bad");
      return;
    }
    const { base, buy_exchange, buy_symbol, sell_exchange, sell_symbol } = answer.body;
    const asked = { buy: `${buy_exchange} ${buy_symbol}`, sell: `${sell_exchange} ${sell_symbol}`, at: id };
    if (this.asset.value !== base || this.buy.value !== asked.buy || this.sell.value !== asked.sell) this.chooseAsset(base, asked);
    this.decided = decision.body;
    if (this.isHere) this.writeAddress();
    this.readBooks();
  }

  async readBooks() {
    const [buy, sell] = this.pair;
    if (!this.isHere || !buy) return;
    this.size.disabled = Boolean(this.at);
    if (this.at) {
      if (this.decided) this.showBooks(buy.base, ...this.decided.books.map(bookOfDecision));
      return;
    }
    if (this.isReading) return;
    this.isReading = true;
    const [asks, bids] = await Promise.all([this.readBook(buy), this.readBook(sell)]);
    this.isReading = false;
    if (this.pair[0] !== buy || this.pair[1] !== sell || this.at) return;
    if (!this.size.value && asks?.asks.levels.length) this.proposeSize(asks);
    this.showBooks(buy.base, asks, bids);
  }

  async readBook(market) {
    if (!market) return null;
    const size = this.size.value.trim();
    const answer = await ask("GET", `/api/books?${new URLSearchParams({ exchange: market.exchange, symbol: market.symbol, ...(size ? { amount: size } : {}) })}`);
    if (answer.isDone) {
      if (this.isSizeWrong) this.say("", "");
      this.isSizeWrong = false;
      return answer.body;
    }
    this.isSizeWrong = answer.status === 422;
    this.size.setAttribute("aria-invalid", String(this.isSizeWrong));
    if (this.isSizeWrong) this.say(`Our size, ${problemText(answer)}`, "bad");
    return null;
  }

  // As much as one arbitrage may trade now, to two digits.
  proposeSize(book) {
    const price = Number(book.asks.levels[0].price);
    if (this.limit > 0 && book.quote_currency === liveFeed.model.currency) this.size.value = String(Number((this.limit / price).toPrecision(2)));
    else this.size.value = String(Number(Number(book.asks.levels[0].amount).toPrecision(2)));
  }

  showBooks(base, asks, bids) {
    if (!this.isSizeWrong) this.size.setAttribute("aria-invalid", "false");
    this.books.asks.show(asks, base, "No book of this market is known yet.");
    this.books.bids.show(bids, base, this.sell.value ? "No book of this market is known yet." : "Choose a market to sell on.");
    setText(this.gross, grossWords(asks, bids));
  }

  say(words, tone) {
    setText(this.said, words);
    this.said.className = `said ${tone}`;
  }
}

function bookOfDecision(one) {
  const age = `as it was at the decision, ${(one.age / 1000).toFixed(1)} ms old when it was detected`;
  return { ...one, note: age, [one.role === "buy" ? "asks" : "bids"]: one.book };
}

function marketOf(key, market) {
  const query = new URLSearchParams({ exchange: market.exchange, symbol: market.symbol });
  return { key, title: `${market.symbol} on ${exchangeName(market.exchange)}`, address: `/api/candles?${query}`, digits: digitsOf(market.tick_size), unit: ` ${market.quote_currency}`, markets: [nameOf(market)] };
}

function spreadOf(buy, sell) {
  const query = new URLSearchParams({ buy_exchange: buy.exchange, buy_symbol: buy.symbol, sell_exchange: sell.exchange, sell_symbol: sell.symbol });
  return { key: "spread", title: `Spread: buy on ${exchangeName(buy.exchange)}, sell on ${exchangeName(sell.exchange)}, before fees`, address: `/api/candles/spread?${query}`, digits: 2, unit: " bps", markets: [nameOf(buy), nameOf(sell)] };
}

function nameOf(market) {
  return `${market.exchange} ${market.symbol}`;
}

function openArbitrage(id) {
  location.assign(`/arbitrage?id=${encodeURIComponent(id)}`);
}

function select(name, act) {
  const made = element("select", { "aria-label": name });
  made.onchange = act;
  return made;
}

function labelled(words, control) {
  return element("label", { class: "market-field" }, element("span", { class: "quiet" }, words), control);
}

function fill(list, options) {
  const chosen = list.value;
  list.replaceChildren(...options.map(([value, words]) => element("option", { value }, words)));
  if (options.some(([value]) => value === chosen)) list.value = chosen;
}

function recalled(name, fallback) {
  try {
    const kept = JSON.parse(recall(`market.${name}`));
    return Array.isArray(kept) ? kept : fallback;
  } catch {
    return fallback;
  }
}

export const { mount, unmount } = persistentPart(() => new MarketPage());
