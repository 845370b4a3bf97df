// The newest rows of one stream of an app, asked for again and again and kept in order.

import { appAddress, microseconds } from "./app_states.js";
import { clockTime } from "./format.js";
import { ask } from "./requests.js";

const ASKED = 200;
const MOST_ROWS = 2000;

export class StreamRows {
  constructor(app, stream) {
    this.app = app;
    this.stream = stream;
    this.rows = [];
    this.ids = new Set();
    this.columns = [];
  }

  // The server's answer; rows that are new are among `rows` then. Null while an earlier question is not answered.
  async poll() {
    if (this.isAsking) return null;
    this.isAsking = true;
    const answer = await ask("GET", appAddress(this.app, `/streams/${encodeURIComponent(this.stream)}?last=${ASKED}`));
    this.isAsking = false;
    if (answer.isDone) this.take(answer.body.rows);
    return answer;
  }

  take(rows) {
    const fresh = rows.filter(({ id }) => !this.ids.has(id));
    if (!fresh.length) return;
    for (const row of fresh) this.ids.add(row.id);
    this.rows = [...this.rows, ...fresh].sort((a, b) => a.time - b.time).slice(-MOST_ROWS);
    if (this.ids.size > 2 * MOST_ROWS) this.ids = new Set(this.rows.map(({ id }) => id));
    this.columns = [...new Set([...this.columns, ...fresh.flatMap(({ values }) => Object.keys(values))])];
  }

  get numeric() {
    return this.columns.filter((name) => this.rows.some(({ values }) => isNumeric(values[name])));
  }
}

// Cells of a table, newest first, the time before the columns.
export function cellsOf(rows, columns) {
  return rows.toReversed().map((row) => [clockTime(microseconds(row.time)), ...columns.map((name) => row.values[name])]);
}

// Points of a chart: [seconds, value].
export function pointsOf(rows, column) {
  return rows.filter(({ values }) => isNumeric(values[column])).map(({ time, values }) => [microseconds(time) / 1e6, Number(values[column])]);
}

function isNumeric(value) {
  return typeof value === "number" || (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value));
}
