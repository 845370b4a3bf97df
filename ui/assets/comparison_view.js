// Two runs side by side, backtests or the running session: what each made, settings that differ, and trades that only
// one of them has. The address holds the choice, so it can be shared.

import { choice, pick } from "./choices.js";
import { element, setText, titled } from "./elements.js";
import { count, duration, fullTime, MINUS, money, number, reasonName, stateName, tone } from "./format.js";
import { linesChart } from "./lines_chart.js";
import { persistentPart } from "./persistent_part.js";
import { namedTable } from "./plain_table.js";
import { PolledView } from "./polled_view.js";
import { ask, problemText } from "./requests.js";
import { zoneWord } from "./zone.js";

const POLL_MILLISECONDS = 10_000;
const SESSION_MILLISECONDS = 30_000;
const PATH = "/api/backtests";
const SESSION = "session";
const SIDES = ["first", "second"];
const LETTERS = { first: "A", second: "B" };
const UNFOLDED = 10;
const TRADE_HEADS = ["Detected", "Asset", "Bought on", "Sold on", "#Amount", "State", "#Net"];

class ComparisonView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.selects = Object.fromEntries(SIDES.map((side) => [side, choice({})]));
    const fields = SIDES.map((side) => this.field(side));
    this.said = element("p", { class: "quiet", role: "status", "data-part": "comparison-said" }, "Reading…");
    this.remarks = element("ul", { class: "quiet", "data-part": "comparison-remarks" });
    this.tables = element("div", { class: "comparison" });
    this.root = element("section", { class: "box market", "data-part": "comparison", "aria-label": "Two runs side by side" }, element("h3", {}, "Two side by side"), element("div", { class: "row" }, ...fields), this.said, this.remarks, this.tables);
  }

  field(side) {
    const select = this.selects[side];
    select.id = `comparison-${side}`;
    select.onchange = () => this.choose();
    return element("div", { class: "market-field" }, element("label", { for: select.id }, LETTERS[side]), select);
  }

  enter() {
    const asked = new URLSearchParams(location.search);
    this.asked = Object.fromEntries(SIDES.map((side) => [side, asked.get(side) ?? ""]));
    super.enter();
  }

  async read() {
    const answer = await ask("GET", PATH);
    if (!answer.isDone) return setText(this.said, `Backtests are not known: ${problemText(answer)}`);
    this.offer(answer.body.filter((one) => one.figures));
    return this.compare();
  }

  // done: backtests with results, the newest first
  offer(done) {
    const names = Object.fromEntries([[SESSION, "This session"], ...done.map((one) => [one.backtest_id, runName(one)])]);
    const drawn = JSON.stringify([names, zoneWord()]);
    if (this.offered === drawn) return;
    this.offered = drawn;
    const known = Object.keys(names);
    const first = { first: done[0]?.backtest_id ?? SESSION, second: done[1]?.backtest_id ?? SESSION };
    for (const [side, select] of Object.entries(this.selects)) {
      const wanted = [this.asked[side], select.value, first[side]].find((one) => known.includes(one));
      select.replaceChildren(...Object.entries(names).map(([value, words]) => element("option", { value }, words)));
      pick(select, wanted);
    }
  }

  choose() {
    const address = new URL(location.href);
    for (const [side, select] of Object.entries(this.selects)) address.searchParams.set(side, select.value);
    history.replaceState(history.state, "", address);
    this.compare();
  }

  async compare() {
    const [first, second] = SIDES.map((side) => this.selects[side].value);
    if (first === second) return this.showNothing(first === SESSION ? "There is no finished backtest yet to compare with." : "Choose two different ones.");
    const isNew = this.compared !== `${first} ${second}`;
    // what is done does not change; the session does
    const isOld = [first, second].includes(SESSION) && Date.now() - this.comparedAt > SESSION_MILLISECONDS;
    if (!isNew && !isOld && this.zone === zoneWord()) return undefined;
    if (isNew) this.showNothing("Reading…");
    const answer = await ask("GET", `${PATH}/compare?${new URLSearchParams({ first, second })}`);
    if (first !== this.selects.first.value || second !== this.selects.second.value) return undefined;
    if (!answer.isDone) return this.showNothing(`Not compared: ${problemText(answer)}`);
    Object.assign(this, { compared: `${first} ${second}`, comparedAt: Date.now(), zone: zoneWord() });
    return this.draw(answer.body);
  }

  showNothing(words) {
    this.compared = this.drawn = null;
    setText(this.said, words);
    this.remarks.replaceChildren();
    this.tables.replaceChildren();
  }

  draw(found) {
    const drawn = JSON.stringify([found, zoneWord()]);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    setText(this.said, summary(found));
    this.remarks.replaceChildren(...found.remarks.map((words) => element("li", {}, words)));
    this.tables.replaceChildren(...tablesOf(found));
  }
}

