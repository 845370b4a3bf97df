// One order book, both sides, with an order walked through it: as it is now, or as it was at a decision.

import { element, setText } from "./elements.js";
import { baseAmount, bps, exchangeName, marketPrice, money, number } from "./format.js";

const STATUS = { fresh: "", stale: "stale: not traded on", withdrawn: "withdrawn: not traded on" };

export class BookView {
  // side: the one that an order would take, "asks" or "bids"
  constructor(side) {
    this.side = side;
    this.heading = element("h3");
    this.note = element("p", { class: "quiet", "data-part": "book-note" });
    this.walk = element("p", { "data-part": "book-walk" });
    this.body = element("tbody");
    this.table = element("table", { class: "book" }, element("thead", {}, element("tr", {}, ...["Side", "Price", "Amount", "Ours"].map((name, i) => element("th", { scope: "col", class: i ? "number" : null }, name)))), this.body);
    this.frame = element("div", { class: "scrolled", tabindex: "0", role: "region" }, this.table);
    this.root = element("article", { class: "box", "data-book": side }, this.heading, this.note, this.walk, this.frame);
  }

  // book: {exchange, symbol, quote_currency, asks?, bids?, note}; null while it is not known
  show(book, base, words) {
    if (!book) {
      setText(this.note, words);
      setText(this.walk, "");
      this.body.replaceChildren();
      return;
    }
    const title = `${this.side === "asks" ? "Buy" : "Sell"} ${book.symbol} on ${exchangeName(book.exchange)}`;
    setText(this.heading, title);
    this.table.setAttribute("aria-label", `Order book: ${title}`);
    this.frame.setAttribute("aria-label", `Order book: ${title}`);
    setText(this.note, book.note ?? STATUS[book.status] ?? "");
    setText(this.walk, walkWords(this.side, book, base));
    const asks = (book.asks?.levels ?? []).toReversed().map((level) => this.line("ask", level, book, base, this.side === "asks"));
    const bids = (book.bids?.levels ?? []).map((level) => this.line("bid", level, book, base, this.side === "bids"));
    this.body.replaceChildren(...asks, ...bids);
  }

  line(side, level, book, base, isOurs) {
    const taken = isOurs && Number(level.taken) > 0;
    return element(
      "tr",
      { class: `${side} ${taken ? "taken" : ""}` },
      element("td", {}, side),
      element("td", { class: "number", title: level.price }, marketPrice(level.price, book.exchange, book.symbol)),
      element("td", { class: "number", title: level.amount }, baseAmount(level.amount, base)),
      element("td", { class: "number", title: level.taken }, taken ? baseAmount(level.taken, base) : "–"),
    );
  }
}

export function walkWords(side, book, base) {
  const walk = book[side]?.walk;
  if (!walk) return "";
  if (!walk.mean_price) return `Nothing of ${baseAmount(walk.amount, base)} ${base} would fill: the side is empty.`;
  const verb = side === "asks" ? "Buying" : "Selling";
  const price = marketPrice(walk.mean_price, book.exchange, book.symbol);
  const lacking = Number(walk.filled) < Number(walk.amount) ? ` Only ${baseAmount(walk.filled, base)} of it is offered in the levels known.` : "";
  const limit = book.limit_price ? `, limit ${marketPrice(book.limit_price, book.exchange, book.symbol)}` : "";
  return `${verb} ${baseAmount(walk.amount, base)} ${base}: mean ${price}, ${number(walk.slippage_bps, 1)} bps past the best, to ${marketPrice(walk.worst, book.exchange, book.symbol)}${limit}.${lacking}`;
}

// What both walks would bring before fees; empty if their currencies differ or one fills less.
export function grossWords(buy, sell) {
  const [bought, sold] = [buy?.asks?.walk, sell?.bids?.walk];
  if (!bought?.mean_price || !sold?.mean_price || buy.quote_currency !== sell.quote_currency || bought.filled !== sold.filled) return "";
  const gross = Number(sold.cost) - Number(bought.cost);
  return `Both together: ${money(gross, buy.quote_currency)} before fees, ${bps((gross / Number(bought.cost)) * 1e4)} bps.`;
}
