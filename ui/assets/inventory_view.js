// Where the money lies, how far it drifted, what brings it back, and profit by exchange, asset and day.

import { element, emptyRow, KeyedRows, setText } from "./elements.js";
import { marketFilter } from "./market_filter.js";
import { UntradedRows } from "./untraded_rows.js";
import { count, duration, exchangeName, MINUS, money, price, reasonName, stateName, sum, tone } from "./format.js";

const WAYS = [
  ["exchange", "Exchange"],
  ["asset", "Asset"],
  ["day", "Day"],
];
const WHOLE = "All";
const LINE_PARTS = ["gross", "latency_decay", "slippage", "fees", "fx", "unwinding", "net"];

export class ProfitLinesView {
  constructor(tabs, body) {
    this.tabs = WAYS.map(([by, name]) => {
      const tab = element("button", { type: "button", "aria-pressed": String(by === WAYS[0][0]) }, name);
      tab.onclick = () => this.choose(by);
      return [by, tab];
    });
    tabs.replaceChildren(...this.tabs.map(([, tab]) => tab));
    this.by = WAYS[0][0];
    this.rows = new KeyedRows(body, lineRow);
    this.empty = emptyRow(LINE_PARTS.length + 2, "No realised P&L yet.");
  }

  choose(by) {
    this.by = by;
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-pressed", String(name === by));
    if (this.model) this.show(this.model);
  }

  show(model) {
    this.model = model;
    const lines = model.ledger.pnl_by?.[this.by] ?? [];
    // an arbitrage counts at each of its exchanges, so the numbers of trades sum to nothing
    const whole = lines.length > 1 ? [{ ...model.ledger.pnl, name: WHOLE, arbitrages: null }] : [];
    this.rows.show([...lines, ...whole].map((line) => ({ ...line, by: this.by })), (line) => `${line.by} ${line.name}`, this.empty);
  }
}

function lineRow(line) {
  const name = line.by === "exchange" ? exchangeName(line.name) : line.name;
  return element(
    "tr",
    { class: line.arbitrages === null ? "sum" : "" },
    element("th", { scope: "row" }, name),
    element("td", { class: "number muted" }, line.arbitrages === null ? "" : count(line.arbitrages)),
    ...LINE_PARTS.map((part) =>
      element(
        "td",
        { class: `number ${part === "net" ? `strong ${tone(line[part])}` : ""}`, title: `${line[part]} ${line.currency}` },
        money(line[part], line.currency),
      ),
    ),
  );
}

export class InventoryView {
  // worth: says what the sum of positions lacks; more: the button that shows what is not traded
  constructor({ exposures, drifts, plan, note, worth, more }) {
    this.worth = worth;
    this.note = note;
    this.untraded = new UntradedRows(more, () => this.model && this.show(this.model));
    this.exposures = new KeyedRows(exposures, exposureRow);
    this.drifts = new KeyedRows(drifts, driftRow);
    this.plan = new KeyedRows(plan, planRow);
    this.noExposure = emptyRow(5, "Waiting for the opening balances…");
    this.noDrift = emptyRow(5, "Waiting for the first balances…");
    this.noPlan = emptyRow(5, "");
  }

  show(model) {
    this.model = model;
    const inventory = model.ledger.inventory;
    if (!inventory) return;
    const { currency, plan } = inventory;
    const fits = (row) => marketFilter.fits(row.is_base ? row.currency : null, marketFilter.exchange);
    const positions = this.untraded.shown(model, inventory.exposures.filter(fits));
    this.exposures.show(
      withWhole(positions).map((row) => ({ ...row, settled: currency })),
      (row) => row.currency,
      this.noExposure,
    );
    setText(this.worth, worthWords(positions));
    this.drifts.show(
      inventory.holdings
        .filter((row) => marketFilter.fits(model.isAsset(row.currency) ? row.currency : null, row.exchange))
        .map((row) => ({ ...row, settled: currency })),
      (row) => `${row.exchange} ${row.currency}`,
      this.noDrift,
    );
    setText(this.note, plan.note);
    const rows = [
      ...(inventory.transfers ?? []).map((row) => ({ ...row, settled: currency })),
      ...plan.transfers.map((row) => ({ ...row, settled: currency, reason: null })),
      ...plan.skipped.map((row) => ({ ...row, settled: currency })),
    ];
    setText(this.noPlan.firstChild, "No balance has drifted far enough to rebalance.");
    this.plan.show(rows, (row) => row.transfer_id ?? `${row.currency} ${row.source} ${row.destination}`, this.noPlan);
  }
}

