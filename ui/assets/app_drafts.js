// What is typed into an app and not saved yet. It is kept in this browser, also when the tab is closed: a draft is
// dropped only when it was saved, or when the user says so.

const PREFIX = "apps.draft.";
const CASES = "apps.cases.";

export class Drafts {
  constructor(storage = window.localStorage) {
    this.storage = storage;
    this.inMemory = new Map();
    this.isKept = true;
  }

  names() {
    const stored = this.stored(() => Object.keys(this.storage).filter((key) => key.startsWith(PREFIX)), []);
    return [...new Set([...stored.map((key) => key.slice(PREFIX.length)), ...this.inMemory.keys()])].sort();
  }

  // {text, version}: `version` of the stored app that was changed; 0 for one that the server does not have yet.
  get(name) {
    const text = this.inMemory.get(name) ?? this.stored(() => this.storage.getItem(PREFIX + name), null);
    try {
      const draft = JSON.parse(text);
      return typeof draft?.text === "string" ? { version: 0, ...draft } : null;
    } catch {
      return null;
    }
  }

  // `isKept` is false from now on if this browser takes no more: the draft then lives as long as the page.
  keep(name, draft) {
    const text = JSON.stringify(draft);
    this.isKept = this.stored(() => {
      this.storage.setItem(PREFIX + name, text);
      return true;
    }, false);
    if (this.isKept) this.inMemory.delete(name);
    else this.inMemory.set(name, text);
  }

  drop(name) {
    this.inMemory.delete(name);
    this.stored(() => this.storage.removeItem(PREFIX + name), null);
  }

  // Test cases, as they were typed; they stay with the app's name when its text is saved.
  cases(name) {
    return this.stored(() => this.storage.getItem(CASES + name), null) ?? "";
  }

  keepCases(name, text) {
    this.stored(() => (text.trim() ? this.storage.setItem(CASES + name, text) : this.storage.removeItem(CASES + name)), null);
  }

  // Call `listener(name)` when another tab has changed a draft.
  listen(listener) {
    window.addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && listener(key.slice(PREFIX.length)));
  }

  stored(work, otherwise) {
    try {
      return work();
    } catch {
      return otherwise;
    }
  }
}

// The text under another name: in the annotation that names the app, or before the text if it has none.
export function renamed(text, name) {
  const named = /@App:name\s*\(\s*(?:'[^'\n]*'|"[^"\n]*")\s*\)/i;
  return named.test(text) ? text.replace(named, () => `@App:name('${name}')`) : `@App:name('${name}')\n${text}`;
}

// Why an app may not be called so; null if it may. The server decides; this only says so sooner.
export function nameProblem(name, taken) {
  if (!name) return "Give the app a name.";
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)) return "A name begins with a letter and has letters, digits, - and _, 64 at most.";
  return taken.includes(name) ? `There is an app ${name} already.` : null;
}
