// Runs once, before any function of an app. It takes away what differs from run to run or waits without using CPU, and
// freezes everything that functions share, so that a call depends on its arguments alone and leaves nothing behind.
(function () {
  "use strict";
  for (const name of ["Date", "performance", "WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics",
                      "Promise", "queueMicrotask", "setTimeout", "gc", "print", "console"])
    delete globalThis[name];
  delete Math.random;
  // a setter of each keeps what it is given, frozen or not
  delete Error.prepareStackTrace;
  delete Error.stackTraceLimit;
  const seen = new Set();
  function freeze(thing) {
    if ((typeof thing !== "object" && typeof thing !== "function") || thing === null || seen.has(thing)) return;
    seen.add(thing);
    Object.freeze(thing);
    freeze(Object.getPrototypeOf(thing));
    for (const key of Reflect.ownKeys(thing)) {
      const own = Object.getOwnPropertyDescriptor(thing, key);
      freeze(own.value);
      freeze(own.get);
      freeze(own.set);
    }
  }
  // what only syntax reaches
  const generator = function* () {}, waits = async function () {}, both = async function* () {};
  for (const one of [generator, generator(), waits, waits(), both, both(), () => 0, [][Symbol.iterator](),
                     new Map().entries(), new Set().values(), ""[Symbol.iterator](), "a".matchAll(/a/g),
                     [].values().map((each) => each), Iterator.from({ next() {} }),
                     (function () { return arguments; })()])
    freeze(one);
  freeze(globalThis);

  const isArray = Array.isArray, parse = JSON.parse, stringify = JSON.stringify;
  const describe = Object.getOwnPropertyDescriptor, parent = Object.getPrototypeOf;
  const isError = Error.isError, stack = describe(Error.prototype, "stack").get, apply = Reflect.apply;
  const text = (thing, name) => {
    const found = describe(thing, name);
    return found !== undefined && typeof found.value === "string" ? found.value : "";
  };
  // what was thrown as a text, with where on a line of its own; nothing of the function's is called but a proxy's traps
  const described = (thrown) => {
    if (typeof thrown === "symbol") return "a symbol";
    if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return `${thrown}`;
    if (!isError(thrown)) return text(thrown, "message") || "an object";
    return `${text(parent(thrown), "name") || "Error"}: ${text(thrown, "message")}\n${apply(stack, thrown, [])}`;
  };
  const thrownText = (thrown) => {
    try {
      return `T${described(thrown)}`;
    } catch {
      return "Tan object";
    }
  };
  // numbers, texts, truths and null as they are, objects as JSON
  const given = (value, wanted) => {
    if (value === undefined || value === null) return null;
    if (wanted === "object") return stringify(value) ?? null;
    if (typeof value !== wanted) throw `Wa value of type ${isArray(value) ? "array" : typeof value}`;
    if (wanted === "string" && (value.includes("\0") || !value.isWellFormed()))
      throw "Wa text with a character that is none (zero, or half of a pair)";
    return value;
  };
  const evaluate = globalThis.eval, sourceOf = Function.prototype.toString;
  // only texts of ours leave a call, so that nothing of the function's runs once its time is over
  return function (source, wanted) {
    let run;
    try {
      run = evaluate(source);
    } catch (thrown) {
      throw thrownText(thrown);
    }
    if (typeof run !== "function" || apply(sourceOf, run, []) !== source.slice(source.indexOf("(") + 1, -1)) throw "B";
    return function (json, ...values) {
      let value;
      try {
        value = run(json === null ? values : parse(json));
        if (wanted === "object") return given(value, wanted);
      } catch (thrown) {
        throw thrownText(thrown);
      }
      return given(value, wanted);
    };
  };
})();
