// The candles of one chart as REST has them: the newest first, older ones when somebody looks for them, and what grows.

import { ask, problemText } from "./requests.js";

export const SECONDS = { "1s": 1, "5s": 5, "15s": 15, "1m": 60, "5m": 300, "15m": 900, "1h": 3600, "4h": 14_400, "1d": 86_400 };
const PAGE = 500;
// More than that behind, as in a tab that was hidden, and a whole page is read.
const FEW = 5;

export class CandleFeed {
  // address: path and query, without interval
  constructor(address, interval) {
    this.address = `${address}&interval=${interval}`;
    this.seconds = SECONDS[interval];
    this.byStart = new Map();
    this.trouble = "";
  }

  // Rows oldest first; `start` in microseconds.
  get rows() {
    this.sorted ??= [...this.byStart.values()].sort((one, other) => one.start - other.start);
    return this.sorted;
  }

  // Return the rows that are new or have changed; the first time all.
  async readNewest() {
    const newest = this.rows.at(-1);
    const behind = newest ? (Date.now() / 1000 - newest.start / 1e6) / this.seconds : Infinity;
    const page = await this.read(behind > FEW ? PAGE : FEW);
    if (!page) return [];
    if (!newest) this.cursor = page.next_cursor;
    return this.take(page.items);
  }

  // Whether older ones came.
  async readOlder() {
    if (!this.cursor || this.isReading) return false;
    this.isReading = true;
    const page = await this.read(PAGE, this.cursor);
    this.isReading = false;
    if (!page) return false;
    this.cursor = page.next_cursor;
    return this.take(page.items).length > 0;
  }

  async read(limit, cursor) {
    const answer = await ask("GET", `${this.address}&limit=${limit}${cursor ? `&cursor=${cursor}` : ""}`);
    this.trouble = answer.isDone ? "" : problemText(answer);
    return answer.isDone ? answer.body : null;
  }

  take(items) {
    const changed = items.filter((item) => JSON.stringify(this.byStart.get(item.start)) !== JSON.stringify(item));
    for (const item of changed) this.byStart.set(item.start, item);
    if (changed.length) this.sorted = null;
    return changed.sort((one, other) => one.start - other.start);
  }
}
