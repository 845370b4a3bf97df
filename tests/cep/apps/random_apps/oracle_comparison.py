"""A random app in our engine beside what Siddhi gave: equal, refused by both, or different."""

import json
import re
from dataclasses import replace
from typing import Any, Literal

from cep.apps.engine.app_cases import AppCaseError, differences, read_case
from cep.apps.language.errors import AppTextError
from tests.cep.apps.random_apps.random_rows import RandomCase

HANGS = "Siddhi hangs"
JAVA_LIST = re.compile(r"\[((-?[\d.]+(E-?\d+)?|null)(, (-?[\d.]+(E-?\d+)?|null))*)?\]")
Outcome = Literal["equal", "refused", "different"]


def compared(case: RandomCase, answer: dict[str, Any] | None) -> tuple[Outcome, list[str]]:
    """And what differs, in sentences. `answer`: None if Siddhi hangs."""
    if answer is None:
        return "different", [HANGS]
    if "error" in answer:
        return _refused(case, str(answer["error"]))
    expected = {"out": with_lists(answer["out"]), "query": with_lists(answer.get("query", []))}
    try:
        found = differences(read_case(json.dumps(case.line() | {"expected": expected})))
    except (AppTextError, AppCaseError) as error:
        return "different", [f"Siddhi takes it: {error}"]
    return ("different" if found else "equal"), found


def with_lists(answer: Any) -> Any:
    """Return the answer with lists of numbers as lists: the oracle writes them as Java's text, `[1.0, null]`."""
    if isinstance(answer, list):
        return [with_lists(one) for one in answer]
    if isinstance(answer, str) and JAVA_LIST.fullmatch(answer):
        return json.loads(answer)
    return answer


def _refused(case: RandomCase, problem: str) -> tuple[Outcome, list[str]]:
    without_rows = replace(case, events=[]).line() | {"expected": {}}
    try:
        differences(read_case(json.dumps(without_rows)))
    except AppTextError:
        return "refused", []
    return "different", [f"Siddhi refuses it: {problem}"]
