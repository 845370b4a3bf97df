// The head of every page: paper or real money, whether the page is live, whether trading is on, and the time.

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
  heads.delete(parent);
}

class Head {
  constructor(parent) {
    const find = (name) => parent.querySelector(`[data-part="${name}"]`);
    this.root = find("header");
    this.parts = Object.fromEntries(["state", "trading", "clock", "paper-badge", "paper", "money", "notice"].map((name) => [name, find(name)]));
    this.zones = [...parent.querySelectorAll("[data-zone]")];
    // what stays in view below the head needs its height, also while it shows a notice
    this.size = new ResizeObserver(() => this.publishHeight());
    this.size.observe(this.root);
    for (const button of this.zones) button.onclick = () => this.choose(button.dataset.zone === "local");
  }

  take({ data, setStateValue }) {
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
    setText(this.parts.state.lastElementChild, STATE_WORDS[state]);
    setClass(this.parts.state, `pill ${state}`);
    this.root.dataset.state = state;
    for (const button of this.zones) {
      button.setAttribute("aria-pressed", String((button.dataset.zone === "local") === isLocalTime()));
    }
    if (!model.isKnown) return;
    this.showMode(model.mode);
    setText(this.parts.clock, clockTime(model.now));
    this.showTrading(model.settings);
    this.showNotice(model.sources, model.detection);
    this.root.dataset.known = "yes";
  }

  showMode(mode) {
    const [words, money] = MODES[mode] ?? ["Unknown mode", "treat as real money"];
    setText(this.parts.paper, words);
    setText(this.parts.money, money);
    setClass(this.parts["paper-badge"], `mode ${mode === "live" || !MODES[mode] ? "real" : "play"}`);
  }

  showTrading(settings) {
    const state = settings?.trading_state;
    setText(this.parts.trading.lastElementChild, TRADING_WORDS[state] ?? "no settings yet");
    setClass(this.parts.trading, `pill ${TRADING_CLASSES[state] ?? "unknown"}`);
  }

  // Without a source the state of detection is unknown, too.
  showNotice(sources, detection) {
    const names = Object.keys(SOURCES).filter((name) => !sources[name]).map((name) => SOURCES[name]).join(" and ");
    const words = names ? `${names} cannot be reached; everything that depends on it is not updated until it is back.` : (DETECTION_WORDS[detection] ?? "");
    setText(this.parts.notice, words);
    this.parts.notice.hidden = !words;
  }
}
