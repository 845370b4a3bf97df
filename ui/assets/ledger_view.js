// The store's figures: P&L with its parts, balances, feeds, rejections, and the figures on top.

import { element, emptyRow, KeyedRows, setClass, setText } from "./elements.js";
import { baseOf } from "./market_digits.js";
import { marketFilter } from "./market_filter.js";
import { count, duration, exchangeName, fullTime, money, offset, reasonName, stateName, sum, tone, tookMicroseconds } from "./format.js";

const PARTS = [
  ["gross", "Theoretical gross"],
  ["latency_decay", "Latency decay"],
  ["slippage", "Slippage"],
  ["fees", "Fees"],
  ["fx", "FX"],
  ["unwinding", "Unwinding"],
];
const OPEN_STATES = ["reserved", "single_leg"];
const LATENCIES = 50;
const MOST_COLUMNS = 10;
const RECENT_MICROSECONDS = 2_000_000;
// A feed's last report of itself is at most this much older than its newest quote.
const REPORTED_MICROSECONDS = 10_000_000;

export class FiguresView {
  constructor(nodes) {
    this.nodes = nodes;
  }

  show(model) {
    const pnl = model.ledger.pnl;
    if (!pnl) return;
    const states = pnl.arbitrages;
    setText(this.nodes.net, money(pnl.net, pnl.currency));
    setClass(this.nodes.net, `value ${tone(pnl.net)}`);
    setText(this.nodes.closed, count(states.closed ?? 0));
    const others = ["unwound", "residual", "unfilled"].filter((state) => states[state]);
    setText(this.nodes.closedNote, others.map((state) => `${count(states[state])} ${stateName(state)}`).join(" · ") || "both legs filled");
    setText(this.nodes.open, count(OPEN_STATES.reduce((sum, state) => sum + (states[state] ?? 0), 0)));
    setText(this.nodes.seen, count(episodeCount(model)));
    setText(this.nodes.rejected, count(model.ledger.episodes.rejected ?? 0));
    setText(this.nodes.latency, medianLatency(model));
  }
}

export function episodeCount(model) {
  return Object.values(model.ledger.episodes).reduce((sum, number) => sum + number, 0);
}

function medianLatency(model) {
  const latencies = model
    .newestArbitrages()
    .map(tookMicroseconds)
    .filter((took) => took !== null)
    .slice(0, LATENCIES)
    .sort((a, b) => a - b);
  return latencies.length ? duration(latencies[Math.floor(latencies.length / 2)]) : "–";
}

export class ProfitView {
  constructor(body) {
    this.rows = new KeyedRows(body, profitRow);
    this.empty = emptyRow(3, "No realised P&L yet.");
  }

  show(model) {
    const pnl = model.ledger.pnl;
    const ended = pnl && Object.values(pnl.arbitrages).some((number) => number > 0);
    const largest = Math.max(0.000001, ...PARTS.map(([part]) => Math.abs(pnl?.[part] ?? 0)));
    const parts = PARTS.map(([part, name]) => ({ name, value: pnl?.[part], share: Math.abs(pnl?.[part]) / largest }));
    const all = ended ? [...parts, { name: "Net", value: pnl.net, share: null }] : [];
    this.rows.show(all.map((part) => ({ ...part, currency: pnl?.currency })), (part) => part.name, this.empty);
  }
}

function profitRow({ name, value, share, currency }) {
  const bar = share === null ? null : element("i", { class: `bar ${tone(value)}`, style: { "--share": share.toFixed(3) } });
  return element(
    "tr",
    { class: share === null ? "sum" : "" },
    element("td", {}, name),
    element("td", { class: "track" }, bar),
    element("td", { class: `number ${tone(value)}` }, money(value, currency)),
  );
}

export class BalancesView {
  constructor(table) {
    this.table = table;
  }

  show(model) {
    const fits = (row) => marketFilter.fits(model.isAsset(row.currency) ? row.currency : null, row.exchange);
    const balances = model.ledger.balances.filter(fits);
    const text = JSON.stringify(balances);
    if (text === this.shown || !model.ledger.balances.length) return;
    this.shown = text;
    const quoted = [...model.series.values()];
    const known = (names, name) => names.filter((one) => balances.some((row) => row[name] === one));
    const unique = (names, name) => known([...new Set([...names, ...balances.map((row) => row[name])])], name);
    const exchanges = unique(quoted.map((one) => one.exchange), "exchange");
    const currencies = unique(model.currencies(), "currency");
    const byPlace = new Map(balances.map((row) => [`${row.exchange} ${row.currency}`, row]));
    const cellOf = (exchange, currency) => balanceCell(byPlace.get(`${exchange} ${currency}`));
    const regions = new Map(quoted.map((one) => [one.exchange, one.region]));
    const tag = (exchange) => element("span", { class: "tag" }, regions.get(exchange) ?? "–");
    const head = (scope, ...children) => element("th", { scope, class: scope === "col" ? "number" : "" }, ...children);
    // each of many currencies has a row: a page is longer than it is wide
    const isLong = currencies.length > MOST_COLUMNS;
    const [columns, lines] = isLong
      ? [exchanges.map((one) => head("col", exchangeName(one), " ", tag(one))), currencies]
      : [currencies.map((one) => head("col", one)), exchanges];
    const lineOf = (one) =>
      isLong
        ? [head("row", one), ...exchanges.map((exchange) => cellOf(exchange, one))]
        : [head("row", exchangeName(one), " ", tag(one)), ...currencies.map((currency) => cellOf(one, currency))];
    const corner = element("th", { scope: "col" }, isLong ? "Currency" : "Exchange");
    this.table.tHead.replaceChildren(element("tr", {}, corner, ...columns));
    this.table.tBodies[0].replaceChildren(...lines.map((one) => element("tr", {}, ...lineOf(one))));
  }
}

