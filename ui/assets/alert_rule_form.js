// The form of one alert rule: which metric and series, over what window, beyond what, for how long, and who is to know.
// What it would have said in the last day stands below while it is typed.

import { choice, pick } from "./choices.js";
import { problemText, question } from "./requests.js";
import { button, element, field, setClass, setText } from "./elements.js";
import { capitalised, duration, fullTime, sixDigits } from "./format.js";

const HOWS = { now: "value", mean: "mean", lowest: "lowest", highest: "highest", change: "change", increase: "increase of a counter" };
const TIMES = { 0: "at once", 60: "1 minute", 300: "5 minutes", 900: "15 minutes", 3600: "1 hour" };
const TYPING_MILLISECONDS = 400;
const SHOWN = 5;

export class RuleForm {
  // save(rule): returns why not, or ""; cancel(): nothing is kept
  constructor(save, cancel) {
    this.save = save;
    this.metrics = [];
    this.labels = new Map();
    this.name = element("input", { type: "text", maxlength: "60", autocomplete: "off" });
    this.metric = element("select", {});
    this.how = choice(HOWS);
    this.window = choice(without(TIMES, "0"));
    this.direction = choice({ above: "above", below: "below" });
    this.threshold = element("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
    this.lasting = choice(TIMES);
    this.severity = choice({ warning: "to check", failing: "failing" });
    this.what = element("p", { class: "quiet", "data-part": "rule-metric" });
    this.series = element("div", { class: "rule-fields" });
    this.destinations = element("fieldset", { class: "row" });
    this.preview = element("div", { class: "quiet", role: "status", "data-part": "rule-preview" });
    this.said = element("p", { class: "said", role: "status", "data-part": "rule-said" });
    this.windowField = field("Over", this.window);
    const asked = element("div", { class: "rule-fields" }, field("Compare the", this.how), this.windowField, field("Is", this.direction), field("Threshold", this.threshold), field("For", this.lasting), field("As", this.severity));
    this.root = element("form", { class: "rule-form", "aria-label": "Alert rule", hidden: true }, element("div", { class: "rule-fields" }, field("Name", this.name), field("Metric", this.metric)), this.what, this.series, asked, this.destinations, this.preview, element("div", { class: "row" }, element("button", { type: "submit", class: "main" }, "Keep this rule"), button("Cancel", cancel)), this.said);
    this.root.onsubmit = (event) => (event.preventDefault(), this.send());
    this.metric.onchange = () => this.showMetric({});
    this.root.addEventListener("input", () => this.ask());
    this.root.addEventListener("change", () => this.ask());
  }

  // rule: the one to change, or null for a new one
  open(metrics, destinations, rule) {
    this.metrics = metrics;
    this.rule = rule;
    this.metric.replaceChildren(...metrics.map((one) => element("option", { value: one.name }, one.name.replace(/^arbitrage_/, ""))));
    this.metric.value = rule?.metric ?? metrics[0]?.name ?? "";
    const known = rule ?? { name: "", how: "now", window_seconds: 60, direction: "above", threshold: "", for_seconds: 0, severity: "warning", destinations: [] };
    this.name.value = known.name;
    for (const [select, value] of [[this.how, known.how], [this.direction, known.direction], [this.severity, known.severity], [this.window, known.window_seconds], [this.lasting, known.for_seconds]]) pick(select, value);
    this.threshold.value = String(known.threshold);
    this.showDestinations(destinations, known.destinations);
    this.say("", "");
    this.root.hidden = false;
    this.showMetric(rule?.labels ?? {});
    this.ask();
    this.name.focus();
  }

  close() {
    this.root.hidden = true;
    clearTimeout(this.timer);
  }

  // Every series that has the chosen labels counts alone.
  showMetric(labels) {
    const metric = this.metrics.find((one) => one.name === this.metric.value);
    const series = metric?.series ?? [];
    setText(this.what, metric ? `${metric.what} ${series.length === 1 && !Object.keys(series[0].labels).length ? `Now ${sixDigits(series[0].value)}.` : `${series.length} series.`}` : "");
    const names = [...new Set(series.flatMap((one) => Object.keys(one.labels)))];
    this.labels = new Map(names.map((name) => [name, choice({ "": "any", ...Object.fromEntries(values(series, name).map((value) => [value, value])) })]));
    for (const [name, select] of this.labels) pick(select, labels[name] ?? "");
    this.series.replaceChildren(...[...this.labels].map(([name, select]) => field(capitalised(name), select)));
  }

  showDestinations(destinations, chosen) {
    const names = destinations.map(({ name, kind, gets_alerts: gets }) => {
      const tick = element("input", { type: "checkbox", value: name, disabled: !gets });
      tick.checked = chosen.includes(name);
      return element("label", { class: "tick" }, tick, `${name}${name === kind ? "" : ` (${kind})`}${gets ? "" : ", gets no alerts"}`);
    });
    const none = element("span", { class: "quiet" }, "No destination is configured: [[notices]] of the configuration has webhooks, Telegram, Discord, Slack and e-mail. It is shown here and in the tab's title.");
    this.destinations.replaceChildren(element("legend", { class: "quiet" }, "Report to (none chosen: all)"), ...(names.length ? names : [none]));
  }

  get wanted() {
    const labels = Object.fromEntries([...this.labels].map(([name, select]) => [name, select.value]).filter(([, value]) => value));
    const destinations = [...this.destinations.querySelectorAll("input:checked")].map((one) => one.value);
    return { name: this.name.value.trim() || "new rule", metric: this.metric.value, labels, how: this.how.value, window_seconds: Number(this.window.value), direction: this.direction.value, threshold: Number(this.threshold.value), for_seconds: Number(this.lasting.value), severity: this.severity.value, destinations };
  }

  get problem() {
    if (!this.metric.value) return "The metrics were not looked at yet: try again in a moment.";
    return this.threshold.value.trim() && Number.isFinite(Number(this.threshold.value)) ? "" : "Type a number for the threshold.";
  }

  ask() {
    this.windowField.hidden = this.how.value === "now";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), TYPING_MILLISECONDS);
  }

  async look() {
    if (this.problem) return this.preview.replaceChildren(this.problem);
    const { wanted } = this;
    const answer = await question("/api/alerts/rules/preview", wanted);
    if (JSON.stringify(wanted) !== JSON.stringify(this.wanted)) return undefined;
    if (!answer.isDone) return this.preview.replaceChildren(`No preview: ${problemText(answer)}`);
    return this.preview.replaceChildren(...previewNodes(answer.body));
  }

  async send() {
    if (this.problem || !this.name.value.trim()) return this.say(this.problem || "Give the rule a name.", "bad");
    const reason = await this.save(this.wanted, this.rule);
    return reason ? this.say(`Not kept: ${reason}`, "bad") : this.close();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

// [sentence, list] of how often it would have fired.
function previewNodes({ condition, since, series, matching, times, firings }) {
  if (since === null) return ["Nothing is known of the last day yet."];
  const looked = matching > series ? `${series} of ${matching} series` : `${matching} series`;
  const often = times ? `It would have fired ${times === 1 ? "once" : `${times} times`}` : "It would not have fired";
  const sum = element("p", {}, `${often} since ${fullTime(since)} (${looked}; ${condition}).`);
  const rows = firings.slice(0, SHOWN).map((one) => element("li", {}, `${one.series}: ${fullTime(one.began_at)}${one.ended_at === null ? ", until now" : `, for ${duration(one.ended_at - one.began_at)}`}`));
  return [sum, element("ul", { class: "rule-firings" }, ...rows)];
}

function values(series, name) {
  return [...new Set(series.map((one) => one.labels[name]).filter((value) => value !== undefined))].sort();
}

function without(options, name) {
  return Object.fromEntries(Object.entries(options).filter(([key]) => key !== name));
}
