// What this tab knows, and the one connection it hears it through: all parts of all pages share both.

import { Connection } from "./connection.js";
import { Model } from "./model.js";
import { onZone } from "./zone.js";

// From one page to the next nobody may listen for a moment: that is no reason to hang up.
const LINGER_MILLISECONDS = 5000;

class LiveFeed {
  constructor() {
    this.model = new Model();
    this.state = "connecting";
    this.viewers = new Set();
    this.news = new Set();
    onZone(() => this.tell("zone"));
  }

  // viewer.show(model, news, state), in an animation frame; `news` has the types of what came since the last one
  // ("state" and "zone" among them), or "all" for who has just come. Returns how to leave.
  join(viewer) {
    this.viewers.add(viewer);
    clearTimeout(this.hangUp);
    this.connection ??= new Connection(
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
    this.tell(message.type === "snapshot" ? "all" : message.type);
  }

  takeState(state) {
    this.state = state;
    this.tell("state");
  }

  // One drawing per frame, however many messages came; a hidden tab draws nothing.
  tell(what) {
    this.news.add(what);
    this.frame ??= requestAnimationFrame(() => {
      const news = this.news;
      this.news = new Set();
      this.frame = null;
      for (const viewer of this.viewers) viewer.show(this.model, news, this.state);
    });
  }
}

export const liveFeed = new LiveFeed();
