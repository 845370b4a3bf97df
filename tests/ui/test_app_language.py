"""The editor's words, held to the engine: what is offered exists, and nothing that exists is missing."""

import httpx
import pytest

from cep.apps.compiler.query import QUERY_AGGREGATORS
from cep.apps.compiler.stream_functions import STREAM_FUNCTIONS
from cep.apps.compiler.value_functions import FUNCTIONS
from cep.apps.compiler.window_plans import STREAM_WORKER_NAMES, WINDOWS
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.product_streams import PRODUCT_STREAMS, parse_with_product_streams
from cep.apps.language.grammar_parser import terminals
from session.app_actions import COLUMNS
from ui.apps.app_halts import STREAM as HALTS
from ui.language.app_language import app_language
from ui.rows.app_language import AppTemplateRow

LANGUAGE = app_language()


def test_streams_have_the_columns_that_the_engine_gives_them() -> None:
    offered = {
        one["name"]: [(column["name"], column["type"]) for column in one["columns"]] for one in LANGUAGE["streams"]
    }
    assert offered == {
        name: [(column.name, column.type) for column in one.columns] for name, one in PRODUCT_STREAMS.items()
    }


def test_streams_that_act_have_the_columns_that_are_read() -> None:
    offered = {one["name"]: [column["name"] for column in one["columns"]] for one in LANGUAGE["actions"]}
    assert offered == {name: list(columns) for name, columns in COLUMNS.items()} | {HALTS: ["exchange"]}
    for one in LANGUAGE["actions"]:
        defined = ", ".join(f"{column['name']} {column['type']}" for column in one["columns"])
        StreamEngine(parse_with_product_streams(f"define stream {one['name']} ({defined});"))
        assert one["description"]


def test_every_function_aggregator_and_function_of_a_stream_is_explained() -> None:
    names = sorted(one["name"] for one in LANGUAGE["functions"])
    assert names == sorted([*FUNCTIONS, *QUERY_AGGREGATORS, *(f"#{name}" for name in STREAM_FUNCTIONS)])
    assert all(one["description"] and one["arguments"].startswith("(") for one in LANGUAGE["functions"])


def test_every_window_is_explained_in_both_spellings() -> None:
    assert sorted(one["name"] for one in LANGUAGE["windows"]) == sorted(WINDOWS)
    assert {one["worker_name"] for one in LANGUAGE["windows"] if one["worker_name"]} == set(STREAM_WORKER_NAMES)


def test_keywords_are_those_of_the_grammar() -> None:
    words = [name.strip("_").lower() for name in terminals() if name.startswith("_") and name.strip("_").isalpha()]
    assert set(words) <= set(LANGUAGE["keywords"])
    assert not set(LANGUAGE["keywords"]) & set(LANGUAGE["types"])


@pytest.mark.parametrize("template", LANGUAGE["templates"], ids=lambda one: one["name"])
def test_a_template_compiles_and_says_what_it_is(template: AppTemplateRow) -> None:
    StreamEngine(parse_with_product_streams(template["text"]), 0, {"region": "eu"})
    assert template["description"].endswith(".")
    assert template["cases"]


async def test_it_is_read_by_everybody_who_may_read(api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/apps/language")).raise_for_status().json() == LANGUAGE
