// The store's figures: P&L with its parts, balances, feeds, rejections, and the figures on top.

import { element, emptyRow, KeyedRows, setClass, setText } from "./elements.js";
import { baseOf } from "./market_digits.js";
import { marketFilter } from "./market_filter.js";
import { UntradedRows } from "./untraded_rows.js";
import { count, duration, exchangeName, fullTime, money, offset, reasonName, stateName, sum, tone, tookMicroseconds } from "./format.js";

const PARTS = [
  ["gross", "Theoretical gross"],
  ["latency_decay", "Latency decay"],
  ["slippage", "Slippage"],
  ["fees", "Fees"],
  ["fx", "FX"],
  ["unwinding", "Unwinding"],
];
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
    const others = ["unwound", "residual", "unfilled"].filter((state) => states[state]).map((state) => `${count(states[state])} ${stateName(state)}`);
    // a third order may have closed them, at a loss that no state says
    const unwinding = Number(pnl.unwinding) ? [`unwinding ${money(pnl.unwinding, pnl.currency)}`] : [];
    setText(this.nodes.closedNote, [...others, ...unwinding].join(" · ") || "both legs filled");
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
  // more: the button that shows what is not traded
  constructor(table, more) {
    this.table = table;
    this.untraded = new UntradedRows(more, () => this.model && this.show(this.model));
  }

  show(model) {
    this.model = model;
    const fits = (row) => marketFilter.fits(model.isAsset(row.currency) ? row.currency : null, row.exchange);
    const balances = this.untraded.shown(model, model.ledger.balances.filter(fits));
    const wholes = marketFilter.exchange ? new Map() : wholesOf(model, balances);
    const text = JSON.stringify([balances, [...wholes]]);
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
    const wholeOf = (currency) => element("td", { class: "number strong" }, wholes.has(currency) ? sum(wholes.get(currency), currency) : "");
    const lineOf = (one) =>
      isLong
        ? [head("row", one), ...exchanges.map((exchange) => cellOf(exchange, one)), ...(wholes.size ? [wholeOf(one)] : [])]
        : [head("row", exchangeName(one), " ", tag(one)), ...currencies.map((currency) => cellOf(one, currency))];
    const corner = element("th", { scope: "col" }, isLong ? "Currency" : "Exchange");
    const sums = wholes.size && !isLong ? [element("tr", { class: "sum" }, head("row", "All"), ...currencies.map(wholeOf))] : [];
    this.table.tHead.replaceChildren(element("tr", {}, corner, ...columns, ...(wholes.size && isLong ? [head("col", "All")] : [])));
    this.table.tBodies[0].replaceChildren(...lines.map((one) => element("tr", {}, ...lineOf(one))), ...sums);
  }
}

// Currency → what all exchanges together have of it, as the server summed it; none before an exchange has reported.
function wholesOf(model, balances) {
  const shown = new Set(balances.map((row) => row.currency));
  const exposures = model.ledger.inventory?.exposures ?? [];
  return new Map(exposures.filter((row) => shown.has(row.currency)).map((row) => [row.currency, row.now]));
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
    const added = (name) => rows.reduce((whole, row) => whole + Number(row[name]), 0);
    const whole = { reason: "", share: null, currency, ...Object.fromEntries(["episodes", "count", "missed_profit"].map((name) => [name, added(name)])) };
    this.rows.show(rows.length > 1 ? [...rows, whole] : rows, (row) => row.reason, this.empty);
  }
}

// Without a share: the sum of all.
function refusalRow({ reason, episodes, count: times, share, missed_profit, currency }) {
  const bar = share === null ? null : element("i", { class: "bar plain", style: { "--share": share.toFixed(3) } });
  return element(
    "tr",
    { class: share === null ? "sum" : "" },
    element("td", {}, share === null ? "All" : reasonName(reason)),
    element("td", { class: "track" }, bar),
    element("td", { class: "number", title: `Episodes; ${count(times)} opportunities` }, count(episodes)),
    element("td", { class: "number muted", title: "Missed profit: what could have been traded within the limits, once per episode" },
      money(missed_profit, currency)),
  );
}
