// Mounts the live panel into Streamlit's component and draws the live feed.

import { AssetSwitch } from "./asset_switch.js";
import { Charts, loadPlot } from "./charts.js";
import { recall, remember } from "./tab_memory.js";
import { setText } from "./elements.js";
import { InventoryView, ProfitLinesView } from "./inventory_view.js";
import { BalancesView, FeedsView, FiguresView, ProfitView, RejectionsView } from "./ledger_view.js";
import { marketFilter } from "./market_filter.js";
import { MarketFilterView } from "./market_filter_view.js";
import { MatrixView } from "./matrix_view.js";
import { LatencyView } from "./latency_view.js";
import { LayoutView } from "./layout_view.js";
import { DEFINITIONS } from "./labels.js";
import { liveFeed } from "./live_feed.js";
import { OpportunityView } from "./opportunity_view.js";
import { SignalsView } from "./signals_view.js";
import { SimulatedMarketView } from "./simulated_market_view.js";
import { SpreadView } from "./spread_view.js";
import { TradesView } from "./trades_view.js";
import { zoneWord } from "./zone.js";

const MORE = "live.more";
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
    new LayoutView(this.root, find("layout"));
    for (const name of parent.querySelectorAll("th[scope=col]:not([title]), .figure-tile .name")) {
      if (DEFINITIONS[name.textContent]) name.title = DEFINITIONS[name.textContent];
    }
    this.zoneWords = [...parent.querySelectorAll("[data-zone-word]")];
    marketFilter.readAddress();
    this.assets = new AssetSwitch(find("assets"));
    this.filter = new MarketFilterView(
      {
        search: find("asset-search"),
        names: find("asset-names"),
        exchange: find("exchange-filter"),
        clear: find("clear-filter"),
        note: find("filter-note"),
      },
      () => liveFeed.notify("filter"),
    );
    this.matrix = new MatrixView({
      table: find("matrix"),
      counter: find("matrix-count"),
      matches: (base) => this.filter.matches(base),
      onChoice: (base) => {
        this.assets.pick(base);
        liveFeed.notify("filter");
      },
    });
    this.charts = new Charts(find("charts"));
    this.spreads = new SpreadView(find("spreads"), find("spread-legend"));
    this.trades = new TradesView(find("filter"), find("trades"), find("trade-count"), find("figure-open"));
    this.signals = new SignalsView(find("signals"), find("signal-count"));
    this.opportunities = new OpportunityView(find("opportunities"), find("opportunity-count"));
    const figures = ["net", "closed", "closedNote", "seen", "rejected", "latency"];
    this.latency = new LatencyView(find("latencies"));
    this.moving = [
      this.latency,
      new FiguresView(Object.fromEntries(figures.map((name) => [name, find(`figure-${name}`)]))),
      new FeedsView(find("feeds")),
      new SimulatedMarketView(find("simulated-market")),
    ];
    // hundreds of rows if there are fifty assets: nothing in them changes with a pulse
    this.slow = [
      new ProfitView(find("profit")),
      new ProfitLinesView(find("profit-ways"), find("profit-lines")),
      (this.balances = new BalancesView(find("balances"), find("untraded-balances"))),
      (this.inventory = new InventoryView({
        exposures: find("exposures"),
        drifts: find("drifts"),
        plan: find("plan"),
        note: find("plan-note"),
        worth: find("positions-worth"),
        more: find("untraded-positions"),
      })),
      new RejectionsView(find("rejections")),
    ];
    this.more = find("more");
    this.more.open = recall(MORE) === "open";
    this.more.ontoggle = () => remember(MORE, this.more.open ? "open" : "closed");
    this.start();
  }

  async start() {
    await loadPlot();
    if (!this.isClosed) this.leave = liveFeed.join(this);
  }

  // Trades first, and alone if nothing else came: users wait for them.
  show(model, changed, state) {
    this.root.dataset.state = state;
    if (!model.isKnown) return;
    this.root.dataset.filtered = String(marketFilter.isSet);
    const isWhole = ["all", "zone", "filter"].some((kind) => changed.has(kind));
    const has = (...kinds) => isWhole || kinds.some((kind) => changed.has(kind));
    if (has("trade")) this.showTrades(model, changed);
    if (has("pulse")) this.showMarket(model);
    if (has("assets", "settings")) this.showMatrix(model);
    if (has("pulse", "ledger")) this.moving.forEach((view) => view.show(model));
    if (has("ledger")) this.slow.forEach((view) => view.show(model));
    if (has()) {
      this.zoneWords.forEach((head) => setText(head, zoneWord()));
      this.signals.redraw();
    }
    this.root.dataset.known = "yes";
  }

  showTrades(model, changed) {
    this.trades.show(model);
    // messages in a snapshot, or during another page, say nothing about the latency of this screen
    if (changed.has("all")) model.takeFilled();
    else this.latency.recordShown(model);
  }

  showMarket(model) {
    this.assets.show(model);
    const markets = this.assets.markets(model);
    this.charts.show(model, markets);
    this.spreads.show(model, markets);
    this.opportunities.show(model);
  }

  showMatrix(model) {
    this.filter.show(model);
    this.matrix.show(model, liveFeed.base);
  }

  recolour() {
    this.charts.recolour();
    if (liveFeed.model.isKnown) this.showMarket(liveFeed.model);
  }

  close() {
    this.isClosed = true;
    this.leave?.();
    this.signals.close();
    for (const view of [this.balances, this.inventory]) view.untraded.close();
    this.charts.disconnect();
  }
}
