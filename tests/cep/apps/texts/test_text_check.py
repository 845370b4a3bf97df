"""All mistakes of a text, each once and at its place, and none that follows from another one."""

import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.hosted_app import app_source
from cep.apps.language.errors import AppTextError
from cep.apps.language.statements import MOST_MISTAKES
from cep.apps.texts.text_check import checked_text
from tests.cep.apps.language.test_mutated_texts import TEXTS, mutations

TERMS = OperatorTerms()
RIGHT = "from quotes[bid > 1.0] select exchange, bid insert into Out;"

CASES = [
    pytest.param(RIGHT, [], id="nothing is wrong"),
    pytest.param(
        "define stream S (a strin);\nfrom quotes select bidd insert into Out;\nfrom quotes select ask insert int Out2;",
        [(1, 20, "string"), (2, 20, "bid"), (3, 31, "into")],
        id="a mistake of each statement, of the grammar or of names",
    ),
    pytest.param(
        "from quotes[bidd > 1.0]#window.lenght(5)\nselect exchange, askk as k, nothing(bid) as n having q > 1\n"
        "insert into Out;",
        [(1, 13, "bid"), (1, 32, "length"), (2, 18, "ask"), (2, 29, None), (2, 54, None)],
        id="several mistakes of one query",
    ),
    pytest.param(
        "from quots select bid insert into A;\nfrom A select b insert into B;\nfrom B select c insert into C;",
        [(1, 6, "quotes")],
        id="who reads what a mistake left undefined makes none",
    ),
    pytest.param(
        "from quotes select bidd as x insert into A;\nfrom A[x > 'a'] select y insert into B;",
        [(1, 20, "bid"), (2, 24, None)],
        id="a column of no known type has its name all the same",
    ),
    pytest.param(
        "partition with (exchange of quotes) begin\nfrom quotes select exhange insert into #In;\n"
        "from #In select x slect insert into A;\nfrom quotes[bid > 'x'] select bid insert into B;\nend;\n"
        "from quotes select base2 insert into D;",
        [(2, 20, "exchange"), (3, 19, None), (4, 13, None), (6, 20, "base")],
        id="in a partition",
    ),
    pytest.param(
        "define table T (x int, x int);\ndefine window W (a int) lengthh(5);\nfrom W select b insert into Out;\n"
        "from quotes select bid insert into T2;\nfrom T2 select bid, 'a' + 1 as z insert into T2;",
        [(1, 17, None), (2, 25, "length"), (3, 15, None), (5, 21, None)],
        id="definitions",
    ),
    pytest.param(
        "@App:limits(keyss = '5')\ndefine function f[perl] return int { 1 };\n"
        "from quotes select f(bid) as x insert into A;",
        [(1, 1, "keys"), (2, 1, None)],
        id="annotations, and functions with who calls them",
    ),
    pytest.param(
        "@sink(type = 'fax')\ndefine stream Out (exchange string, bid double);\n" + RIGHT, [(1, 1, None)], id="a sink"
    ),
    pytest.param("define stream S (a 'open", [(1, 20, None)], id="a string without an end"),
    pytest.param("", [(1, 1, None)], id="nothing"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_every_mistake_is_found_where_it_is(text: str, expected: list[tuple[int, int, str | None]]) -> None:
    checked = checked_text(text, "app", TERMS)
    assert [(one.at.line, one.at.column, one.nearest) for one in checked.mistakes] == expected
    assert (checked.source is None) == bool(expected)


@pytest.mark.parametrize(
    "text",
    [
        "define stream S (a string);\n" * 4_000,
        "(" * 99_000,
        "from quotes[" + "(" * 50_000,
        "partition with (exchange of quotes) begin " * 2_000,
        "define function f[javascript] return int " + "{" * 90_000,
        "'" * 99_999,
        "x" * 10_000_000,
    ],
    ids=["long", "parentheses", "open", "partitions", "braces", "quotes", "10 MB"],
)
def test_a_text_that_is_made_to_cost_much_is_refused_in_a_sentence_or_two(text: str) -> None:
    assert 1 <= len(checked_text(text, "app", TERMS).mistakes) <= 2


def test_many_mistakes_have_an_end() -> None:
    text = "".join(f"from a{number} select x insert into b{number};\n" for number in range(2_000))
    assert len(checked_text(text, "app", TERMS).mistakes) == MOST_MISTAKES


@pytest.mark.parametrize(("count", "seed"), [(40, 1), pytest.param(20_000, 3, marks=pytest.mark.soak)])
def test_a_text_has_mistakes_if_no_host_runs_it(count: int, seed: int) -> None:
    """The first one among them, and each place once."""
    refused = 0
    for text in (*TEXTS, *mutations(count, seed)):
        checked = checked_text(text, "app", TERMS)
        places = [one.at for one in checked.mistakes]
        try:
            app_source(text, "app", (), TERMS)
        except AppTextError as error:
            refused += 1
            is_right = error.at in places and len(set(places)) == len(places)
        else:
            is_right = not places
        # the texts alone, since a comparison of them would be shown for minutes
        assert is_right, text
    assert refused > 0
