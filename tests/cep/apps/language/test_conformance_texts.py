"""Every text of the shared conformance cases is of the language, but those that Siddhi itself cannot read."""

from typing import Any

import pytest

from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.errors import AppTextError
from tests.cep.apps.language.trees import conformance_cases, conformance_folder

pytestmark = pytest.mark.skipif(conformance_folder() is None, reason="the shared conformance cases are not here")
ONE_IN = 12
NOT_OF_THE_LANGUAGE = {
    "select symbol bid insert into",
    "select (bid +",
    "form Feed",
    "Feed[bid > 7 select",
    "every a=Feed, select",
    "a=Feed<3:1",
    "output every",
    "every fortnight",
    "select 'open",
    "from Feed insert Out",
}


def problems(cases: list[dict[str, Any]]) -> list[str]:
    found = []
    for case in cases:
        try:
            parse_app(case["app"])
            for text in case.get("on_demand", []):
                parse_on_demand(text)
        except AppTextError as error:
            found.append(f"{case['id']}: {error}")
    return found


def accepted() -> list[dict[str, Any]]:
    return [case for case in conformance_cases() if not case["id"].startswith("refused")]


def test_one_in_twelve_is_read() -> None:
    cases = accepted()[::ONE_IN]

    assert len(cases) > 100
    assert problems(cases) == []


@pytest.mark.soak
def test_all_are_read() -> None:
    assert problems(accepted()) == []


def test_mistakes_of_spelling_are_found_by_the_parser() -> None:
    refused = [case for case in conformance_cases() if case["id"].startswith("refused")]
    misspelt = [case for case in refused if any(words in case["app"] for words in NOT_OF_THE_LANGUAGE)]

    assert len(misspelt) >= 8
    assert len(problems(misspelt)) == len(misspelt)
