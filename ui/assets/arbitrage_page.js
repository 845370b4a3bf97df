// The page of one arbitrage: what was seen, why it was begun, what was sent and filled, and what it earned.

import { ask, problemText } from "./requests.js";
import { ArbitrageLogs } from "./arbitrage_logs.js";
import { BookView } from "./book_view.js";
import { CloseNow } from "./close_now.js";
import { button, element, setClass, setText } from "./elements.js";
import { baseAmount, bps, exchangeName, marketPrice, money, reasonName, stateName, sum } from "./format.js";
import { PROFIT_PARTS } from "./labels.js";
import { liveFeed } from "./live_feed.js";
import { persistentPart } from "./persistent_part.js";
import { namedTable } from "./plain_table.js";
import { checkRows, CHECK_HEADS, settingRows, SETTING_HEADS } from "./decision_rows.js";
import { decisionRows, DECISION_HEADS, fillRows, FILL_HEADS, legRows, LEG_HEADS, stepRows, STEP_HEADS } from "./arbitrage_rows.js";
import { waterfall } from "./waterfall.js";
import { zoneWord } from "./zone.js";

const POLL_MILLISECONDS = 3000;
// An arbitrage that has ended begins again a moment after it was ordered to be closed.
const FOLLOW_MILLISECONDS = 30_000;
const TONES = { closed: "on", unwound: "stale", residual: "off", unfilled: "" };

class ArbitragePage {
  constructor() {
    this.name = element("h3", { "data-part": "arbitrage-title" });
    this.pill = element("span", { class: "pill" }, element("i"), element("b"));
    this.reason = element("span", { class: "quiet" });
    this.sides = element("p", { "data-part": "arbitrage-sides" });
    this.figures = element("dl", { class: "figures" });
    this.links = element("p", { class: "row", "data-part": "arbitrage-links" });
    this.said = element("p", { class: "said", role: "status", "data-part": "arbitrage-said" });
    this.input = element("input", { type: "text", maxlength: "200", "aria-label": "Arbitrage id", autocomplete: "off", spellcheck: "false" });
    this.search = element("form", { class: "row" }, element("label", { class: "market-field" }, element("span", { class: "quiet" }, "Arbitrage id"), this.input), button("Open", () => this.open(this.input.value.trim())));
    this.search.onsubmit = (event) => {
      event.preventDefault();
      this.open(this.input.value.trim());
    };
    this.sections = element("div", { class: "arbitrage-sections" });
    this.books = { buy: new BookView("asks"), sell: new BookView("bids") };
    this.logs = new ArbitrageLogs();
    this.closing = new CloseNow(() => (this.followUntil = Date.now() + FOLLOW_MILLISECONDS));
    this.body = element("div", { hidden: true, class: "arbitrage-body" }, element("div", { class: "box" }, element("div", { class: "row" }, this.name, this.pill, this.reason), this.sides, this.figures, this.links), this.closing.root, this.sections);
    this.root = element("section", { class: "arbitrage", "data-part": "arbitrage", "aria-label": "Arbitrage" }, this.search, this.said, this.body);
    this.id = "";
    this.followUntil = 0;
  }

  enter() {
    this.isHere = true;
    this.hangUp ??= liveFeed.join(this);
    this.timer ??= setInterval(() => document.hidden || (this.row?.is_final && Date.now() > this.followUntil) || this.read(), POLL_MILLISECONDS);
    const asked = new URLSearchParams(location.search).get("id") ?? "";
    if (asked !== this.id) this.choose(asked);
    else this.read();
  }

