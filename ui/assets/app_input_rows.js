// Rows as people write them: fields, CSV, or made at random. No page, no server.

const WHOLE = ["int", "long"];
const REAL = ["float", "double"];
const WORDS = ["BTC", "ETH", "SOL", "kraken", "binance", "buy", "sell"];

// What was typed, as the column's type; nothing typed is null. A decimal stays a text: it has all its digits.
export function typed(text, type) {
  const trimmed = text.trim();
  if (!trimmed) return { value: null };
  if (WHOLE.includes(type)) return /^[-+]?\d{1,15}$/.test(trimmed) ? { value: Number(trimmed) } : { problem: "a whole number is expected." };
  if (REAL.includes(type)) return Number.isFinite(Number(trimmed)) ? { value: Number(trimmed) } : { problem: "a number is expected." };
  if (type === "bool") return /^(true|false)$/i.test(trimmed) ? { value: trimmed.toLowerCase() === "true" } : { problem: "true or false is expected." };
  if (type !== "object") return { value: text };
  try {
    return { value: JSON.parse(trimmed) };
  } catch {
    return { problem: "JSON is expected." };
  }
}

// {rows} or {problem}: the first line names columns, in any order; those it leaves out are null.
export function csvRows(text, columns) {
  const lines = text.split(/\r?\n/).map((line, i) => [i + 1, line]).filter(([, line]) => line.trim());
  if (lines.length < 2) return { problem: "CSV has a line with the names of the columns, and a line for each row." };
  const names = cells(lines[0][1]).map((name) => name.trim());
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  const unknown = names.find((name) => !types.has(name));
  if (unknown !== undefined) return { problem: `There is no column ${unknown || "without a name"}; there are ${[...types.keys()].join(", ")}.` };
  const rows = [];
  for (const [number, line] of lines.slice(1)) {
    const values = Object.fromEntries(columns.map(({ name }) => [name, null]));
    const found = cells(line);
    if (found.length !== names.length) return { problem: `Line ${number} has ${found.length} values, and ${names.length} are expected.` };
    for (const [i, name] of names.entries()) {
      const { value, problem } = typed(found[i], types.get(name));
      if (problem) return { problem: `Line ${number}, ${name}: ${problem}` };
      values[name] = value;
    }
    rows.push(values);
  }
  return { rows };
}

// Values between commas; one in double quotes may have commas, and two double quotes for one.
function cells(line) {
  const found = [];
  for (const [, quoted, plain] of `,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)) found.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
  return found;
}

export function randomValue(type) {
  const part = Math.random();
  if (WHOLE.includes(type)) return Math.floor(part * 100);
  if (REAL.includes(type)) return Math.round(part * 1e6) / 1e4;
  if (type === "decimal") return (part * 100).toFixed(4);
  if (type === "bool") return part < 0.5;
  return type === "string" ? WORDS[Math.floor(part * WORDS.length)] : null;
}
