// Mounts the live panel into Streamlit's component and keeps it up to date from its own WebSocket.

import { Charts, loadPlot } from "./charts.js";
import { Connection } from "./connection.js";
import { setClass, setText } from "./elements.js";
import { clockTime } from "./format.js";
import { InventoryView, ProfitLinesView } from "./inventory_view.js";
import { BalancesView, FeedsView, FiguresView, ProfitView, RefusalsView } from "./ledger_view.js";
import { OpportunityView, SpreadView } from "./market_view.js";
import { Model } from "./model.js";
import { SignalsView } from "./signals_view.js";
import { TradesView } from "./trades_view.js";

const STATE_WORDS = { connecting: "connecting…", live: "live", stale: "stale", reconnecting: "reconnecting…" };
const TRADING_WORDS = { running: "trading on", reducing: "nothing new begun", halted: "trading halted" };
const MODE_WORDS = {
  paper: "Paper trading",
  public: "Paper on live prices",
  replay: "Paper trading · replay",
  sandbox: "Sandbox trading",
  live: "Live trading",
};
const panels = new WeakMap();

// Streamlit calls this again after each script run and theme change: the second call only takes up the new colours.
export function mount(parent) {
  const known = panels.get(parent);
  if (known) known.recolour();
  else panels.set(parent, new Panel(parent));
}

export function unmount(parent) {
  panels.get(parent)?.close();
  panels.delete(parent);
}

class Panel {
  constructor(parent) {
    const find = (name) => parent.querySelector(`[data-part="${name}"]`);
    this.root = find("panel");
    this.model = new Model();
    this.connection = null;
    this.state = find("state");
    this.trading = find("trading");
    this.clock = find("clock");
    this.paper = find("paper");
    this.notice = find("notice");
    this.charts = new Charts(find("charts"));
    this.trades = new TradesView(find("filter"), find("trades"), find("trade-count"));
    this.signals = new SignalsView(find("signals"), find("signal-count"));
    this.opportunities = new OpportunityView(find("opportunities"), find("opportunity-count"));
    const figures = ["net", "closed", "closedNote", "open", "seen", "refused", "latency"];
    this.slow = [
      new FiguresView(Object.fromEntries(figures.map((name) => [name, find(`figure-${name}`)]))),
      new ProfitView(find("profit")),
      new ProfitLinesView(find("profit-ways"), find("profit-lines")),
      new BalancesView(find("balances")),
      new InventoryView(find("exposures"), find("drifts"), find("plan")),
      new FeedsView(find("feeds")),
      new RefusalsView(find("refusals")),
    ];
    this.spreads = new SpreadView(find("bases"), find("spreads"));
    this.start();
  }

  async start() {
    await loadPlot();
    if (this.isClosed) return;
    this.connection = new Connection(
      (message) => this.take(message),
      (state) => this.showState(state),
    );
  }

  take(message) {
    this.model.apply(message);
    if (!this.model.isKnown || this.frame) return;
    // one drawing per frame, however many messages came; a hidden tab draws nothing
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.show();
    });
  }

  show() {
    const model = this.model;
    setText(this.clock, clockTime(model.now));
    this.showTrading(model.settings);
    this.showNotice(model.sources);
    this.charts.show(model);
    this.spreads.show(model);
    this.opportunities.show(model);
    this.trades.show(model);
    this.slow.forEach((view) => view.show(model));
    setText(this.paper, MODE_WORDS[model.mode] ?? MODE_WORDS.paper);
    this.paper.nextElementSibling.hidden = model.mode === "live";
    this.root.dataset.known = "yes";
  }

  showState(state) {
    setText(this.state.lastElementChild, STATE_WORDS[state]);
    setClass(this.state, `pill ${state}`);
    this.root.dataset.state = state;
  }

  showTrading(settings) {
    const isOn = settings?.trading_state === "running";
    setText(this.trading.lastElementChild, TRADING_WORDS[settings?.trading_state] ?? "no settings yet");
    setClass(this.trading, `pill ${settings ? (isOn ? "on" : "off") : "unknown"}`);
  }

  showNotice(sources) {
    const missing = Object.entries({ kafka: "Kafka", mongodb: "MongoDB" }).filter(([name]) => !sources[name]);
    const names = missing.map(([, name]) => name).join(" and ");
    setText(this.notice, names ? `${names} cannot be reached; what depends on it stands still until it is back.` : "");
    this.notice.hidden = !names;
  }

  recolour() {
    this.charts.recolour();
    if (this.model.isKnown) this.show();
  }

  close() {
    this.isClosed = true;
    cancelAnimationFrame(this.frame);
    this.connection?.close();
    this.signals.close();
    this.charts.disconnect();
  }
}
