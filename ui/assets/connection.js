// The WebSocket to our own server: reconnects by itself and reports its state.

const STALE_MILLISECONDS = 2000;
// A half-open socket may come back; after this long a silence it is replaced.
const DEAD_MILLISECONDS = 8000;
// Short enough that a page is live again within three seconds of when it can be; the spread keeps tabs apart.
const RETRY_MILLISECONDS = [250, 500, 1000, 1500];
const SPREAD = 0.3;
const TICKET_MILLISECONDS = 3000;

export function socketAddress(path) {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${path}`;
}

// The subprotocols that hold a ticket; null if there is none now. Each connection needs one of its own, valid once and
// for half a minute: a browser cannot send a key there.
export async function askTicket(onSignedOut = () => {}) {
  try {
    const signal = AbortSignal.timeout(TICKET_MILLISECONDS);
    const answer = await fetch("/api/tickets", { method: "POST", signal });
    if (answer.status === 401) onSignedOut();
    return answer.ok ? (await answer.json()).protocols : null;
  } catch {
    return null;
  }
}

export class Connection {
  // onMessage(message), onState("connecting" | "live" | "stale" | "reconnecting")
  // base: the asset whose quotes are wanted; "" for the session's first
  constructor(base, onMessage, onState) {
    this.base = base;
    this.onMessage = onMessage;
    this.onState = onState;
    this.attempts = 0;
    this.heardAt = 0;
    this.isClosed = false;
    this.check = () => this.checkAge();
    this.watch = setInterval(this.check, 250);
    // timers of a hidden tab sleep: it must not show an old "live" when it is opened again
    document.addEventListener("visibilitychange", this.check);
    this.setState("connecting");
    this.open();
  }

  async open() {
    const protocols = await askTicket(() => this.leave());
    if (this.isClosed) return;
    if (!protocols) {
      this.retry();
      return;
    }
    // the last message received: trades that this page missed since then come with the snapshot
    const since = this.heard === undefined ? "" : `&since=${this.heard}`;
    const asked = this.base;
    this.socket = new WebSocket(socketAddress(`/ws/live?base=${encodeURIComponent(asked)}${since}`), protocols);
    this.socket.onopen = () => {
      if (this.base !== asked) this.choose(this.base);
    };
    this.socket.onmessage = (event) => {
      this.attempts = 0;
      this.heardAt = performance.now();
      this.setState("live");
      const message = JSON.parse(event.data);
      this.heard = message.sequence ?? this.heard;
      this.onMessage(message);
    };
    this.socket.onclose = () => this.retry();
  }

  // Another asset: its markets come with a snapshot.
  choose(base) {
    this.base = base;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ base }));
  }

  // Reading needs a key here, and the sign-in is over.
  leave() {
    this.close();
    location.assign(`/sign-in?next=${encodeURIComponent(location.pathname)}`);
  }

  retry() {
    if (this.isClosed) return;
    this.setState("reconnecting");
    const step = RETRY_MILLISECONDS[Math.min(this.attempts, RETRY_MILLISECONDS.length - 1)];
    const delay = step * (1 + SPREAD * Math.random());
    this.attempts += 1;
    this.timer = setTimeout(() => this.open(), delay);
  }

  // A half-open socket never closes: only its silence shows it.
  checkAge() {
    const silence = performance.now() - this.heardAt;
    if (this.state === "live" && silence > STALE_MILLISECONDS) this.setState("stale");
    if (this.state === "stale" && silence > DEAD_MILLISECONDS) this.drop();
  }

  // Do not wait for the other side to close: it may never get our close.
  drop() {
    this.socket.onclose = this.socket.onmessage = this.socket.onopen = null;
    this.socket.close();
    this.retry();
  }

  setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.onState(state);
  }

  close() {
    this.isClosed = true;
    clearInterval(this.watch);
    document.removeEventListener("visibilitychange", this.check);
    clearTimeout(this.timer);
    this.socket?.close();
  }
}
