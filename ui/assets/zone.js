// UTC or local: one choice for every time that is shown, kept by the browser.

const KEY = "times";
const listeners = new Set();
let isLocal = read();

export function isLocalTime() {
  return isLocal;
}

export function chooseLocal(value) {
  if (value === isLocal) return;
  isLocal = value;
  try {
    localStorage.setItem(KEY, value ? "local" : "utc");
  } catch {
    // a browser that keeps nothing: the choice holds until the tab is closed
  }
  listeners.forEach((listener) => listener());
}

export function onZone(listener) {
  listeners.add(listener);
}

export function zoneWord() {
  return isLocal ? "local" : "UTC";
}

// "2026-01-31T23:59:59.123" in the chosen zone.
export function isoText(microseconds) {
  const utc = microseconds / 1000;
  const shift = isLocal ? new Date(utc).getTimezoneOffset() * 60_000 : 0;
  return new Date(utc - shift).toISOString().slice(0, 23);
}

function read() {
  try {
    return localStorage.getItem(KEY) === "local";
  } catch {
    return false;
  }
}
