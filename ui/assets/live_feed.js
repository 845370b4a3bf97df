// The state of this tab and its one connection, which all parts of all pages share.

import { Connection } from "./connection.js";
import { Model } from "./model.js";
import { marketFilter } from "./market_filter.js";
import { recall, remember } from "./tab_memory.js";
import { onZone } from "./zone.js";

// Between two pages there is no listener for a moment, which is no reason to disconnect.
const LINGER_MILLISECONDS = 5000;
const ASSET = "live.asset";

class LiveFeed {
  constructor() {
    this.model = new Model();
    this.state = "connecting";
    this.viewers = new Set();
    this.changed = new Set();
    this.base = marketFilter.base || recall(ASSET) || "";
    onZone(() => this.notify("zone"));
    marketFilter.listen(() => this.notify("filter"));
  }

  // The one asset whose quotes, charts and spreads are received.
  showAsset(base) {
    if (base === this.base) return;
    this.base = base;
    remember(ASSET, base);
    this.connection?.choose(base);
  }

  // viewer.show(model, changed, state), in an animation frame; `changed` has the types of messages since the last one
  // ("state", "zone" and "filter" among them), or "all" for a viewer that has just joined. Returns how to leave.
  join(viewer) {
    this.viewers.add(viewer);
    clearTimeout(this.hangUp);
    this.connection ??= new Connection(
      this.base,
      (message) => this.take(message),
      (state) => this.takeState(state),
    );
    viewer.show(this.model, new Set(["all"]), this.state);
    return () => this.leave(viewer);
  }

  leave(viewer) {
    this.viewers.delete(viewer);
    if (this.viewers.size) return;
    this.hangUp = setTimeout(() => {
      this.connection?.close();
      this.connection = null;
    }, LINGER_MILLISECONDS);
  }

  take(message) {
    this.model.apply(message);
    this.notify(message.type === "snapshot" ? "all" : message.type);
  }

  takeState(state) {
    this.state = state;
    this.notify("state");
  }

  // One drawing per frame, however many messages came; a hidden tab draws nothing.
  notify(what) {
    this.changed.add(what);
    this.frame ??= requestAnimationFrame(() => {
      const changed = this.changed;
      this.changed = new Set();
      this.frame = null;
      for (const viewer of this.viewers) viewer.show(this.model, changed, this.state);
    });
  }
}

export const liveFeed = new LiveFeed();
