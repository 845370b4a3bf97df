// The text of a stream app in CodeMirror: highlighting of both spellings, completion, and mistakes underlined.

import {
  autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, Compartment, completionKeymap, defaultKeymap, drawSelection, EditorState, EditorView,
  highlightActiveLine, highlightActiveLineGutter, highlightSelectionMatches, HighlightStyle, history, historyKeymap, indentOnInput, indentUnit, keymap,
  lineNumbers, lintGutter, lintKeymap, placeholder, search, searchKeymap, setDiagnostics, StreamLanguage, syntaxHighlighting, tags, unifiedMergeView,
} from "/vendor/codemirror/codemirror.js";

const NUMBER = /^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[lLfFdD]?\b/;
const UNIT = /^(millisec(ond)?s?|sec(ond)?s?|min(ute)?s?|hours?|days?|weeks?|months?|years?)\b/i;
const OPERATOR = /^(->|[<>=!]=|[-+*/%<>=#!])/;

// Colours are the page's own, so that both themes are right whichever is on.
const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--line-text)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--warn-text)" },
  { tag: tags.string, color: "var(--good-text)" },
  { tag: tags.number, color: "var(--app-number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.annotation, color: "var(--app-annotation)" },
  { tag: tags.function(tags.variableName), color: "var(--app-function)" },
  { tag: tags.className, color: "var(--text)", fontWeight: "600", textDecoration: "underline dotted" },
  { tag: tags.operator, color: "var(--muted)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--line)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--st-code-font, ui-monospace, SFMono-Regular, Menlo, monospace)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--line) 7%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--line) 26%, transparent)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--line) 22%, transparent)" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--warn) 18%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--ground)", color: "var(--text)", border: "1px solid var(--border)", borderRadius: "6px", maxWidth: "min(34rem, 92vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxHeight: "15em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "color-mix(in srgb, var(--line) 24%, var(--ground))", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": { padding: "6px 10px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-panels": { backgroundColor: "var(--ground)", color: "var(--text)" },
  ".cm-panel input, .cm-panel button": { font: "inherit" },
  ".cm-insertedLine, .cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--good) 13%, transparent) !important" },
  ".cm-deletedChunk": { backgroundColor: "color-mix(in srgb, var(--bad) 13%, transparent)", paddingLeft: "6px" },
  ".cm-insertedLine, .cm-deletedLine, .cm-deletedLine del": { textDecoration: "none" },
  ".cm-changedText": { background: "color-mix(in srgb, var(--good) 30%, transparent) !important" },
  ".cm-deletedText": { background: "color-mix(in srgb, var(--bad) 30%, transparent) !important" },
});

