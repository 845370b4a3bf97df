"""Conformance cases as the engine's own cases."""

import json
from typing import Any

from cep.engine.app_cases import differences, read_case

Case = dict[str, Any]


def family_of(case: Case) -> str:
    return str(case["id"].split("/")[0])


def case_differences(case: Case) -> list[str]:
    return differences(read_case(json.dumps(case)))
