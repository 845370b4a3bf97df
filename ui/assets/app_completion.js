// What the editor offers while a word is typed, each with its documentation.

import { element } from "./elements.js";
import { bare, namesWithin, ownStreams, placeKind, statementAt } from "./app_words.js";

export class AppVocabulary {
  constructor() {
    this.take({ streams: [], actions: [], functions: [], windows: [], annotations: [], keywords: [], types: [], templates: [] });
    this.explained = new Map();
  }

  // The answer of /api/apps/language.
  take(language) {
    this.language = language;
    this.ofProduct = new Map(language.streams.map((stream) => [stream.name, stream]));
    this.acting = new Map(language.actions.map((stream) => [stream.name, stream]));
    this.functions = language.functions.filter(({ name }) => !name.startsWith("#")).map((one) => functionOption(one));
    this.streamFunctions = language.functions.filter(({ name }) => name.startsWith("#")).map((one) => functionOption(one, "function", 50));
    this.annotations = language.annotations.filter(({ text }) => !text.includes("@App:…")).map(annotationOption);
    this.keywords = language.keywords.map((label) => ({ label, type: "keyword", boost: -20 }));
    this.types = language.types.map((label) => ({ label, type: "type" }));
    this.called = new Set(language.functions.map(({ name }) => name.replace("#", "")));
    this.words = new Set(language.keywords);
    this.typeWords = new Set(language.types);
  }

  isFunction(name) {
    return this.called.has(name);
  }

  // What the server has found in a text without mistakes: columns with their types.
  takeExplained(explained) {
    const parts = ["streams", "windows", "tables", "aggregations"].flatMap((kind) => explained?.[kind] ?? []);
    this.explained = new Map(parts.filter((one) => one?.name).map((one) => [one.name, one.columns ?? []]));
  }

  // Every stream that can be read: name → columns.
  streams(text) {
    const own = ownStreams(text);
    for (const [name, columns] of own) if (this.explained.get(name)?.length) own.set(name, this.explained.get(name));
    return new Map([...[...this.ofProduct].map(([name, stream]) => [name, stream.columns]), ...own]);
  }

  // {from, options} or null, as CodeMirror asks for it.
  complete(text, place, isExplicit) {
    if (isWithinQuiet(text, place)) return null;
    const { kind, from, of, isWorker } = placeKind(text, place);
    if (!isExplicit && from === place && kind === "any") return null;
    const options = this.optionsOf(kind, text, place, of, isWorker);
    return options.length ? { from, options, validFor: /^[@#\w:]*$/ } : null;
  }

  optionsOf(kind, text, place, of, isWorker) {
    if (kind === "annotation") return this.annotations;
    if (kind === "window") return this.language.windows.map((one) => windowOption(one, isWorker)).filter(Boolean);
    if (kind === "stream function") return [{ label: "#window.", type: "keyword", detail: "a window of the stream", boost: 60 }, ...this.streamFunctions];
    if (kind === "type") return this.types;
    // a target that is half typed is no stream yet
    const streams = this.streams(kind === "target" ? withoutWord(text, place) : text);
    const within = namesWithin(statementAt(text, place).text, streams);
    if (kind === "member") return columnOptions([[of, streams.get(within.get(of) ?? of) ?? []]]);
    const named = [...streams].map(([name, columns]) => this.streamOption(name, columns));
    if (kind === "stream") return [...named, ...this.keywords];
    if (kind === "target") return [...named, ...this.actionOptions(streams), ...this.keywords];
    const read = [...new Set(within.values())].map((name) => [name, streams.get(name)]);
    return [...columnOptions(read), ...this.functions, ...this.keywords, ...named, ...this.types];
  }

  streamOption(name, columns) {
    const about = (this.ofProduct.get(name) ?? this.acting.get(name))?.description ?? "of this app";
    const list = columns.map((one) => `${one.name} ${one.type}`.trim()).join(", ");
    const detail = this.acting.has(name) ? "acts on the session" : this.ofProduct.has(name) ? "stream of the product" : "stream";
    return { label: name, type: "class", detail, info: () => note(about, list), boost: 5 };
  }

  // Those that the text does not write to yet.
  actionOptions(streams) {
    return [...this.acting.values()].filter(({ name }) => !streams.has(name)).map(({ name, columns }) => this.streamOption(name, columns));
  }
}

// In a comment or a string nothing is offered: `bare` has blanks there.
function isWithinQuiet(text, place) {
  return place > 0 && /\S/.test(text[place - 1]) && bare(text)[place - 1] === " ";
}

function withoutWord(text, place) {
  const word = /[\w:]*$/.exec(text.slice(0, place))[0];
  return text.slice(0, place - word.length) + text.slice(place);
}

function columnOptions(read) {
  const seen = new Map();
  for (const [stream, columns] of read) {
    for (const { name, type } of columns) if (!seen.has(name)) seen.set(name, { label: name, type: "property", detail: `${type} of ${stream}`.trim(), boost: 30 });
  }
  return [...seen.values()];
}

function functionOption(one, type = "function", boost = 0) {
  return {
    label: one.name,
    type,
    detail: `${one.arguments} → ${one.gives}`,
    info: () => note(one.description, one.example),
    apply: withParentheses(one.name, one.arguments),
    boost,
  };
}

function windowOption({ name, worker_name: workerName, arguments: given, description }, isWorker) {
  const label = isWorker ? workerName : name;
  if (!label) return null;
  return { label, type: "function", detail: given, info: () => note(description, `${label}${given}`), apply: withParentheses(label, given) };
}

function annotationOption({ text, place, description }) {
  return { label: text.replace("(…)", ""), type: "keyword", detail: place, info: () => note(description, "") };
}

// Insert the name with its parentheses, the cursor between them; none if they are there already.
function withParentheses(name, given) {
  return (view, _completion, from, to) => {
    const hasOwn = view.state.sliceDoc(to, to + 1) === "(";
    const at = from + name.length + (hasOwn || given === "()" ? (hasOwn ? 1 : 2) : 1);
    view.dispatch({ changes: { from, to, insert: hasOwn ? name : `${name}()` }, selection: { anchor: at }, userEvent: "input.complete" });
  };
}

function note(words, example) {
  return element("div", { class: "app-note" }, element("p", {}, words), example ? element("code", {}, example) : null);
}
