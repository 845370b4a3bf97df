// Streams of apps that this browser shows on Live: chosen under Rows on the page Apps.

const KEY = "apps.pins";
const MOST = 6;

class Pins {
  constructor() {
    this.listeners = new Set();
    window.addEventListener("storage", ({ key }) => key === KEY && this.notify());
  }

  // [{app, stream, column}], `column` "" for no chart
  get all() {
    try {
      const found = JSON.parse(localStorage.getItem(KEY));
      return Array.isArray(found) ? found.filter(({ app, stream }) => app && stream) : [];
    } catch {
      return [];
    }
  }

  has(app, stream) {
    return this.all.some((one) => one.app === app && one.stream === stream);
  }

  column(app, stream) {
    return this.all.find((one) => one.app === app && one.stream === stream)?.column ?? "";
  }

  get isFull() {
    return this.all.length >= MOST;
  }

  // `column` null: not shown any more.
  put(app, stream, column) {
    const others = this.all.filter((one) => one.app !== app || one.stream !== stream);
    try {
      localStorage.setItem(KEY, JSON.stringify(column === null ? others : [...others, { app, stream, column }]));
    } catch {
      // a browser that keeps nothing shows nothing on Live
    }
    this.notify();
  }

  notify() {
    for (const listener of this.listeners) listener();
  }

  listen(listener) {
    this.listeners.add(listener);
  }
}

export const pins = new Pins();
