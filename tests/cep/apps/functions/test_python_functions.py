"""Functions of an app in Python: from the operator's folder alone, and checked."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_limits import FunctionFailedError

STREAM = "define stream S (i int, d double, s string, m decimal);\n"
ROW = (7, 1.5, "x", Decimal("2.5"))
PRICING = """
from decimal import Decimal
from json import dumps

def mid(bid: float, ask: float = 3) -> float:
    return (bid + ask) / 2

def twice(value: Decimal) -> Decimal:
    return value * 2

def joined(*parts: str):
    return "-".join(parts)

def anything(value):
    return value

def fails(value):
    raise KeyError("no\\nsuch")

class NoPriceError(Exception):
    pass

def own_error(value):
    raise NoPriceError("none")

def endless(value):
    return 10**400

def own():
    return [object()]

def circle():
    found = []
    found.append(found)
    return found

def large():
    return 2**63

def numbers():
    return {"a": [1, 2.5, ("x", None)]}

class Whole(int):
    pass

def whole():
    return Whole(3)

def named(*, by_name):
    return by_name
"""


@pytest.fixture
def terms(tmp_path: Path) -> OperatorTerms:
    (tmp_path / "pricing.py").write_text(PRICING)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    (tmp_path / "texts.py").write_text(
        "from __future__ import annotations\ndef f(x: str) -> float: ...\ndef g(x: Nothing) -> float: ...\n"
    )
    return OperatorTerms(functions=tmp_path)


def given(terms: OperatorTerms, named: str, returns: str, call: str) -> Any:
    text = (
        f"{STREAM}define function f[python] return {returns} {{ {named} }};\nfrom S select {call} as x insert into O;"
    )
    engine, rows = StreamEngine(parse_app(text), terms=terms), list[Any]()
    engine.listen("O", lambda _at, row: rows.append(row[0]))
    engine.send("S", 1, ROW)
    return rows[0]


@pytest.mark.parametrize(
    ("named", "returns", "call", "expected"),
    [
        ("pricing.mid", "double", "f(d, i)", 4.25),
        ("pricing.mid;", "double", "f(d)", 2.25),
        ("pricing.twice", "decimal", "f(m)", Decimal("5.0")),
        ("pricing.joined", "string", "f(s, 'y', s)", "x-y-x"),
        ("pricing.anything", "long", "f(i)", 7),
        ("pricing.anything", "string", "f(convert('a', 'int'))", None),
        ("pricing.numbers", "object", "f()", {"a": [1, 2.5, ("x", None)]}),
        ("pricing.whole", "int", "f()", 3),
        ("pricing.anything", "float", "f(0.1)", 0.10000000149011612),
    ],
)
def test_a_function_of_the_folder_is_called(
    terms: OperatorTerms, named: str, returns: str, call: str, expected: Any
) -> None:
    value = given(terms, named, returns, call)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("named", "returns", "call", "problem"),
    [
        ("pricing.fails", "int", "f(i)", r"line 2, column 1: the function f\(\) failed: KeyError: 'no\\nsuch'$"),
        (
            "pricing.anything",
            "int",
            "f(s)",
            r"column 1: the function f\(\) gave a value of type str, which is no int$",
        ),
        ("pricing.anything", "int", "f(i == 7)", "gave a value of type bool, which is no int$"),
        ("pricing.anything", "string", "f(i)", "gave a value of type int, which is no string$"),
        ("pricing.own", "object", "f()", "gave a value of type list, which is no object$"),
        ("pricing.circle", "object", "f()", "failed: RecursionError: "),
        ("pricing.own_error", "int", "f(i)", r"column 1: the function f\(\) failed: NoPriceError: none$"),
        ("pricing.endless", "double", "f(i)", r"column 1: the function f\(\) failed: OverflowError: "),
        ("pricing.large", "long", "f()", "gave a value of type int, which is no long$"),
    ],
)
def test_what_it_cannot_compute_is_one_sentence_with_its_place(
    terms: OperatorTerms, named: str, returns: str, call: str, problem: str
) -> None:
    with pytest.raises(FunctionFailedError, match=problem):
        given(terms, named, returns, call)


@pytest.mark.parametrize(
    ("named", "call", "problem"),
    [
        ("pricing.midd", "f(d)", "pricing.py of the operator has no function 'midd'; did you mean 'mid'"),
        ("pricing.dumps", "f(d)", "pricing.py of the operator has no function 'dumps'"),
        ("pricin.mid", "f(d)", "pricin.py is missing; did you mean 'pricing'"),
        ("broken.f", "f(d)", "broken.py cannot be loaded: SyntaxError: "),
        ("raises.f", "f(d)", "raises.py cannot be loaded: ZeroDivisionError: "),
        ("return 1", "f(d)", "line 2, column 42: a function in Python is named as {file.function}"),
        ("__import__('os').system('x')", "f(d)", "no Python stands in an app"),
        ("..pricing.mid", "f(d)", "no Python stands in an app"),
        ("pricing.named", "f(d)", "needs by_name by name, which no app can give"),
        ("pricing.mid", "f()", r"f\(\) takes 1 to 2 values, and has 0"),
        ("pricing.mid", "f(s)", "takes float or double or int or long here, and this is string"),
        ("texts.f", "f(d)", "takes string here, and this is double"),
        ("texts.g", "f(d)", r"the annotations of texts.g\(\) cannot be read: NameError"),
        ("pricing.twice", "f(d)", "takes decimal here, and this is double"),
    ],
)
def test_mistakes_are_named_before_anything_runs(terms: OperatorTerms, named: str, call: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        given(terms, named, "double", call)


def test_without_a_folder_nothing_is_loaded() -> None:
    with pytest.raises(AppTextError, match="line 2, column 1: there is no folder of functions in Python"):
        given(OperatorTerms(), "pricing.mid", "double", "f(d)")
