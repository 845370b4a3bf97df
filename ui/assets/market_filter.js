// What the lists show: one asset, one exchange, or all; kept in the page's address, so that it can be shared.

const NAMES = ["base", "exchange"];

class MarketFilter {
  constructor() {
    this.listeners = new Set();
    this.readAddress();
  }

  // The names are the ones that the other pages and the REST routes use.
  readAddress() {
    const asked = new URLSearchParams(location.search);
    for (const name of NAMES) this[name] = asked.get(name) ?? "";
  }

  set(change) {
    if (NAMES.every((name) => (change[name] ?? this[name]) === this[name])) return;
    Object.assign(this, change);
    const address = new URL(location.href);
    for (const name of NAMES) {
      if (this[name]) address.searchParams.set(name, this[name]);
      else address.searchParams.delete(name);
    }
    history.replaceState(history.state, "", address);
    this.listeners.forEach((listener) => listener());
  }

  listen(listener) {
    this.listeners.add(listener);
  }

  get isSet() {
    return NAMES.some((name) => this[name]);
  }

  // Whether a row has that asset (null: any) and any of these exchanges.
  fits(base, ...exchanges) {
    return (!this.base || base === null || base === this.base) && (!this.exchange || exchanges.includes(this.exchange));
  }
}

export const marketFilter = new MarketFilter();
