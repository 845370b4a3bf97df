// The newest rows of one stream of an app, kept in order: they come by a WebSocket of their own, and are asked for again
// and again where there is none.

import { appAddress, microseconds } from "./app_states.js";
import { askTicket, socketAddress } from "./connection.js";
import { clockTime } from "./format.js";
import { ask } from "./requests.js";

const ASKED = 200;
const MOST_ROWS = 2000;
// Between two attempts to open the socket, and two questions while it is open: a half-open one never closes.
const SELDOM_MILLISECONDS = 10_000;

export class StreamRows {
  // changed() is called when rows have come by the socket.
  constructor(app, stream, changed = () => {}) {
    this.app = app;
    this.stream = stream;
    this.changed = changed;
    this.askedAt = this.triedAt = -SELDOM_MILLISECONDS;
    this.rows = [];
    this.ids = new Set();
    this.columns = [];
  }

  get address() {
    return appAddress(this.app, `/streams/${encodeURIComponent(this.stream)}`);
  }

  // The server's answer; rows that are new are among `rows` then. Null while an earlier question is not answered, and
  // while the rows come by the socket.
  async poll() {
    this.isResting = false;
    const now = performance.now();
    if (this.isAsking || (this.isLive && now - this.askedAt < SELDOM_MILLISECONDS)) return null;
    this.isAsking = true;
    this.askedAt = now;
    const answer = await ask("GET", `${this.address}?last=${ASKED}`);
    this.isAsking = false;
    if (answer.isDone) this.take(answer.body.rows);
    if (answer.isDone && !this.socket && now - this.triedAt >= SELDOM_MILLISECONDS) this.follow(now);
    return answer;
  }

  // What came before the socket was open is asked for once more then.
  async follow(now) {
    this.triedAt = now;
    const protocols = await askTicket();
    if (!protocols || this.isResting) return;
    const socket = new WebSocket(socketAddress(`${this.address}/live`), protocols);
    this.socket = socket;
    socket.onopen = async () => {
      const answer = await ask("GET", `${this.address}?last=${ASKED}`);
      if (answer.isDone) this.take(answer.body.rows);
      this.isLive = answer.isDone && this.socket === socket;
      this.changed();
    };
    socket.onmessage = ({ data }) => {
      this.take(JSON.parse(data).rows);
      this.changed();
    };
    socket.onclose = () => this.forgetSocket(socket);
  }

  forgetSocket(socket) {
    if (this.socket !== socket) return;
    this.socket = null;
    this.isLive = false;
  }

  // Nobody looks: the next question begins again.
  rest() {
    this.isResting = true;
    const { socket } = this;
    if (!socket) return;
    this.forgetSocket(socket);
    this.triedAt = -SELDOM_MILLISECONDS;
    socket.close();
  }

  take(rows) {
    // a row may come again, also at once: of a process that was killed
    const fresh = [...new Map(rows.map((row) => [row.id, row])).values()].filter(({ id }) => !this.ids.has(id));
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
