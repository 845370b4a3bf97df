"""Conformance cases as the engine's own cases."""

import json
from typing import Any

from cep.apps.engine.app_cases import differences, read_case

Case = dict[str, Any]


def family_of(case: Case) -> str:
    return str(case["id"].split("/")[0])


def outputs_of(case: Case) -> list[str]:
    """Return the oracle listens to a stream of errors also if the app has none."""
    return [name for name in case["outputs"] if name != "Lost" or "insert into Lost" in case["app"]]


def case_differences(case: Case) -> list[str]:
    return differences(read_case(json.dumps(case | {"outputs": outputs_of(case)})))
