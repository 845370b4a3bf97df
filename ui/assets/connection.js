// The WebSocket to our own server: comes back by itself and says what state it is in.

const STALE_MILLISECONDS = 2000;
const RETRY_MILLISECONDS = [500, 1000, 2000, 4000];

export class Connection {
  // onMessage(message), onState("connecting" | "live" | "stale" | "reconnecting")
  constructor(onMessage, onState) {
    this.onMessage = onMessage;
    this.onState = onState;
    this.attempts = 0;
    this.heardAt = 0;
    this.isClosed = false;
    this.watch = setInterval(() => this.checkAge(), 250);
    this.tell("connecting");
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/ws/live`);
    this.socket.onmessage = (event) => {
      this.attempts = 0;
      this.heardAt = performance.now();
      this.tell("live");
      this.onMessage(JSON.parse(event.data));
    };
    this.socket.onclose = () => this.retry();
  }

  retry() {
    if (this.isClosed) return;
    this.tell("reconnecting");
    const delay = RETRY_MILLISECONDS[Math.min(this.attempts, RETRY_MILLISECONDS.length - 1)];
    this.attempts += 1;
    this.timer = setTimeout(() => this.open(), delay);
  }

  // A half-open socket never closes: only silence tells.
  checkAge() {
    if (this.state === "live" && performance.now() - this.heardAt > STALE_MILLISECONDS) this.tell("stale");
  }

  tell(state) {
    if (state === this.state) return;
    this.state = state;
    this.onState(state);
  }

  close() {
    this.isClosed = true;
    clearInterval(this.watch);
    clearTimeout(this.timer);
    this.socket.close();
  }
}
