// The user this browser is signed in as, shared by all parts of all tabs. Scripts cannot read the cookie itself.

import { ask } from "./requests.js";

class SignedInUser {
  constructor() {
    this.caller = null;
    this.isKnown = false;
    this.listeners = new Set();
    this.tabs = new BroadcastChannel("sign-in");
    this.tabs.onmessage = () => this.refresh();
  }

  // Empty if nobody is signed in.
  get name() {
    return this.caller?.name ?? "";
  }

  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // Ask the server again; without an answer the known caller stays.
  async refresh() {
    const { status, body } = await ask("GET", "/api/caller");
    if (status !== 200 && status !== 401) return;
    this.take(body?.means === "sign-in" ? body : null);
  }

  // null, or why not.
  async signIn(key) {
    const answer = await ask("POST", "/api/sign-in", { key });
    if (!answer.isDone) return answer.body?.detail ?? "The server does not answer. Try again in a moment.";
    this.take(answer.body);
    this.tabs.postMessage("in");
    return null;
  }

  async signOut() {
    const answer = await ask("POST", "/api/sign-out");
    if (!answer.isDone) return "Not signed out: the server does not answer. Try again in a moment.";
    this.take(null);
    this.tabs.postMessage("out");
    return null;
  }

  take(caller) {
    this.caller = caller;
    this.isKnown = true;
    this.listeners.forEach((listener) => listener());
  }
}

export const user = new SignedInUser();