// The value of all changes together. Without the price of one it would be a gain or loss that nobody made: what was sold
// for something without a price would be missing, and what was bought would count.
function withWhole(exposures) {
  if (exposures.length < 2) return exposures;
  const unpriced = unpricedOf(exposures);
  const value = unpriced.length ? null : exposures.reduce((whole, row) => whole + Number(row.value), 0);
  return [...exposures, { currency: WHOLE, value }];
}

function unpricedOf(exposures) {
  return exposures.filter((row) => row.value === null).map((row) => row.currency);
}

function worthWords(exposures) {
  const unpriced = unpricedOf(exposures);
  if (!unpriced.length) return "What there is more or less of than at the opening, at today's prices. Not the P&L: fees in other currencies and transfers are in it.";
  const have = unpriced.length === 1 ? "has" : "have";
  return `No sum: ${unpriced.join(", ")} ${have} changed and ${have} no price now.`;
}

function exposureRow(row) {
  if (row.currency === WHOLE) return wholeRow(row);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, row.currency, " ", element("small", {}, row.is_base ? "asset" : "currency")),
    element("td", { class: "number muted" }, digits(row.opening, row.currency)),
    element("td", { class: "number" }, digits(row.now, row.currency)),
    element("td", { class: "number", title: `${row.change} ${row.currency}` }, signedDigits(row.change, row.currency)),
    // no colour: more of one currency, paid with another, is neither good nor bad
    element("td", { class: "number" }, valueText(row.value, row.settled)),
  );
}

function wholeRow(row) {
  const empty = () => element("td", {});
  const worth = element("td", { class: `number ${tone(row.value ?? 0)}` }, row.value === null ? "no sum" : money(row.value, row.settled));
  return element("tr", { class: "sum" }, element("th", { scope: "row" }, WHOLE), empty(), empty(), empty(), worth);
}

function driftRow(row) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, exchangeName(row.exchange), " ", element("small", {}, row.currency)),
    element("td", { class: "number" }, digits(row.total, row.currency)),
    element("td", { class: "number muted" }, digits(row.target, row.currency)),
    element("td", { class: "number", title: `${row.drift} ${row.currency}` }, signedDigits(row.drift, row.currency)),
    element("td", { class: "number muted" }, valueText(row.value, row.settled)),
  );
}

function planRow(row) {
  if (row.transfer_id) return transferRow(row);
  const isLeftOut = row.reason !== null;
  return element(
    "tr",
    { class: isLeftOut ? "quiet" : "", title: isLeftOut ? "" : `Terms: ${row.terms}` },
    element("th", { scope: "row" }, `${exchangeName(row.source)} → ${exchangeName(row.destination)}`),
    element("td", { class: "number" }, `${digits(row.amount, row.currency)} ${row.currency}`),
    element("td", { class: "number muted" }, isLeftOut ? "" : `${digits(row.fee, row.currency)} ${row.currency}`),
    element("td", { class: "number muted" }, isLeftOut || row.cost === null ? "" : price(row.cost, row.settled)),
    element("td", { class: "after-number" }, isLeftOut ? reasonName(row.reason) : duration(row.seconds * 1_000_000)),
  );
}

function transferRow(row) {
  const said = row.reason ? `${stateName(row.state)}: ${reasonName(row.reason)}` : stateName(row.state);
  const isOver = ["arrived", "failed", "dropped"].includes(row.state);
  return element(
    "tr",
    { class: isOver ? "quiet" : "", title: row.confirmed_by ? `Confirmed by ${row.confirmed_by}` : "Not confirmed" },
    element("th", { scope: "row" }, `${exchangeName(row.source)} → ${exchangeName(row.destination)}`),
    element("td", { class: "number" }, `${digits(row.amount, row.currency)} ${row.currency}`),
    element("td", { class: "number muted" }, `${digits(row.fee, row.currency)} ${row.currency}`),
    element("td", { class: "number muted" }, price(row.cost, row.settled)),
    element("td", { class: "after-number" }, said),
  );
}

function digits(text, currency) {
  return sum(text, currency);
}

// A value that shows as 0 for lack of digits has no sign either.
function signedDigits(text, currency) {
  const shown = digits(text, currency);
  if (!/[1-9]/.test(shown)) return shown.replace(MINUS, "");
  return shown.startsWith(MINUS) ? shown : `+${shown}`;
}

function valueText(value, currency) {
  return value === null ? "no price" : money(value, currency);
}
