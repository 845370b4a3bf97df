// Mounts the live panel into Streamlit's component and draws what the tab's one feed tells.

import { Charts, loadPlot } from "./charts.js";
import { setText } from "./elements.js";
import { InventoryView, ProfitLinesView } from "./inventory_view.js";
import { BalancesView, FeedsView, FiguresView, ProfitView, RefusalsView } from "./ledger_view.js";
import { liveFeed } from "./live_feed.js";
import { OpportunityView, SpreadView } from "./market_view.js";
import { SignalsView } from "./signals_view.js";
import { TradesView } from "./trades_view.js";
import { zoneWord } from "./zone.js";

const panels = new WeakMap();

// Streamlit calls this again after each script run and theme change: the second call only takes up the new colours.
export function mount({ parentElement }) {
  const known = panels.get(parentElement);
  if (known) known.recolour();
  else panels.set(parentElement, new Panel(parentElement));
}

export function unmount(parent) {
  panels.get(parent)?.close();
  panels.delete(parent);
}

class Panel {
  constructor(parent) {
    const find = (name) => parent.querySelector(`[data-part="${name}"]`);
    this.root = find("panel");
    this.zoneWords = [...parent.querySelectorAll("[data-zone-word]")];
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
    if (!this.isClosed) this.leave = liveFeed.join(this);
  }

  // Trades first and alone where nothing else came: they are what somebody waits for.
  show(model, news, state) {
    this.root.dataset.state = state;
    if (!model.isKnown) return;
    const has = (...kinds) => news.has("all") || news.has("zone") || kinds.some((kind) => news.has(kind));
    if (has("trade", "settings")) this.trades.show(model);
    if (has("pulse")) {
      this.charts.show(model);
      this.spreads.show(model);
      this.opportunities.show(model);
    }
    if (has("pulse", "ledger")) this.slow.forEach((view) => view.show(model));
    if (has()) {
      this.zoneWords.forEach((head) => setText(head, zoneWord()));
      this.signals.redraw();
    }
    this.root.dataset.known = "yes";
  }

  recolour() {
    this.charts.recolour();
    if (liveFeed.model.isKnown) this.charts.show(liveFeed.model);
  }

  close() {
    this.isClosed = true;
    this.leave?.();
    this.signals.close();
    this.charts.disconnect();
  }
}