  leave() {
    this.isHere = false;
    this.hangUp?.();
    this.hangUp = undefined;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  // A fill is shown as soon as the stream tells of it.
  show(model, changed) {
    const known = model.arbitrages.get(this.id);
    const isNews = known && known !== this.seen;
    this.seen = known;
    if (isNews && this.row && !changed.has("all")) this.read();
    else if (changed.has("zone") || changed.has("all")) this.draw();
  }

  open(id) {
    if (!id) return;
    const address = new URL(location.href);
    address.searchParams.set("id", id);
    history.pushState(history.state, "", address);
    this.choose(id);
  }

  choose(id) {
    this.id = id;
    this.row = this.decision = this.drawn = null;
    this.input.value = id;
    this.body.hidden = true;
    this.logs.choose(id);
    this.closing.forget();
    this.say(id ? "Reading…" : "Type an id, or open one from a list of trades.", "");
    if (id) this.read();
  }

  async read() {
    const { id } = this;
    if (!id || this.isReading === id) return;
    this.isReading = id;
    const path = `/api/arbitrages/${encodeURIComponent(id)}`;
    const [answer, decision] = await Promise.all([ask("GET", path), this.decision ? null : ask("GET", `${path}/decision`)]);
    this.isReading = null;
    if (id !== this.id) return;
    if (!answer.isDone) {
      this.say(problemText(answer), "bad");
      return;
    }
    this.say("", "");
    this.row = answer.body;
    if (decision?.isDone) this.decision = decision.body;
    this.closing.read(id, this.row);
    this.draw();
  }

  draw() {
    const { row } = this;
    if (!row) return;
    this.body.hidden = false;
    setText(this.name, `Arbitrage ${row.arbitrage_id}`);
    setText(this.pill.lastElementChild, stateName(row.outcome));
    setClass(this.pill, `pill ${TONES[row.state] ?? "stale"}`);
    setText(this.reason, row.reason ? reasonName(row.reason) : "");
    setText(this.sides, `${row.base}: buy ${row.buy_symbol} on ${exchangeName(row.buy_exchange)} at ${marketPrice(row.buy_price, row.buy_exchange, row.buy_symbol)}, sell ${row.sell_symbol} on ${exchangeName(row.sell_exchange)} at ${marketPrice(row.sell_price, row.sell_exchange, row.sell_symbol)}`);
    this.drawFigures(row);
    this.drawLinks(row);
    this.drawSections(row);
  }

  drawFigures(row) {
    const figures = [["Amount", `${baseAmount(row.amount, row.base)} ${row.base}`], ["Net spread seen", `${bps(row.net_bps)} bps`]];
    if (row.profit) figures.push(["Net", money(row.profit.net, row.profit.currency)], ["Fees", money(row.profit.fees, row.profit.currency)]);
    if (row.times.filled) figures.push(["Tick to filled", `${((row.times.filled - row.event_time) / 1000).toFixed(1)} ms`]);
    this.figures.replaceChildren(...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  }

  drawLinks(row) {
    const id = encodeURIComponent(row.arbitrage_id);
    const market = new URLSearchParams({ base: row.base, buy: `${row.buy_exchange} ${row.buy_symbol}`, sell: `${row.sell_exchange} ${row.sell_symbol}`, at: row.arbitrage_id });
    const links = [["Market and books", `/market?${market}`], ["In the list of trades", `/trades?arbitrage=${id}`], ["Document", `/api/arbitrages/${id}`], ["Decision", `/api/arbitrages/${id}/decision`], ["Opportunity", `/api/opportunities/${id}`]];
    this.links.replaceChildren(...links.map(([words, href]) => element("a", { href }, words)));
  }

  drawSections(row) {
    const drawn = JSON.stringify([row, Boolean(this.decision), zoneWord(), liveFeed.model.isKnown]);
    // what is read is not drawn again under the reader's eyes; digits of prices come with the first snapshot
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    const sections = [];
    if (row.profit) sections.push(section("Attribution", waterfall(Object.entries(PROFIT_PARTS).map(([name, words]) => [words, row.profit[name]]), row.profit.currency)));
    sections.push(
      section("Timeline", namedTable("Timeline", STEP_HEADS, stepRows(row), "No steps are known.")),
      section("Legs", namedTable("Legs", LEG_HEADS, legRows(row), "No legs.")),
      section("Fills", namedTable("Fills", FILL_HEADS, fillRows(row), "No fills.")),
    );
    if (this.decision) sections.push(...this.decisionSections(row));
    sections.push(section("Decisions", namedTable("Decisions", DECISION_HEADS, decisionRows(row), "No decisions were stored.")), this.logs.root);
    const opened = new Set([...this.sections.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    this.sections.replaceChildren(...sections);
    for (const one of this.sections.querySelectorAll("details")) if (opened.has(one.dataset.name)) one.open = true;
  }

  decisionSections(row) {
    const { checks, books, settings, settings_version: version } = this.decision;
    for (const one of books) this.books[one.role].show({ ...one, note: `${(one.age / 1000).toFixed(1)} ms old when it was detected`, [one.role === "buy" ? "asks" : "bids"]: one.book }, row.base, "");
    const failed = checks.filter((one) => !one.passed).length;
    const words = checks.length ? `${checks.length} checks, ${failed ? `${failed} not passed` : "all passed"}` : "An earlier version wrote this arbitrage: its checks were not recorded.";
    const currency = liveFeed.model.currency ?? "";
    const inForce = element("details", { "data-name": "settings" }, element("summary", {}, `All settings of version ${version}`), namedTable(`Settings of version ${version}`, SETTING_HEADS, settingRows(settings), "That version is not stored any more."));
    return [section("Books it was decided on", element("div", { class: "market-books" }, this.books.buy.root, this.books.sell.root)), section("Checks", element("p", { class: "quiet" }, words), namedTable("Checks", CHECK_HEADS, checkRows(checks, (text) => sum(text, currency)), "None is known.")), section("Settings in force", inForce)];
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function section(title, ...children) {
  return element("section", { class: "box", "aria-label": title, "data-section": title }, element("h4", {}, title), ...children);
}

export const { mount, unmount } = persistentPart(() => new ArbitragePage());
