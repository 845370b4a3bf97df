// How long each step of the newest trades took, and how long until a fill was on this screen.

import { element, setText } from "./elements.js";
import { count, duration } from "./format.js";

const STEPS = ["event", "detected", "reserved", "sent", "filled"];
const NAMES = ["Tick → detected", "Detected → reserved", "Reserved → sent", "Sent → filled"];
const WHOLE = "Tick → filled";
const SHOWN = "Filled → on this screen";
const NEWEST = 100;
const LONGEST_MICROSECONDS = 600_000_000;
const SHOWN_KEPT = 100;

export class LatencyView {
  constructor(body) {
    this.shownAfter = [];
    this.lines = new Map([...NAMES, WHOLE, SHOWN].map((name) => [name, line(name)]));
    body.replaceChildren(...[...this.lines.values()].map(({ node }) => node));
  }

  // Call it in the frame in which the trade was drawn. Exact only if server and browser share a clock.
  recordShown(model) {
    for (const arbitrage of model.takeFilled()) {
      const took = Date.now() * 1000 - arbitrage.times.filled;
      if (isPlausible(took)) this.shownAfter.push(took);
    }
    this.shownAfter = this.shownAfter.slice(-SHOWN_KEPT);
  }

  show(model) {
    const newest = model.newestArbitrages().slice(0, NEWEST).map((arbitrage) => ({ ...arbitrage.times, event: arbitrage.event_time }));
    NAMES.forEach((name, i) => this.showLine(name, spans(newest, STEPS[i], STEPS[i + 1])));
    this.showLine(WHOLE, spans(newest, STEPS[0], STEPS.at(-1)));
    this.showLine(SHOWN, this.shownAfter);
  }

  // A missing measurement is not 0.
  showLine(name, found) {
    const sorted = [...found].sort((a, b) => a - b);
    const { middle, high, number } = this.lines.get(name);
    setText(middle, sorted.length ? duration(quantile(sorted, 0.5)) : "–");
    setText(high, sorted.length ? duration(quantile(sorted, 0.95)) : "–");
    setText(number, count(sorted.length));
  }
}

function line(name) {
  const [middle, high, number] = ["number", "number", "number muted"].map((kind) => element("td", { class: kind }, "–"));
  const isSum = name === WHOLE;
  const node = element("tr", { class: isSum ? "sum" : "" }, element("th", { scope: "row" }, name), middle, high, number);
  return { node, middle, high, number };
}

function spans(all, from, to) {
  return all
    .filter((times) => times[from] !== undefined && times[to] !== undefined)
    .map((times) => times[to] - times[from])
    .filter(isPlausible);
}

// In a replay the steps are measured by two clocks; a difference between them means nothing.
function isPlausible(microseconds) {
  return microseconds >= 0 && microseconds < LONGEST_MICROSECONDS;
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
