// Sweeps: two parameters varied over a recording, the net of every pair as a heat map, and a backtest of the one that is
// picked.

import { choice, pick } from "./choices.js";
import { button, element, field, setClass, setText } from "./elements.js";
import { capitalised, count, fullTime, money } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { PolledView } from "./polled_view.js";
import { ask, problemText } from "./requests.js";

const POLL_MILLISECONDS = 2_000;
const PATH = "/api/sweeps";
// Fields of a backtest of their own; the others are settings.
const PLAIN = ["fee_bps", "latency_ms"];
const BEGIN = [["min_net_bps", "4, 6, 8, 10, 12"], ["max_notional", "250, 500, 1000, 2000"]];
const DEEPEST_PERCENT = 42;
const OVER = ["done", "failed", "cancelled"];

class SweepView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.set = choice({});
    this.axes = BEGIN.map(([, values]) => ({ name: choice({}), values: element("input", { type: "text", inputmode: "text", autocomplete: "off", value: values }) }));
    this.begin = button("Run the sweep", () => this.ask(), "main");
    this.kept = choice({});
    this.kept.onchange = () => this.choose(this.kept.value);
    this.ender = button("Remove", () => this.end());
    this.keptRow = element("div", { class: "row", hidden: true }, field("Sweep", this.kept), this.ender);
    this.said = element("p", { class: "said", role: "status", "data-part": "sweep-said" });
    // what became of the last thing that was asked for: the state above is read again and again
    this.outcome = element("p", { class: "said", role: "status", "data-part": "sweep-outcome" });
    this.map = element("div", { "data-part": "sweep-map" });
    this.picked = element("div", { class: "row", "data-part": "sweep-picked" });
    const fields = this.axes.flatMap(({ name, values }, i) => [field(i ? "Across" : "Down", name), field(i ? "Values across" : "Values down", values)]);
    const form = element("details", {}, element("summary", {}, "Try many settings"), element("div", { class: "rule-fields" }, field("Recording to sweep", this.set), ...fields), element("div", { class: "row" }, this.begin));
    this.root = element("section", { class: "box market", "data-part": "sweeps", "aria-label": "Sweeps" }, element("h3", {}, "Sweeps"), form, this.keptRow, this.said, this.map, this.picked, this.outcome);
  }

  // data: names of recordings, and [name, label] of each parameter
  enter({ data, setTriggerValue }) {
    this.send = setTriggerValue;
    this.labels = Object.fromEntries(data.parameters);
    fill(this.set, data.sets.map((name) => [name, name]));
    this.axes.forEach(({ name }, i) => fill(name, data.parameters, BEGIN[i][0]));
    super.enter();
  }

  async read() {
    const answer = await ask("GET", PATH);
    if (!answer.isDone) return this.say(`Sweeps are not known: ${problemText(answer)}`, "bad");
    this.sweeps = answer.body;
    this.keptRow.hidden = this.sweeps.length === 0;
    if (!this.sweeps.some((one) => one.sweep_id === this.chosen)) this.chosen = this.sweeps[0]?.sweep_id ?? null;
    fill(this.kept, this.sweeps.map((one) => [one.sweep_id, this.title(one)]), this.chosen);
    return this.showChosen();
  }

  choose(sweepId) {
    this.chosen = sweepId;
    return this.showChosen();
  }

  title(one) {
    return `${fullTime(one.asked_at).replace(/\.\d+/, "")} · ${one.tick_set} · ${one.axes.map((axis) => this.label(axis.name)).join(" × ")} · ${one.state}`;
  }

  label(name) {
    return this.labels[name] ?? name;
  }

  async showChosen() {
    const known = this.sweeps.find((one) => one.sweep_id === this.chosen);
    if (known?.state !== "done") this.clear();
    if (!known) return this.say("", "");
    setText(this.ender, OVER.includes(known.state) ? "Remove" : "Stop");
    if (known.state === "queued") return this.say("Waiting for its turn…", "");
    if (known.state === "running") return this.say(`${capitalised(known.stage || "starting")}: ${Math.floor(known.share * 100)} %`, "");
    if (known.state !== "done") return this.say(`Not done: ${known.reason ?? known.state}`, "bad");
    if (this.drawn === known.sweep_id) return undefined;
    const answer = await ask("GET", `${PATH}/${known.sweep_id}`);
    if (!answer.isDone) return this.say(`Not known: ${problemText(answer)}`, "bad");
    if (this.chosen !== known.sweep_id) return undefined;
    return this.draw(answer.body);
  }

  clear() {
    this.drawn = null;
    this.map.replaceChildren();
    this.picked.replaceChildren();
  }

  draw(sweep) {
    this.clear();
    this.drawn = sweep.sweep_id;
    const [down, across] = sweep.axes;
    const most = Math.max(...sweep.sets.map((one) => Math.abs(Number(one.net))), 0);
    const best = sweep.sets.reduce((found, one) => (found === null || Number(one.net) > Number(found.net) ? one : found), null);
    const missing = down.values.length * (across?.values.length ?? 1) - sweep.sets.length;
    const words = best === null ? "No set has settings that agree." : `Net in ${sweep.currency} of ${count(sweep.sets.length)} sets; the best is marked.`;
    const luck = sweep.deflated_sharpe === null ? "" : `The best is more than luck with probability ${sweep.deflated_sharpe.toFixed(2)} (deflated Sharpe ratio).`;
    this.say([words, luck, missing && best ? `${count(missing)} have settings that contradict each other.` : "", sweep.is_of_bars ? "From bars: fills are at the last price of a bar." : ""].filter(Boolean).join(" "), "");
    const known = new Map(sweep.sets.map((one) => [one.values.join(), one]));
    const cell = (values) => this.cell(sweep, known.get(values.join()), most, best);
    const columns = across?.values ?? [null];
    const head = element("tr", {}, element("th", { scope: "col" }, across ? `${this.label(down.name)} ↓ · ${this.label(across.name)} →` : this.label(down.name)), ...columns.map((value) => element("th", { scope: "col", class: "number" }, value ?? "Net")));
    const rows = down.values.map((value) => element("tr", {}, element("th", { scope: "row" }, value), ...columns.map((other) => cell(other === null ? [value] : [value, other]))));
    const table = element("table", { class: "heat-map", "aria-label": "Net by set" }, element("thead", {}, head), element("tbody", {}, ...rows));
    this.map.replaceChildren(element("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Net by set" }, table));
  }

  cell(sweep, one, most, best) {
    if (!one) return element("td", { class: "number" }, "–");
    const net = Number(one.net);
    const percent = most === 0 ? 0 : Math.round((Math.abs(net) / most) * DEEPEST_PERCENT);
    const made = button(`${one === best ? "★ " : ""}${money(net, sweep.currency)}`, () => this.pickSet(sweep, one), "heat");
    made.title = figures(one, sweep.currency);
    return element("td", { class: "number", style: { background: `color-mix(in srgb, var(--${net < 0 ? "bad" : "good"}) ${percent}%, transparent)` } }, made);
  }

  pickSet(sweep, one) {
    const words = sweep.axes.map((axis, i) => `${this.label(axis.name)} ${one.values[i]}`).join(", ");
    const run = button("Run it as a backtest", () => this.run(sweep, one, run));
    this.picked.replaceChildren(element("p", {}, `${words}: net ${money(Number(one.net), sweep.currency)}, ${figures(one, sweep.currency)}.`), run);
  }

  async ask() {
    const axes = this.axes.map(({ name, values }) => ({ name: name.value, values: values.value.split(/[\s,;]+/).filter(Boolean) })).filter((axis) => axis.values.length);
    this.begin.disabled = true;
    const answer = await ask("POST", PATH, { tick_set: this.set.value, axes });
    this.begin.disabled = false;
    if (!answer.isDone) return this.answered(`Not started: ${problemText(answer)}`, "bad");
    this.chosen = answer.body.sweep_id;
    this.answered("", "");
    return this.read();
  }

  async end() {
    const answer = await ask("DELETE", `${PATH}/${this.chosen}`);
    if (!answer.isDone) return this.answered(`Not ended: ${problemText(answer)}`, "bad");
    return this.read();
  }

  async run(sweep, one, pressed) {
    const given = sweep.axes.map((axis, i) => [axis.name, one.values[i]]);
    const settings = Object.fromEntries(given.filter(([name]) => !PLAIN.includes(name)));
    pressed.disabled = true;
    const answer = await ask("POST", "/api/backtests", { tick_set: sweep.tick_set, settings, ...Object.fromEntries(given.filter(([name]) => PLAIN.includes(name))) });
    pressed.disabled = false;
    if (!answer.isDone) return this.answered(`Not started: ${problemText(answer)}`, "bad");
    this.answered("Queued: once it is done it can be compared below.", "good");
    // the lists below are drawn by the server
    return this.send("started", answer.body.backtest_id);
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }

  answered(words, tone) {
    setText(this.outcome, words);
    setClass(this.outcome, `said ${tone}`);
  }
}

function figures(one, currency) {
  return `${count(one.trades)} ${one.trades === 1 ? "trade" : "trades"}, max drawdown ${money(-Number(one.drawdown), currency)}`;
}

// options: [value, words]; one that is chosen stays, else `first` is.
function fill(select, options, first = null) {
  const drawn = JSON.stringify(options);
  const wanted = first !== null && select.dataset.drawn === undefined ? first : select.value;
  if (select.dataset.drawn !== drawn) {
    select.dataset.drawn = drawn;
    select.replaceChildren(...options.map(([value, words]) => element("option", { value }, words)));
  }
  if (options.some(([value]) => value === wanted)) pick(select, wanted);
}

export const { mount, unmount } = persistentPart(() => new SweepView());
