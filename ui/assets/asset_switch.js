// Which asset the charts and the spread matrix show: the one of the filter, else the one chosen last in this tab.

import { element } from "./elements.js";
import { liveFeed } from "./live_feed.js";
import { marketFilter } from "./market_filter.js";

const MOST_BUTTONS = 8;

export class AssetSwitch {
  constructor(nav) {
    this.nav = nav;
    this.assets = [];
  }

  show(model) {
    const assets = model.bases();
    if (assets.join() !== this.assets.join()) this.rebuild(assets);
    const wanted = [marketFilter.base, liveFeed.base, assets[0]].find((asset) => assets.includes(asset));
    if (wanted) this.choose(wanted);
  }

  // One button for each if they are few; if many, use the matrix or the search.
  rebuild(assets) {
    this.assets = assets;
    const hasButtons = assets.length > 1 && assets.length <= MOST_BUTTONS;
    this.tabs = new Map(hasButtons ? assets.map((asset) => [asset, this.tab(asset)]) : []);
    this.name = element("strong", {});
    this.nav.replaceChildren(...(hasButtons ? this.tabs.values() : [this.name]));
  }

  tab(asset) {
    const tab = element("button", { type: "button" }, asset);
    tab.onclick = () => this.pick(asset);
    return tab;
  }

  // Chosen by the user, so it must be seen: a filter by another asset would hide it.
  pick(asset) {
    if (marketFilter.base) marketFilter.set({ base: asset });
    this.choose(asset);
  }

  choose(asset) {
    liveFeed.showAsset(asset);
    this.name.textContent = this.assets.length > MOST_BUTTONS ? asset : "";
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-pressed", String(name === asset));
  }

  // The markets of the shown asset, keyed "exchange symbol".
  markets(model) {
    return [...model.series].filter(([, series]) => series.base === liveFeed.base);
  }
}