function balanceCell(row) {
  if (!row) return element("td", { class: "number muted" }, "");
  const text = (value) => sum(value, row.currency);
  const held = Number(row.held) > 0 ? element("small", {}, `${text(row.held)} held`) : null;
  return element("td", { class: "number", title: `${row.total} ${row.currency}` }, text(row.total), held);
}

export class FeedsView {
  constructor(body) {
    this.rows = new KeyedRows(body, feedRow);
    this.empty = emptyRow(7, "Waiting for the first feed…");
  }

  show(model) {
    const verified = new Map(model.quotes.map((quote) => [`${quote.exchange} ${quote.symbol}`, quote.verified_time]));
    const rank = new Map([...model.series.keys()].map((key, i) => [key, i]));
    const rankOf = (feed) => rank.get(`${feed.exchange} ${feed.symbol}`) ?? rank.size;
    const fitting = model.ledger.feeds.filter((feed) => marketFilter.fits(baseOf(feed.exchange, feed.symbol), feed.exchange));
    const feeds = fitting
      .sort((a, b) => rankOf(a) - rankOf(b))
      .map((feed) => ({ ...feed, last_received: 0, age: ageWords(feed, verified.get(`${feed.exchange} ${feed.symbol}`), model) }));
    setText(this.empty.firstChild, model.ledger.feeds.length ? "No feed matches the filter." : "Waiting for the first feed…");
    this.rows.show(feeds, (feed) => `${feed.exchange} ${feed.symbol}`, this.empty);
  }
}

// verified: by the newest quote, which is known only for the shown asset; for others by the feed's own last report
function ageWords(feed, verified, model) {
  const heard = Math.max(feed.last_received, verified ?? 0);
  if (heard === 0) return "never";
  const age = verified ? model.now - heard : model.ledgerAt - heard;
  return age < (verified ? RECENT_MICROSECONDS : REPORTED_MICROSECONDS) ? "now" : `${duration(age)} ago`;
}

function feedRow(feed) {
  const rejected = Object.values(feed.rejected).reduce((sum, number) => sum + number, 0);
  const reasons = Object.entries(feed.rejected).map(([reason, number]) => `${reasonName(reason)}: ${number}`);
  return element(
    "tr",
    { title: [`${stateName(feed.status)} since ${fullTime(feed.changed_at)}`, ...feedCounts(feed), ...reasons].join("\n") },
    element("td", {}, element("span", { class: `dot ${feed.status}` }), exchangeName(feed.exchange), " ",
      element("small", {}, feed.symbol)),
    element("td", {}, element("span", { class: "tag" }, feed.region)),
    element("td", { class: `status ${feed.status}` }, stateName(feed.status)),
    element("td", { class: "number" }, feed.age),
    element("td", { class: "number muted" }, `${count(feed.quotes)}${rejected ? ` · ${count(rejected)} rejected` : ""}`),
    element("td", { class: "number muted" }, `${count(faultsOf(feed))} / ${count(feed.reconnects)}`),
    element("td", { class: "number muted" }, feed.offset_us === null ? "–" : offset(feed.offset_us)),
  );
}

function faultsOf(feed) {
  return feed.gaps + feed.checksums + feed.malformed + feed.rest_mismatches + feed.rest_failures;
}

function feedCounts(feed) {
  return [
    `gaps: ${feed.gaps}, wrong checksums: ${feed.checksums}, malformed: ${feed.malformed}`,
    `resyncs: ${feed.resyncs}, reconnects: ${feed.reconnects}`,
    `compared by REST: ${feed.rest_checks}, differed: ${feed.rest_mismatches}, no answer: ${feed.rest_failures}`,
  ];
}

export class RejectionsView {
  constructor(body) {
    this.rows = new KeyedRows(body, refusalRow);
    this.empty = emptyRow(4, "No opportunities rejected yet.");
  }

  show(model) {
    const most = Math.max(1, ...model.ledger.rejections.map((row) => row.episodes));
    const currency = model.ledger.pnl?.currency ?? "";
    const rows = model.ledger.rejections.map((row) => ({ ...row, share: row.episodes / most, currency }));
    this.rows.show(rows, (row) => row.reason, this.empty);
  }
}

function refusalRow({ reason, episodes, count: times, share, missed_profit, currency }) {
  return element(
    "tr",
    {},
    element("td", {}, reasonName(reason)),
    element("td", { class: "track" }, element("i", { class: "bar plain", style: { "--share": share.toFixed(3) } })),
    element("td", { class: "number", title: `Episodes; ${count(times)} opportunities` }, count(episodes)),
    element("td", { class: "number muted", title: "Missed profit: what could have been traded within the limits, once per episode" },
      money(missed_profit, currency)),
  );
}
