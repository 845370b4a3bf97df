// The words of an app's text, for highlighting and completion: no server, no page.

const NAME = "[A-Za-z_][A-Za-z_0-9]*";
const DEFINED = new RegExp(`\\b(?:define|create)\\s+(?:sink\\s+|source\\s+)?(stream|table|store|window|aggregation)\\s+(?:global\\s+|local\\s+)?(${NAME})\\s*(?:with\\s*\\([^()]*\\)\\s*)?(?:\\(([^()]*)\\))?`, "gi");
const INSERTED = new RegExp(`\\binsert\\s+(?:\\w+\\s+events\\s+)?into\\s+[#!]?(${NAME})`, "gi");

// Text without what is in comments and strings; as long as before, so that places stay.
export function bare(text) {
  return text.replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"""[\s\S]*?(?:"""|$)|'[^'\n]*'?|"[^"\n]*"?/g, (part) => part.replace(/[^\n]/g, " "));
}

// Streams and tables that the text itself makes: name → columns [{name, type}].
export function ownStreams(text) {
  const clean = bare(text);
  const found = new Map();
  for (const statement of clean.split(";")) {
    for (const [, , name, columns] of statement.matchAll(DEFINED)) found.set(name, columnsOf(columns ?? ""));
    for (const [, name] of statement.matchAll(INSERTED)) if (!found.get(name)?.length) found.set(name, selectedColumns(statement));
  }
  return found;
}

function columnsOf(text) {
  return text.split(",").map((part) => part.trim().split(/\s+/)).filter(([name, type]) => name && type).map(([name, type]) => ({ name, type }));
}

// `select a, b.c, f(d) as e` → a, c, e. Commas within parentheses separate no columns.
function selectedColumns(statement) {
  const selected = /\bselect\b([\s\S]*?)(?:\b(?:from|group|having|order|limit|offset|output|insert|update|delete)\b|$)/i.exec(statement)?.[1] ?? "";
  const parts = [];
  let depth = 0;
  let begin = 0;
  for (let i = 0; i <= selected.length; i++) {
    const sign = selected[i];
    if (sign === "(") depth++;
    else if (sign === ")") depth--;
    else if ((sign === "," && depth === 0) || i === selected.length) {
      parts.push(selected.slice(begin, i));
      begin = i + 1;
    }
  }
  return parts.map((part) => new RegExp(`(?:\\bas\\s+|^\\s*(?:${NAME}\\s*\\.\\s*)?)(${NAME})\\s*$`, "i").exec(part)?.[1]).filter(Boolean).map((name) => ({ name, type: "" }));
}

// The statement around a place of the text, and where it begins.
export function statementAt(text, place) {
  const clean = bare(text);
  const begin = clean.lastIndexOf(";", place - 1) + 1;
  const end = clean.indexOf(";", place);
  return { begin, text: clean.slice(begin, end < 0 ? clean.length : end) };
}

// Names that stand for a stream within a statement: the streams it reads, and names given to them: name → stream.
export function namesWithin(statement, streams) {
  const found = new Map();
  for (const [name] of statement.matchAll(new RegExp(`\\b${NAME}\\b`, "g"))) if (streams.has(name)) found.set(name, name);
  for (const [, alias, name] of statement.matchAll(new RegExp(`\\b(${NAME})\\s*=\\s*[#!]?(${NAME})\\b(?!\\s*\\()`, "g"))) if (streams.has(name)) found.set(alias, name);
  for (const [, name, alias] of statement.matchAll(new RegExp(`\\b(${NAME})(?:\\s*\\[[^\\]]*\\])?(?:\\s*#\\s*[\\w.:]+\\s*\\([^()]*\\)|\\s+window\\s+[\\w:]+\\s*\\([^()]*\\))?\\s+as\\s+(${NAME})`, "gi"))) {
    if (streams.has(name)) found.set(alias, name);
  }
  return found;
}

// What may stand at a place: {kind: "annotation" | "window" | "stream function" | "stream" | "member" | "type" | "any", from, of}.
export function placeKind(text, place) {
  const { begin, text: statement } = statementAt(text, place);
  const before = statement.slice(0, place - begin);
  const word = /[\w:]*$/.exec(before)[0];
  const from = place - word.length;
  const head = before.slice(0, before.length - word.length);
  if (head.endsWith("@")) return { kind: "annotation", from: from - 1 };
  if (/#\s*window\s*\.\s*$/i.test(head)) return { kind: "window", from, isWorker: false };
  if (/[\w)\]]\s+window\s+$/i.test(head) && !/\b(define|create)\s+window\s+$/i.test(head)) return { kind: "window", from, isWorker: true };
  if (head.endsWith("#")) return { kind: "stream function", from: from - 1 };
  const member = new RegExp(`(${NAME})(?:\\s*\\[[^\\]]*\\])?\\.$`).exec(head);
  if (member) return { kind: "member", from, of: member[1] };
  if (/\binto\s+[#!]?$/i.test(head)) return { kind: "target", from };
  if (/\b(from|join|update|delete|of|in)\s+[#!]?$/i.test(head) || /(->|\bevery\s+(?:\w+\s*=\s*)?|\bnot\s+)$/i.test(head)) return { kind: "stream", from };
  if (/\b(define|create)\b[^(]*\((?:[^()]*,)?\s*\w+\s+$/i.test(head)) return { kind: "type", from };
  return { kind: "any", from };
}
