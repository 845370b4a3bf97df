"""Functions of an app in JavaScript: what they see, what they may not, and how they are ended."""

from typing import Any

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_limits import AppLimitError, AppLimits, FunctionFailedError

STREAM = "define stream S (i int, l long, d double, s string, b bool, o object);\n"
ROW = (7, 2**40, 1.5, "é", True, {"a": [1, "x"]})
ONE = "define function f[javascript] return int { return 1; }; "
TERMS = OperatorTerms(limits=AppLimits(script_seconds=0.05, script_bytes=4_000_000))


def engine_of(body: str, returns: str, call: str) -> tuple[StreamEngine, list[Any]]:
    function = f"define function f[javascript] return {returns} {{{body}}};"
    text = f"{STREAM}{function}\nfrom S select {call} as x insert into O;"
    engine, rows = StreamEngine(parse_app(text), terms=TERMS), list[Any]()
    engine.listen("O", lambda _at, row: rows.append(row[0]))
    return engine, rows


def given(body: str, returns: str, call: str) -> Any:
    engine, rows = engine_of(body, returns, call)
    engine.send("S", 1, ROW)
    return rows[0]


@pytest.mark.parametrize(
    ("body", "returns", "call", "expected"),
    [
        (" return data[0] + data[1]; ", "double", "f(d, i)", 8.5),
        (" return data[0] + data[1]; ", "long", "f(l, i)", 2**40 + 7),
        (" return data[0] + '}' + data.length; ", "string", "f(s, b, d)", "é}3"),
        (" return !data[0]; ", "bool", "f(b)", False),
        (" return data[0] === null; ", "bool", "f(convert('x', 'int'))", True),
        ("", "int", "f()", None),
        (" return data[0].a.concat(data[1]); ", "object", "f(o, 2)", [1, "x", 2]),
        (" return data[0].length; ", "int", "f(createSet(s))", 1),
        (" return typeof Date + typeof Math.random + typeof Atomics + typeof performance; ", "string", "f()",
         "undefined" * 4),
        (" /* } */ return f2(1); function f2(x) { return x + 1; } // }\n", "int", "f()", 2),
    ],
)  # fmt: skip
def test_a_function_gives_what_it_computes(body: str, returns: str, call: str, expected: Any) -> None:
    assert given(body, returns, call) == expected


def test_the_other_spelling_and_a_call_before_the_definition() -> None:
    text = """CREATE STREAM S (d double);
    INSERT INTO O SELECT twice(d) + sum(twice(d)) AS x FROM S[twice(d) > 2] GROUP BY d;
    CREATE FUNCTION twice[javascript] RETURN double { return 2 * data[0]; };
    define table T (d double);
    from S select twice(d) as d insert into T;"""
    engine, rows = StreamEngine(parse_app(text), terms=TERMS), list[Any]()
    engine.listen("O", lambda _at, row: rows.append(row))
    for value in (1.0, 2.0):
        engine.send("S", 1, (value,))
    assert rows == [(8.0,)]
    assert engine.data.ask(parse_on_demand("from T select twice(d) as x order by x;")).rows == [(4.0,), (8.0,)]


