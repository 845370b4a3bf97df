// The head of every page: paper or real money, whether the page is live, whether trading is on, and the time.

import { AlertCount } from "./alert_count.js";
import { setClass, setText } from "./elements.js";
import { clockTime } from "./format.js";
import { liveFeed } from "./live_feed.js";
import { chooseLocal, isLocalTime } from "./zone.js";

const STATE_WORDS = { connecting: "connecting…", live: "live", stale: "stale", reconnecting: "reconnecting…" };
const TRADING_WORDS = { running: "trading on", reduce_only: "reduce-only", halted: "trading halted" };
const TRADING_CLASSES = { running: "on", reduce_only: "reduce_only", halted: "off" };
const MODES = {
  paper: ["Paper trading", "no real money"],
  public: ["Paper on live prices", "no real money"],
  replay: ["Paper trading · replay", "no real money"],
  sandbox: ["Sandbox trading", "no real money"],
  live: ["Live trading", "real money"],
};
const DETECTION_WORDS = {
  starting: "Detection is starting: no opportunities yet.",
  silent: "Detection does not respond: no opportunities until it is back.",
};
const NO_PRICES = "No feed is live: nothing can be traded.";
const SOURCES = { kafka: "Kafka", mongodb: "MongoDB" };
const heads = new WeakMap();

// Streamlit calls this again after each script run and theme change.
export function mount(component) {
  const parent = component.parentElement;
  if (!heads.has(parent)) heads.set(parent, new Head(parent));
  heads.get(parent).take(component);
}

export function unmount(parent) {
  heads.get(parent)?.leave();
  heads.get(parent)?.alerts.end();
  heads.delete(parent);
}

class Head {
  constructor(parent) {
    const find = (name) => parent.querySelector(`[data-part="${name}"]`);
    this.root = find("header");
    this.parts = Object.fromEntries(["state", "trading", "clock", "paper-badge", "paper", "money", "notice"].map((name) => [name, find(name)]));
    this.alerts = new AlertCount();
    this.zones = [...parent.querySelectorAll("[data-zone]")];
    // what stays in view below the head needs its height, also while it shows a notice
    this.size = new ResizeObserver(() => this.publishHeight());
    this.size.observe(this.root);
    for (const button of this.zones) button.onclick = () => this.choose(button.dataset.zone === "local");
  }

  take({ data, setStateValue }) {
    this.alerts.show();
    this.setStateValue = setStateValue;
    this.showMode(data.mode);
    // Python draws by the browser's stored choice
    if (data.is_local !== isLocalTime()) this.sendZone();
    this.leave ??= liveFeed.join(this);
  }

  publishHeight() {
    if (this.root.offsetHeight) document.documentElement.style.setProperty("--head", `${this.root.offsetHeight}px`);
  }

  choose(isLocal) {
    if (isLocal === isLocalTime()) return;
    chooseLocal(isLocal);
    this.sendZone();
  }

  sendZone() {
    this.setStateValue("zone", isLocalTime() ? "local" : "utc");
  }

  show(model, _changed, state) {
    const [words, tone] = linkOf(model, state);
    setText(this.parts.state.lastElementChild, words);
    setClass(this.parts.state, `pill ${tone}`);
    this.root.dataset.state = state;
    document.documentElement.dataset.feed = state;
    for (const button of this.zones) {
      button.setAttribute("aria-pressed", String((button.dataset.zone === "local") === isLocalTime()));
    }
    this.isLive = model.isKnown && state === "live";
    if (!model.isKnown) return;
    this.alerts.begin(() => this.isLive);
    this.showMode(model.mode);
    setText(this.parts.clock, clockTime(model.now));
    const notice = noticeOf(model);
    setText(this.parts.notice, notice);
    this.parts.notice.hidden = !notice;
    this.showTrading(model.settings, state === "live", notice || (hasNoPrices(model) ? NO_PRICES : ""));
    this.root.dataset.known = "yes";
  }

  showMode(mode) {
    const [words, money] = MODES[mode] ?? ["Unknown mode", "treat as real money"];
    setText(this.parts.paper, words);
    setText(this.parts.money, money);
    setClass(this.parts["paper-badge"], `mode ${mode === "live" || !MODES[mode] ? "real" : "play"}`);
  }

  // obstacle: why nothing is traded, though it is on
  showTrading(settings, isLive, obstacle) {
    const state = settings?.trading_state;
    const known = TRADING_WORDS[state];
    const waits = isLive && state === "running" && obstacle;
    setText(this.parts.trading.lastElementChild, waits ? "trading waits" : known ? (isLive ? known : `was ${known}`) : "no settings yet");
    setClass(this.parts.trading, `pill ${waits ? "reduce_only" : (isLive && TRADING_CLASSES[state]) || "unknown"}`);
    this.parts.trading.title = waits ? `Trading is on. ${obstacle}` : isLive ? "" : "As last known: the connection is lost.";
  }
}

function missingSources({ sources }) {
  return Object.keys(SOURCES).filter((name) => !sources[name]).map((name) => SOURCES[name]);
}

// Without a source the state of detection is unknown, too.
function noticeOf(model) {
  const names = missingSources(model);
  if (!names.length) return DETECTION_WORDS[model.detection] ?? "";
  const them = names.length === 1 ? "it is not updated until it is" : "them is not updated until they are";
  return `${names.join(" and ")} cannot be reached; everything that depends on ${them} back.`;
}

function hasNoPrices({ ledger: { feeds } }) {
  return feeds.length > 0 && feeds.every((feed) => feed.status !== "live");
}

// The badge of the connection: live only if what the page shows can be.
function linkOf(model, state) {
  if (state !== "live" || !model.isKnown) return [STATE_WORDS[state], state];
  const names = missingSources(model);
  if (names.length) return [`no ${names.join(", ")}`, "stale"];
  return hasNoPrices(model) ? ["no prices", "stale"] : [STATE_WORDS.live, "live"];
}
