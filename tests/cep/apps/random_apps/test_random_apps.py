"""Random apps in our engine and in Siddhi: equal rows, or a reason."""

from collections import Counter
from pathlib import Path

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from tests.cep.apps.random_apps.oracle_comparison import compared
from tests.cep.apps.random_apps.oracle_defects import reason_for
from tests.cep.apps.random_apps.random_apps import FIRST, random_case
from tests.cep.apps.random_apps.random_rows import RandomCase
from tests.cep.apps.random_apps.siddhi_oracle import SiddhiOracle, missing_part

SEED, APPS = 20261129, 5000
FEWEST_EQUAL = 0.9
QUICK_APPS = 60


def rows_of(case: RandomCase, *, is_fused: bool) -> list[tuple[str, int, tuple[object, ...]]]:
    engine = StreamEngine(parse_app(case.app), is_fused=is_fused)
    rows: list[tuple[str, int, tuple[object, ...]]] = []
    for stream in case.outputs:
        engine.listen(stream, lambda at, row, stream=stream: rows.append((stream, at, row)))  # type: ignore[misc]
    for at, stream, values in case.events:
        engine.send(stream, at, tuple(values))
    return rows


def test_a_number_and_a_seed_give_one_app() -> None:
    assert random_case(1, 7) == random_case(1, 7)
    assert random_case(1, 7) != random_case(2, 7)


def test_random_apps_run_with_the_same_rows_either_way_and_are_of_every_kind() -> None:
    cases = [random_case(SEED, number) for number in range(QUICK_APPS)]
    for case in cases:
        assert repr(rows_of(case, is_fused=True)) == repr(rows_of(case, is_fused=False)), case.app
    assert {case.id.split("/")[0] for case in cases} == set(FIRST)


@pytest.mark.soak
@pytest.mark.skipif(missing_part() is not None, reason=missing_part() or "")
def test_random_apps_give_what_siddhi_gives(tmp_path: Path) -> None:
    oracle = SiddhiOracle(tmp_path)
    oracle.build()
    outcomes: Counter[str] = Counter()
    unexplained: list[tuple[str, list[str]]] = []
    for case, answer in oracle.answers(random_case(SEED, number) for number in range(APPS)):
        outcome, found = compared(case, answer)
        reason = reason_for(case, found) if outcome == "different" else None
        outcomes[outcome if reason is None else reason.reason] += 1
        if outcome == "different" and reason is None:
            unexplained.append((case.id, found))
    assert unexplained == [], outcomes
    assert outcomes["equal"] > FEWEST_EQUAL * APPS, outcomes