@pytest.mark.parametrize(
    ("body", "returns", "problem"),
    [
        # both have setters of the engine's own, which keep what they are given in a frozen object too
        (" Error.stackTraceLimit = 1; return 1; ", "int", "TypeError: object is not extensible"),
        (" Error.prepareStackTrace = () => 1; return 1; ", "int", "TypeError: object is not extensible"),
        (" throw new Error('bad');", "int", r"line 2, column 1: the function f\(\) failed at line 2, column 54: Error"),
        ("\n\n data[9].x;", "int", r"failed at line 4, column 2: TypeError: cannot read property 'x' of undefined$"),
        # places in no text of the app: of lockdown.js, of what is parsed, of what is evaluated
        (" const a = {}; a.a = a; return a; ", "object", r"f\(\) failed: TypeError: circular reference$"),
        ("\n return JSON.parse('\\n\\n{'); ", "int", r"failed at line 3, column 14: SyntaxError: "),
        ("\n\n return eval('null.x'); ", "int", r"failed at line 4, column 9: TypeError: "),
        ("\n throw new Error('<input>:7:7'); ", "int", r"failed at line 3, column 12: Error: <input>:7:7$"),
        (" throw 'plain';", "int", r"f\(\) failed: plain$"),
        (" throw {toString() { for (;;) {} }};", "int", r"f\(\) failed: an object$"),
        (" throw new Proxy({}, {getPrototypeOf() { throw {toString() { for (;;) {} }}; }});", "int",
         "failed: an object$"),
        (" return 'x';", "int", r"gave a value of type string, which is no int$"),
        (" return 1.5;", "int", r"gave 1.5, which is no int$"),
        (" return 2 ** 31;", "int", r"gave 2147483648, which is no int$"),
        (" return NaN;", "long", r"gave nan, which is no long$"),
        (" return 1n;", "double", r"gave a value of type bigint"),
        (" return [1];", "string", r"gave a value of type array"),
        (r" return 'a\0b';", "string", r"gave a text with a character that is none"),
        (" x = 1;", "int", r"ReferenceError: x is not defined$"),
        (" globalThis.x = 1;", "int", "object is not extensible$"),
        (" Array.prototype.x = 1;", "int", "object is not extensible$"),
        (" (function* () {}).constructor.prototype.x = 1;", "int", "object is not extensible$"),
        (" f.x = 1;", "int", "f is not defined$"),
        (" return (function g() { return g() + 1; })();", "int", "Maximum call stack size exceeded$"),
        (" let a = {}; a.a = a; return a;", "object", "circular reference$"),
    ],
)  # fmt: skip
def test_what_it_cannot_compute_is_one_sentence_with_its_place(body: str, returns: str, problem: str) -> None:
    with pytest.raises(FunctionFailedError, match=problem):
        given(body, returns, "f()")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("f(l * 10000L)", "cannot be given 10995116277760000"),
        (r"f(convert(o, 'string'), o, l * 10000L)", "such a value"),
    ],
)
def test_a_number_that_javascript_has_not_is_not_rounded(call: str, problem: str) -> None:
    with pytest.raises(FunctionFailedError, match=problem):
        given(" return 1;", "int", call)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (" for (;;) {}", "took more than 0.05 s of CPU in one call"),
        (" try { for (;;) {} } catch (e) { return 1; }", "took more than 0.05 s of CPU in one call"),
        (" return /(a+)+$/.test('a'.repeat(40) + 'b') ? 1 : 0;", "took more than 0.05 s of CPU in one call"),
        (" const a = []; for (;;) a.push('x'.repeat(100000) + a.length);", "took more than 4,000,000 bytes of memory"),
        (" return 'x'.repeat(1e9).length;", "took more than 4,000,000 bytes of memory"),
    ],
)
def test_what_never_returns_or_eats_memory_ends_the_app(body: str, problem: str) -> None:
    engine, _ = engine_of(body, "int", "f()")
    with pytest.raises(AppLimitError, match=rf"^line 2, column 1: the function f\(\) {problem}[^\n]*$"):
        engine.send("S", 1, ROW)


def test_a_failure_goes_where_the_stream_says_but_a_limit_ends_the_app() -> None:
    text = f"""@OnError(action = 'stream') {STREAM}
    define function f[javascript] return int {{ if (data[0] > 7) for (;;) {{}} throw 'bad'; }};
    from S select f(i) as x insert into O; from !S select _error insert into E;"""
    engine, errors = StreamEngine(parse_app(text), terms=TERMS), list[Any]()
    engine.listen("E", lambda _at, row: errors.append(row))
    engine.send("S", 1, ROW)
    assert errors == [("line 3, column 5: the function f() failed: bad",)]
    with pytest.raises(AppLimitError):
        engine.send("S", 2, (8, *ROW[1:]))


def test_a_call_leaves_nothing_behind() -> None:
    body = " function g() {} g.n = (g.n ?? 0) + 1; const m = [1, 2]; m.push(data[0]); return g.n + m.length; "
    engine, rows = engine_of(body, "int", "f(i)")
    for at in range(3):
        engine.send("S", at, ROW)
    assert rows == [4, 4, 4]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("define function f[javascript] return int {\n  return 1 +;\n};", "line 3, column 13: this is no JavaScript: "),
        ("define function f[javascript] return int { return 1 +; };", "line 2, column 5[0-9]: this is no JavaScript: "),
        ("define function f[javascript] return decimal { return 1; };", "JavaScript's numbers are doubles"),
        ("define function f[r] return int { 1 };", "functions in r are not supported: there are javascript and python"),
        ("define function sum[javascript] return int { return 1; };", r"there is a function sum\(\) already"),
        (ONE + ONE,
         "there are two functions 'f'"),
        ("define function f[javascript] return int { return /[{]/ }); let n = 0; (function (data) { return /[}]/ };",
         "line 2, column 43: the function's body ends before its last brace"),
        ("define function f[javascript] return int { return /[{]/ }); throw {toString() { for (;;) {} }}; "
         "(function (data) { return /[}]/ };",
         "this is no JavaScript: "),
        (f"{ONE}define stream D (m decimal); from D select f(m) as x insert into O;",
         r"line 2, column 102: f\(\) takes string or .* here, and this is decimal"),
        (f"{ONE}from S select g(i) as x insert into O;",
         r"there is no function g\(\)"),
    ],
)  # fmt: skip
def test_mistakes_are_named_before_anything_runs(text: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        StreamEngine(parse_app(STREAM + text), terms=TERMS)
