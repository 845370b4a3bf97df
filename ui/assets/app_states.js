// An app's address, its state in words, and what may be done in it.

export const STATES = {
  local: ["only in this browser", ""],
  draft: ["not published", ""],
  starting: ["starting", "stale"],
  running: ["running", "live"],
  stopping: ["stopping", "stale"],
  stopped: ["stopped", ""],
  failed: ["failed", "off"],
};

export function appAddress(name, rest = "") {
  return `/api/apps/${encodeURIComponent(name)}${rest}`;
}

export function stateWords(state) {
  return STATES[state]?.[0] ?? String(state);
}

export function stateClass(state) {
  return `pill ${STATES[state]?.[1] ?? "stale"}`;
}

export function mayStop(state) {
  return ["starting", "running", "failed"].includes(state);
}

export function mayStart(state) {
  return state === "stopped";
}

export function mayDelete(state) {
  return ["local", "draft", "stopped", "failed"].includes(state);
}

// A time of the server: REST has microseconds, rows of the topic `apps` have milliseconds.
export function microseconds(time) {
  return time > 1e14 ? time : time * 1000;
}

// A rate as short as readable.
export function rateWords(rate) {
  if (rate === null || rate === undefined) return "";
  return `${rate >= 100 || rate === 0 ? Math.round(rate).toLocaleString("en-US") : rate.toLocaleString("en-US", { maximumSignificantDigits: 2 })}/s`;
}
