// What the user chose on a page, kept for this tab: a change of page or a reload forgets nothing.

export function recall(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // a browser that keeps nothing: the choice holds while the page is open
  }
}
