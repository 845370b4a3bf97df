"""A random app in our engine beside what Siddhi gave: equal, refused by both, or different."""

import json
from dataclasses import replace
from typing import Any, Literal

from cep.engine.app_cases import AppCaseError, differences, read_case
from cep.language.language_errors import AppTextError
from tests.cep.random_apps.random_rows import RandomCase

HANGS = "Siddhi hangs"
Outcome = Literal["equal", "refused", "different"]


def compared(case: RandomCase, answer: dict[str, Any] | None) -> tuple[Outcome, list[str]]:
    """And what differs, in sentences. `answer`: None where Siddhi hangs."""
    if answer is None:
        return "different", [HANGS]
    if "error" in answer:
        return _refused(case, str(answer["error"]))
    expected = {"out": answer["out"], "query": answer.get("query", [])}
    try:
        found = differences(read_case(json.dumps(case.line() | {"expected": expected})))
    except (AppTextError, AppCaseError) as error:
        return "different", [f"Siddhi takes it: {error}"]
    return ("different" if found else "equal"), found


def _refused(case: RandomCase, problem: str) -> tuple[Outcome, list[str]]:
    without_rows = replace(case, events=[]).line() | {"expected": {}}
    try:
        differences(read_case(json.dumps(without_rows)))
    except AppTextError:
        return "refused", []
    return "different", [f"Siddhi refuses it: {problem}"]
