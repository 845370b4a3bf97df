// A view that reads what it shows every few seconds, from when its page is entered until it is left, while it is seen.

export class PolledView {
  // `read` is the view's own.
  constructor(milliseconds) {
    this.milliseconds = milliseconds;
  }

  enter() {
    this.timer ??= setInterval(() => document.hidden || this.read(), this.milliseconds);
    this.read();
  }

  leave() {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
