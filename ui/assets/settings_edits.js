// Unsaved edits of the settings: each field with its value at the first edit.
// No DOM and no server here: settings come in, the changes to send go out.

const FEES = "taker_fees";
const OPTIONAL = ["exchange_limits", "asset_limits", "asset_thresholds", "pair_thresholds"];
const DECIMAL = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?$/;

// A table's entries each under a name of their own: `taker_fees.EXCHANGE`.
export function flat(settings) {
  const values = {};
  for (const [name, value] of Object.entries(settings)) {
    if (!isTable(value)) values[name] = value;
    else for (const [key, entry] of Object.entries(value)) values[`${name}.${key}`] = isTable(entry) ? JSON.stringify(entry) : entry;
  }
  return values;
}

function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Table and key of an entry that need not be there: without it the general limit holds.
function optionalEntry(name) {
  const table = OPTIONAL.find((one) => name.startsWith(`${one}.`));
  return table && [table, name.slice(table.length + 1)];
}

// One text for each number, however it is written, digit by digit; null if it is not a number.
export function decimal(text) {
  const parts = DECIMAL.exec(String(text).trim());
  if (!parts || !(parts[2] + parts[3])) return null;
  const digits = (parts[2] + parts[3]).replace(/^0+/, "");
  const cut = digits.replace(/0+$/, "");
  if (!cut) return "0";
  const exponent = Number(parts[4] ?? 0) - parts[3].length + digits.length - cut.length;
  return `${parts[1] === "-" ? "-" : ""}${cut}e${exponent}`;
}

// Whether two values mean the same setting: numbers as numbers, exchanges in any order.
export function same(one, other) {
  if (Array.isArray(one) && Array.isArray(other)) return String([...one].sort()) === String([...other].sort());
  const [left, right] = [decimal(one), decimal(other)];
  return left !== null && right !== null ? left === right : String(one).trim() === String(other).trim();
}

// [{name, before, after}] of what differs, the version aside.
export function differences(before, after) {
  const [old, now] = [flat(before), flat(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => name !== "version" && !(name in old && name in now && same(old[name], now[name])))
    .map((name) => ({ name, before: old[name], after: now[name] }));
}

export class Edits {
  // `kept`: edits that another document of this tab left, by field {value, base}.
  constructor(kept = {}) {
    this.settings = null;
    this.values = {};
    this.typed = new Map(Object.entries(kept));
  }

  // Settings of the server; older ones than the known are ignored. An edit that others have made, too,
  // is no change any more; `held` is the field that the user is typing in. False if nothing is new.
  take(settings, held = "") {
    if (this.settings && settings.version <= this.settings.version) return false;
    this.settings = settings;
    this.values = flat(settings);
    for (const [name, edit] of [...this.typed]) {
      if (this.inForce(name) === undefined) this.typed.delete(name);
      else if (same(edit.value, this.inForce(name))) this.land(name, edit, held);
    }
    return true;
  }

  // The value in force; "" for an entry that is not there.
  inForce(name) {
    return this.values[name] ?? (optionalEntry(name) ? "" : undefined);
  }

  // The server's answer, also if its versions restart: another system may run at this address.
  replace(settings, held = "") {
    this.settings = null;
    this.take(settings, held);
  }

  land(name, edit, held) {
    if (name === held) edit.base = this.inForce(name);
    else this.typed.delete(name);
  }

  // Keys of a table that have an edit.
  typedIn(table) {
    return [...this.typed.keys()].filter((name) => name.startsWith(`${table}.`)).map((name) => name.slice(table.length + 1));
  }

  touch(name, value) {
    const base = this.typed.has(name) ? this.typed.get(name).base : this.inForce(name);
    this.typed.set(name, { value, base });
  }

  // The user left the field: an unchanged value is no edit.
  leave(name) {
    const edit = this.typed.get(name);
    if (edit && same(edit.value, this.inForce(name))) this.typed.delete(name);
  }

  clear() {
    this.typed.clear();
  }

  value(name) {
    return this.typed.has(name) ? this.typed.get(name).value : this.inForce(name);
  }

  isTouched(name) {
    return this.typed.has(name) && !same(this.typed.get(name).value, this.inForce(name));
  }

  // Names of the fields that differ from the settings in force.
  get touched() {
    return [...this.typed.keys()].filter((name) => this.isTouched(name));
  }

  // Of these, the fields that somebody else has changed since the edit began here.
  get clashes() {
    return this.touched.filter((name) => !same(this.typed.get(name).base, this.inForce(name)));
  }

  keepOnTop() {
    for (const name of this.clashes) this.typed.get(name).base = this.inForce(name);
  }

  // The body of a PATCH: the touched fields alone; `isNumber(name)` says which are JSON numbers.
  changes(isNumber) {
    const body = {};
    for (const name of this.touched) {
      const { value } = this.typed.get(name);
      const text = Array.isArray(value) ? "" : String(value).trim();
      // an entry without a value is taken away
      const sent = Array.isArray(value) ? value : text && isNumber(name) ? Number(text) : text;
      const entry = optionalEntry(name);
      if (entry) this.putEntry(body, entry, sent);
      else if (name.startsWith(`${FEES}.`)) (body[FEES] ??= {})[name.slice(FEES.length + 1)] = sent;
      else body[name] = sent;
    }
    return body;
  }

  // The server replaces such a table whole.
  putEntry(body, [table, key], sent) {
    body[table] ??= { ...this.settings[table] };
    if (sent === "") delete body[table][key];
    else body[table][key] = sent;
  }

  // By field the values sent now, to know later which were edited again before the answer came.
  sent() {
    return new Map(this.touched.map((name) => [name, this.typed.get(name).value]));
  }

  // `settings` are in force with the values sent: these are no edits any more, unless they were edited again.
  settle(sent, settings) {
    for (const [name, value] of sent) {
      const edit = this.typed.get(name);
      if (!edit) continue;
      if (edit.value === value) this.typed.delete(name);
      else edit.base = flat(settings)[name] ?? (optionalEntry(name) ? "" : undefined);
    }
    this.take(settings);
  }

  kept() {
    return Object.fromEntries(this.typed);
  }
}