// When it was asked for, its tick set, and what it was to do otherwise.
function runName({ asked_at: at, request }) {
  const changed = Object.entries(request.settings).map(([name, value]) => `${name} ${value}`);
  const beside = [[request.fee_bps, "bps fee"], [request.latency_ms, "ms latency"], [request.failed_percent || null, "% failed"]];
  const words = beside.filter(([value]) => value !== null).map(([value, unit]) => `${value} ${unit}`);
  return [fullTime(at).replace(/\.\d+/, ""), request.tick_set, ...changed, ...words].join(" · ");
}

function summary({ since, until, both, only_first: first, only_second: second }) {
  const span = since === null ? "" : `From ${fullTime(since)} to ${fullTime(until)}: `;
  const same = `${count(both)} ${both === 1 ? "trade" : "trades"} in both, ${count(first)} only in A, ${count(second)} only in B.`;
  return `${span}${same}`;
}

function tablesOf(found) {
  const currency = found.first.currency;
  const figures = found.figures.map((one) => [one.name, figure(one.first, one.unit), figure(one.second, one.unit), difference(one)]);
  const settings = found.settings.map((one) => [one.label, settingText(one.first), settingText(one.second)]);
  const pairs = found.pairs.map(({ first, second, difference: by }) => [...tradeCells(first, currency), net(second.net, found.second.currency), net(by, currency)]);
  return [
    titled("Figures", namedTable("Figures of both", ["", "#A", "#B", "#B − A"], figures, "")),
    titled("Net so far", equityChart(found)),
    titled("Settings that differ", namedTable("Settings that differ", ["Setting", "A", "B"], settings, "None that is known.")),
    ...SIDES.map((side) => aloneTable(found, side)),
    folded("In both, with another net", namedTable("Trades in both whose net differs", [...TRADE_HEADS.slice(0, -1), "#Net of A", "#Net of B", "#B − A"], pairs, "None."), found.pairs.length),
  ];
}

// Of one span by the time, else each from its own beginning.
function equityChart(found) {
  const { since, until } = found;
  const lines = SIDES.map((side) => {
    const begin = since ?? found[side].since;
    const points = found[`${side}_equity`].map(({ at, net }) => [at - begin, net]);
    return { name: LETTERS[side], unit: found[side].currency, end: (until ?? found[side].until) - begin, points };
  });
  const time = (at) => (since === null ? `after ${duration(at)}` : fullTime(since + at));
  return linesChart("Net of both so far", lines, time);
}

function settingText(value) {
  return value === null ? "–" : value || "none";
}

function aloneTable(found, side) {
  const trades = found[`${side}_alone`];
  const all = found[`only_${side}`];
  const isExplained = found[side === "first" ? "second" : "first"].run_id === SESSION;
  const why = (one) => (isExplained ? [one.why_not ? reasonName(one.why_not) : "–"] : []);
  const rows = trades.map((one) => [...tradeCells(one, found[side].currency, found[side].run_id === SESSION), ...why(one)]);
  const heads = isExplained ? [...TRADE_HEADS, "Rejected here"] : TRADE_HEADS;
  const title = `Only in ${LETTERS[side]}${all > trades.length ? `: the first ${trades.length} of ${count(all)}` : ""}`;
  return folded(title, namedTable(`Trades only in ${LETTERS[side]}`, heads, rows, "None."), all);
}

function tradeCells(one, currency, isOfSession = false) {
  const when = fullTime(one.event_time);
  const detected = isOfSession ? element("a", { href: `/arbitrage?id=${encodeURIComponent(one.trade_id)}` }, when) : when;
  return [detected, one.base, one.bought_on, one.sold_on, one.amount, stateName(one.state), net(one.net, currency)];
}

function net(value, currency) {
  return value === null ? "–" : { text: money(value, currency), class: tone(value), title: `${value} ${currency}` };
}

function figure(value, unit) {
  if (value === null) return "–";
  return unit ? { text: money(value, unit), title: `${value} ${unit}` } : count(value);
}

function difference({ difference: by, unit }) {
  if (by === null) return "–";
  if (unit) return { text: money(by, unit), class: Number(by) ? "strong" : "quiet", title: `${by} ${unit}` };
  return { text: Number(by) > 0 ? `+${count(by)}` : number(by, 0).replace("-", MINUS), class: Number(by) ? "strong" : "quiet" };
}

// rows: how many; null of a table that is never folded
function folded(title, table, rows) {
  const words = title.includes(":") ? title : `${title} (${count(rows)})`;
  return element("details", { open: rows > 0 && rows <= UNFOLDED }, element("summary", {}, words), table);
}

export const { mount, unmount } = persistentPart(() => new ComparisonView());
