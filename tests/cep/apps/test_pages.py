"""The pages in `docs/apps/`: every example is run, and what they list is what there is."""

import json
import re
import runpy
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from cep.apps.compiler.query import QUERY_AGGREGATORS
from cep.apps.compiler.stream_functions import STREAM_FUNCTIONS
from cep.apps.compiler.value_functions import FUNCTIONS, LIBRARY
from cep.apps.compiler.window_plans import STREAM_WORKER_NAMES, WINDOWS
from cep.apps.engine.app_cases import differences, read_case, same_values
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.formats.case_messages import with_rows
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.functions.signature import NamedFunction
from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.app_parser import parse_app
from tests.cep.apps.page_examples import BLOCK, DocumentedApp, documented_apps, plain, ran, refusal, same_rows

PAGES = Path(__file__).parents[3] / "docs" / "apps"
APPS = [app for page in sorted(PAGES.glob("*.md")) for app in documented_apps(page)]
LIBRARY_BY_NAME = {one.name: one for one in LIBRARY}


@pytest.fixture
def terms(tmp_path: Path) -> OperatorTerms:
    """With the Python that the pages show, each in the file that its first line names."""
    for page in PAGES.glob("*.md"):
        for kind, content in BLOCK.findall(page.read_text()):
            if kind == "python" and content.startswith("# functions/"):
                name = content.splitlines()[0].removeprefix("# functions/")
                (tmp_path / name).write_text(content)
    return OperatorTerms(functions=tmp_path)


@pytest.mark.parametrize("app", APPS, ids=lambda app: f"{app.page}:{app.line}")
def test_an_example_does_what_the_page_says(app: DocumentedApp, terms: OperatorTerms) -> None:
    assert app.texts
    for text in app.texts:
        assert refusal(text, terms) == (app.error or "").strip()
        if app.rows is not None:
            given = ran(text, app.rows, terms)
            assert same_rows(given, app.rows), given


@pytest.mark.parametrize("app", [app for app in APPS if app.page == "recipes.md"], ids=lambda app: f"{app.line}")
def test_a_recipe_can_be_hosted_as_it_is(app: DocumentedApp) -> None:
    (text,) = app.texts
    assert f"@App:name('{app_source(text, 'file').name}')" in text


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_cases_and_python_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    app = ""
    for number, (kind, content) in enumerate(BLOCK.findall(page.read_text())):
        if kind == "sql":
            app = content
        elif kind == "json" and '"events"' in content:
            case = read_case(with_rows(" ".join(content.split()), app, parse_with_product_streams))
            assert case.expected.out
            assert differences(case, app, parse_with_product_streams) == []
        elif kind == "python":
            file = tmp_path / f"{number}.py"
            file.write_text(content)
            runpy.run_path(str(file))


def test_every_test_that_the_features_name_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (PAGES / "features.md").read_text())
    assert len(named) > 80
    root = PAGES.parents[1]
    missing = [(path, name) for path, name in named if f"def {name}(" not in (root / path).read_text()]
    assert missing == []


def test_there_is_an_example_of_every_kind() -> None:
    assert len([app for app in APPS if app.rows is not None]) > 40
    assert any(app.error for app in APPS)
    assert any(len(app.texts) == 2 for app in APPS)


def test_examples_are_not_taken_for_the_same_where_a_row_differs() -> None:
    assert same_rows("0  S 1\n-> 0  O  1.0\n", "0 S 1\n-> 0 O 1.0000001\n")
    assert not same_rows("0 S 1\n-> 0 O 1.0\n", "0 S 1\n-> 0 O 2.0\n")
    assert not same_rows("0 S 1\n-> 0 O 1.0\n", "0 S 1\n-> 1 O 1.0\n")
    assert not same_rows("0 S 1\n-> 0 O 1.0\n", "0 S 1\n")


def rows_of(page: str) -> Iterator[list[str]]:
    """Cells of all rows of tables, without their headings."""
    for line in (PAGES / page).read_text().splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def functions_listed() -> list[list[str]]:
    """Those with an example: signature, type, meaning, example, null."""
    return [row for row in rows_of("functions.md") if len(row) == 5]


def name_in(signature: str) -> str:
    return signature.strip("`# ").partition("(")[0]


def signature_of(one: NamedFunction) -> str:
    words = list(one.parameters)
    if one.is_repeated:
        words[-1] += "…"
    if one.is_optional:
        words[-1] = f"[{words[-1]}]"
    return f"`{one.name}({', '.join(words)})`"


def test_every_function_is_listed_once_with_what_it_takes() -> None:
    listed = [name_in(row[0]) for row in functions_listed()]
    assert sorted(listed) == sorted(FUNCTIONS)
    of_library = {name_in(row[0]): row for row in functions_listed() if name_in(row[0]) in LIBRARY_BY_NAME}
    for name, one in LIBRARY_BY_NAME.items():
        null = "is taken as it is" if one.parameters and one.takes_null else ""
        assert (of_library[name][0], of_library[name][4]) == (signature_of(one), null)


@pytest.mark.parametrize("row", functions_listed(), ids=lambda row: name_in(row[0]))
def test_a_function_gives_what_its_example_says(row: list[str]) -> None:
    found = re.fullmatch(r"`(.*)` is `(.*)`", row[3])
    assert found is not None
    expression, value = found.groups()
    assert f"{name_in(row[0])}(" in expression
    type_, given = value_of(expression)
    assert same_values(given, json.loads(value))
    assert row[1] == type_ or " " in row[1]
    name = name_in(row[0])
    if name in LIBRARY_BY_NAME:
        returns = LIBRARY_BY_NAME[name].returns
        assert row[1] == ("as the first" if returns == "same" else returns)


def value_of(expression: str) -> tuple[str, Any]:
    """Its type, and its value as JSON has it."""
    text = f"define stream S (nothing string); from S select {expression} as v insert into O;"
    engine, came = StreamEngine(parse_app(text), 0, {"region": "eu"}), list[Any]()
    engine.listen("O", lambda _, row: came.append(row[0]))
    engine.send("S", 0, (None,))
    return engine.columns_of("O")[0].type, plain(came[0])


def test_every_aggregator_and_function_of_a_stream_is_listed_once() -> None:
    listed = [
        name for row in rows_of("functions.md") if len(row) in (3, 4) for name in re.findall(r"`(#?[\w:]+)\(", row[0])
    ]
    known = [*QUERY_AGGREGATORS, *(f"#{name}" for name in STREAM_FUNCTIONS)]
    assert sorted(listed) == sorted(known)


def test_every_window_is_listed_and_shown_in_both_spellings() -> None:
    text = (PAGES / "windows.md").read_text()
    table = "".join(takewhile(lambda line: not line.startswith("## "), text.splitlines(keepends=True)))
    examples = "".join(content for kind, content in BLOCK.findall(text) if kind == "sql")
    for name in WINDOWS:
        assert f"`{name}(" in table
        assert f"#window.{name}(" in examples
    for name in STREAM_WORKER_NAMES:
        assert f"`{name}(" in table
        assert f"WINDOW {name}(" in examples
