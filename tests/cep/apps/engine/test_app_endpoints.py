"""Endpoints that a text declares: what they may be, and that a value is never more than a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.app_endpoints import AppEndpoint, app_endpoints
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.errors import AppTextError
from cep.apps.language.query_parameters import constants_of

TERMS = OperatorTerms()
PARTS = "define stream S (symbol string, bid double); define table P (symbol string, bid double); from S insert into P;"
QUERY = "from P on symbol == {symbol} and bid > {above} select symbol, bid"


def declared(path: str, query: str, more: str = "") -> str:
    return f'@App:endpoint(path = "{path}", query = "{query}") {more} {PARTS}'


def test_an_endpoint_has_a_path_and_typed_parameters() -> None:
    text = declared("/price/{symbol}/{above:double}", QUERY)
    endpoint = AppEndpoint("/price/{symbol}/{above}", QUERY, (("symbol", "string"), ("above", "double")))
    assert app_endpoints(parse_app(text), TERMS) == (endpoint,)


REFUSED = [
    (declared("/../{symbol}/{above:double}", QUERY), "'..' is no part of a path"),
    (declared("/a b/{symbol}/{above:double}", QUERY), "'a b' is no part of a path"),
    (declared("/%2e/{symbol}/{above:double}", QUERY), "'%2e' is no part of a path"),
    (declared("/p/{symbol}/{symbol}", "from P on symbol == {symbol} select bid"), "has a parameter twice"),
    (declared("/p/{symbol:text}", "from P on symbol == {symbol} select bid"), "no parameter type 'text'"),
    (declared("/p", QUERY), "no part of the path has the parameter {above}"),
    (declared("/p/{other}", "from P select bid"), "no part of the query uses the parameter {other}"),
    (declared("/p/{symbol}", "from Q on symbol == {symbol} select bid"), "no table, window or aggregation 'Q'"),
    (declared("/p/{symbol}", "delete P on P.symbol == {symbol}"), "writes to a table; an endpoint only reads"),
    (declared("/p/{symbol:double}", "from P on symbol == {symbol} select bid"), "mistake in its line 1"),
    (declared("/p", "from P select bid", declared("/p", "from P select symbol").replace(PARTS, "")), "two endpoints"),
    (f"@App:endpoint('/p') {PARTS}", "write @App:endpoint(path = "),
]


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_what_cannot_be_an_endpoint_is_said_at_its_annotation(text: str, problem: str) -> None:
    with pytest.raises(AppTextError) as refused:
        app_endpoints(parse_app(text), TERMS)
    assert problem in refused.value.problem
    assert refused.value.at.line == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_value_is_compared_as_it_is_and_changes_no_query(kept: str, asked: str) -> None:
    engine = StreamEngine(parse_app(PARTS))
    engine.send("S", 1, (kept, 2.0))
    engine.send("S", 1, ("x' or 'a' == 'a", 3.0))
    query = parse_on_demand(QUERY, constants_of({"symbol": ("string", asked), "above": ("double", "1")}))
    assert engine.data.ask(query).rows == [
        (one, bid) for one, bid in ((kept, 2.0), ("x' or 'a' == 'a", 3.0)) if one == asked
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("int", text) for text in ("2147483648", "1.5", "", "1_0", "١", "9" * 5_000, "1L")),
        *(("double", text) for text in ("nan", "inf", "1e999", "0x1", "1 ", "1,5")),
        *(("bool", text) for text in ("True", "1", "")),
        ("string", "x" * 1_001),
        ("object", "x"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match="name: "):
        constants_of({"name": (kind, text)})


def test_braces_in_strings_are_no_parameters() -> None:
    engine = StreamEngine(parse_app(PARTS))
    engine.send("S", 1, ("{symbol}", 2.0))
    query = parse_on_demand("from P on symbol == '{symbol}' -- {other}\n select bid", {})
    assert engine.data.ask(query).rows == [(2.0,)]