function languageOf(vocabulary) {
  return StreamLanguage.define({
    name: "stream-app",
    startState: () => ({ quiet: "" }),
    token: (stream, state) => tokenOf(stream, state, vocabulary),
    languageData: { commentTokens: { line: "--", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", "[", "{", "'", '"'] } },
  });
}

function tokenOf(stream, state, vocabulary) {
  if (state.quiet) return untilEnd(stream, state);
  if (stream.eatSpace()) return null;
  if (stream.match("--")) return endOfLine(stream);
  for (const [begin, end] of [["/*", "*/"], ['"""', '"""']]) {
    if (stream.match(begin)) {
      state.quiet = end;
      return untilEnd(stream, state);
    }
  }
  if (stream.match(/^'[^']*'?/) || stream.match(/^"[^"]*"?/)) return "string";
  if (stream.match(/^`[^`]*`?/)) return "variableName";
  if (stream.match(/^@\w+(:\w+)?/)) return "annotation";
  if (stream.match(NUMBER)) return "number";
  if (stream.match(UNIT)) return /^\s*[.(=]/.test(rest(stream)) ? wordKind(stream, vocabulary) : "number";
  if (stream.match(/^[A-Za-z_]\w*(:[A-Za-z_]\w*)?/)) return wordKind(stream, vocabulary);
  if (stream.match(OPERATOR)) return "operator";
  stream.next();
  return null;
}

function rest(stream) {
  return stream.string.slice(stream.pos);
}

function endOfLine(stream) {
  stream.skipToEnd();
  return "comment";
}

function untilEnd(stream, state) {
  const kind = state.quiet === "*/" ? "comment" : "string";
  if (stream.skipTo(state.quiet)) {
    stream.match(state.quiet);
    state.quiet = "";
  } else stream.skipToEnd();
  return kind;
}

function wordKind(stream, vocabulary) {
  const word = stream.current();
  const isCalled = /^\s*\(/.test(rest(stream));
  const isMember = stream.string[stream.start - 1] === ".";
  if (isCalled && (word.includes(":") || vocabulary.isFunction(word))) return "variableName.function";
  if (isMember && !isCalled) return "variableName";
  if (vocabulary.words.has(word.toLowerCase())) return "keyword";
  if (vocabulary.typeWords.has(word.toLowerCase())) return "typeName";
  if (vocabulary.ofProduct.has(word)) return "className";
  return isCalled ? "variableName.function" : "variableName";
}

export class AppEditor {
  // acts: changed(text), save(), and for a query run().
  constructor(vocabulary, label, acts = {}, { isShort = false, hint = "" } = {}) {
    this.vocabulary = vocabulary;
    this.acts = acts;
    this.label = label;
    this.isShort = isShort;
    this.hint = hint;
    this.isAllowed = true;
    this.language = new Compartment();
    this.access = new Compartment();
    this.root = document.createElement("div");
    this.root.className = isShort ? "app-editor is-short" : "app-editor";
    this.view = new EditorView({ state: this.stateOf(""), parent: this.root });
  }

  stateOf(text) {
    const complete = (context) => this.vocabulary.complete(context.state.doc.toString(), context.pos, context.explicit);
    const run = (act) => () => {
      act?.();
      return Boolean(act);
    };
    return EditorState.create({
      doc: text,
      extensions: [
        keymap.of([{ key: "Mod-s", run: run(this.acts.save), preventDefault: true }, { key: "Mod-Enter", run: run(this.acts.run) }]),
        this.isShort ? [] : [lineNumbers(), lintGutter(), highlightActiveLineGutter(), search({ top: true })],
        history(), drawSelection(), indentOnInput(), indentUnit.of("    "), bracketMatching(), closeBrackets(), highlightActiveLine(), highlightSelectionMatches(),
        autocompletion({ override: [complete], activateOnTypingDelay: 60, icons: false }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap]),
        syntaxHighlighting(COLOURS), LOOK, placeholder(this.hint),
        this.language.of(languageOf(this.vocabulary)),
        this.access.of(EditorState.readOnly.of(!this.isAllowed)),
        // Tab leaves the editor, as it leaves any other field: who uses the keyboard alone must get out
        EditorView.contentAttributes.of({ "aria-label": this.label, spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
        EditorView.lineWrapping,
        EditorView.updateListener.of((update) => update.docChanged && !this.isSetting && this.acts.changed?.(this.text)),
      ],
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  // Another text, whose history begins here. What is shown already stays as it is, cursor included.
  show(text) {
    if (text === this.text) return;
    this.isSetting = true;
    this.view.setState(this.stateOf(text));
    this.isSetting = false;
  }

  // Whether the text may be changed: not before it is known.
  allow(isAllowed) {
    if (isAllowed === this.isAllowed) return;
    this.isAllowed = isAllowed;
    this.view.dispatch({ effects: this.access.reconfigure(EditorState.readOnly.of(!isAllowed)) });
  }

  // Replace all as one step that can be undone.
  replace(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  // Words and streams are known now, or others than before.
  relearn() {
    this.view.dispatch({ effects: this.language.reconfigure(languageOf(this.vocabulary)) });
  }

  // CodeMirror keeps its style in the part of the page in which it stands.
  enter() {
    const root = this.root.getRootNode();
    if (root !== this.styledIn && (root instanceof ShadowRoot || root === document)) this.view.setRoot(root);
    this.styledIn = root;
    this.view.requestMeasure();
  }

  showMistakes(mistakes) {
    const { doc } = this.view.state;
    const marks = mistakes.map((one) => markOf(doc, one)).sort((a, b) => a.from - b.from);
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  // To a line and column of the server's, from 1.
  goTo({ line, column }) {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const place = Math.min(at.from + Math.max(column - 1, 0), at.to);
    this.view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
    this.view.focus();
  }
}

// A mistake has the place where it begins: the word there is underlined, or the one before the text's end.
function markOf(doc, { line, column, message, nearest }) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
  const word = /^(?:[\w:]+|\S)/.exec(doc.sliceString(from, at.to))?.[0] ?? "";
  const begin = word ? from : Math.max(at.from, from - 1);
  const to = word ? from + word.length : from;
  const mend = (name) => ({ name: `Write ${name}`, apply: (view, a, b) => view.dispatch({ changes: { from: a, to: b, insert: name } }) });
  return { from: begin, to, severity: "error", message, actions: nearest && word ? [mend(nearest)] : [] };
}

// One text against another, to be read.
export class AppDiff {
  constructor(label) {
    this.label = label;
    this.root = document.createElement("div");
    this.root.className = "app-editor app-diff";
  }

  show(before, after, vocabulary) {
    const key = JSON.stringify([before, after]);
    if (key === this.key) return;
    this.key = key;
    this.view?.destroy();
    this.view = new EditorView({
      parent: this.root,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(), EditorView.lineWrapping, EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-label": this.label, tabindex: "0" }),
          unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
          languageOf(vocabulary), syntaxHighlighting(COLOURS), LOOK,
        ],
      }),
    });
    this.enter();
  }

  enter() {
    const root = this.root.getRootNode();
    if (this.view && (root instanceof ShadowRoot || root === document)) this.view.setRoot(root);
  }
}
