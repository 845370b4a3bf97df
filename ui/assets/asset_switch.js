// Which asset the charts and the spread matrix show; drawn where there is more than one.

import { recall, remember } from "./tab_memory.js";
import { element } from "./elements.js";

const NAME = "live.asset";

export class AssetSwitch {
  // onChoice(): the asset is another one now
  constructor(nav, onChoice) {
    this.nav = nav;
    this.onChoice = onChoice;
    this.asset = recall(NAME);
    this.assets = [];
  }

  show(model) {
    const assets = [...new Set([...model.series.values()].map((series) => series.base))];
    if (assets.join() === this.assets.join()) return;
    this.assets = assets;
    if (!assets.includes(this.asset)) this.asset = assets[0] ?? null;
    this.tabs = new Map(assets.map((asset) => [asset, this.tab(asset)]));
    this.nav.replaceChildren(...(assets.length > 1 ? this.tabs.values() : []));
    this.mark();
  }

  tab(asset) {
    const tab = element("button", { type: "button" }, asset);
    tab.onclick = () => {
      this.asset = asset;
      remember(NAME, asset);
      this.mark();
      this.onChoice();
    };
    return tab;
  }

  mark() {
    for (const [asset, tab] of this.tabs) tab.setAttribute("aria-pressed", String(asset === this.asset));
  }

  // The markets of the chosen asset, keyed "exchange symbol".
  markets(model) {
    return [...model.series].filter(([, series]) => series.base === this.asset);
  }
}
