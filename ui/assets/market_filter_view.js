// The asset search and the choice of an exchange, above everything that they filter.

import { element, setText } from "./elements.js";
import { exchangeName } from "./format.js";
import { marketFilter } from "./market_filter.js";

export class MarketFilterView {
  // onSearch(): typed text narrows the matrix, long before it is the name of an asset
  constructor({ search, names, exchange, clear, note }, onSearch) {
    Object.assign(this, { search, names, exchange, clear, note });
    search.value = marketFilter.base;
    search.oninput = () => {
      this.choose(this.search.value);
      onSearch();
    };
    search.onkeydown = (event) => {
      if (event.key === "Enter") this.chooseFirst();
    };
    exchange.onchange = () => marketFilter.set({ exchange: exchange.value });
    clear.onclick = () => {
      search.value = "";
      marketFilter.set({ base: "", exchange: "" });
      onSearch();
      search.focus();
    };
  }

  get text() {
    return this.search.value.trim().toUpperCase();
  }

  matches(base) {
    return base.toUpperCase().includes(this.text);
  }

  choose(text) {
    const wanted = text.trim().toUpperCase();
    const base = this.assets?.find((asset) => asset.toUpperCase() === wanted);
    marketFilter.set({ base: base ?? "" });
  }

  chooseFirst() {
    const first = this.text && this.assets?.find((asset) => asset.toUpperCase().startsWith(this.text));
    if (!first) return;
    this.search.value = first;
    this.search.oninput();
  }

  show(model) {
    this.rebuild(model.bases(), model.exchanges());
    if (this.exchange.value !== marketFilter.exchange) this.exchange.value = marketFilter.exchange;
    this.clear.disabled = !marketFilter.isSet && !this.text;
    setText(this.note, this.words());
  }

  rebuild(assets, exchanges) {
    const layout = JSON.stringify([assets, exchanges]);
    if (layout === this.layout) return;
    this.layout = layout;
    [this.assets, this.exchanges] = [assets, exchanges];
    this.names.replaceChildren(...assets.map((asset) => element("option", { value: asset })));
    const options = exchanges.map((exchange) => element("option", { value: exchange }, exchangeName(exchange)));
    this.exchange.replaceChildren(element("option", { value: "" }, "All exchanges"), ...options);
  }

  // An address may name assets and exchanges that this session does not have.
  words() {
    const { base, exchange } = marketFilter;
    if (base && !this.assets.includes(base)) return `This session has no asset ${base}.`;
    if (exchange && !this.exchanges.includes(exchange)) return `This session has no exchange ${exchange}.`;
    if (this.text && !this.assets.some((asset) => this.matches(asset))) return "No asset has this in its name.";
    return "";
  }
}
