"""What is wrong with a case is said by its key."""

import json
from dataclasses import fields

import pytest

from cep.apps.engine.app_cases import AppCase, AppCaseError, read_case

CASE = {"id": "one", "events": [], "expected": {}}


def problem(line: str) -> str:
    with pytest.raises(AppCaseError) as refused:
        read_case(line)
    return str(refused.value)


@pytest.mark.parametrize("key", [one.name for one in fields(AppCase)])
def test_a_value_of_another_form_is_told_what_belongs_there(key: str) -> None:
    assert problem(json.dumps(CASE | {key: 1.5})).startswith(f"{key}: write ")


@pytest.mark.parametrize("key", sorted(CASE))
def test_what_is_missing_is_told_what_belongs_there(key: str) -> None:
    line = json.dumps({name: value for name, value in CASE.items() if name != key})
    assert problem(line).startswith(f"{key}: is missing; write ")
