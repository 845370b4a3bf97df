"""The shared conformance cases in the engine: equal to the oracle's rows, or listed here with the reason."""

from collections import Counter

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from tests.cep.apps.engine.conformance import Case, case_differences, family_of
from tests.cep.apps.language.trees import conformance_cases, conformance_folder

pytestmark = pytest.mark.skipif(conformance_folder() is None, reason="the shared conformance cases are not here")

SORTS_NULL = "the oracle fails on every event once its window `sort` has a null; here null comes last"
CONDITION_OF_NULL = "the oracle fails on and(null) and or(null), and loses the row; here null is false"
NO_MAXIMUM = "the oracle's maximum() of nulls alone is the least double; here it is null"
FORGETS = "the oracle's max() over a named window forgets what it had once an event leaves"
LATER_EQUAL = "the oracle's min() and max() drop a later equal value for one that a better value had replaced before"
INDEX_KEEPS = "the oracle finds a row through an index that it dropped for its primary key"
LOSES_ROWS = "the oracle loses the row that comes after the table's last one was deleted"
ONCE = "the oracle matches `every (not … for … -> …)` once alone"
ORDER_OF_KEYS = "which key of a partition is called first, if one row moves the clock past both"
NULL_KEY = "the oracle loses a row whose session key is null"
FORGETS_LARGER = "the oracle's min() and max() forget what a better value came after, though it is still there"
KEEPS_BATCHES = "in a join of current rows alone the oracle's batch windows keep every batch for ever"
LEFT_COMES_LAST = "the oracle loses a match of a pattern that is `a and b` alone if the row of `a` comes last"
BEGINS_ONCE_MORE = "the oracle's `every` begins once more for what a part of `or` completed, when its `within` is over"
CUT_OFF = "the oracle gives only the first of several matches if a `not … and` reads the row that completed them"
REAL_CLOCK = "the oracle's own clock moves this, and not the app's"
FILTERED = "the oracle's aggregations over a filtered stream never have a row"
IGNORES_SET = "the oracle's `update or insert` takes the whole row if its condition is the primary key's, `set` or not"
STAYS = "the oracle's unionSet() keeps for ever what left its set and came again"
CUTS = "the oracle's partition takes a chunk apart, and who reads the stream after it sees the first row alone"
WAITS_BEHIND = "the oracle's window calls its times in the order in which it asked for them, and an early one waits"
NULL_IN_A_SNAPSHOT = "the oracle's snapshot fails if it compares a null"
SELECTED_ALONE = "without keys the oracle's lossyFrequent counts rows by their selected columns alone"


def named(family: str, *numbers: int) -> list[str]:
    return [f"{family}/{number:03}" for number in numbers]


REASONS = {
    NO_MAXIMUM: named("expr_null", 8, 14, 15),
    SORTS_NULL: [
        *named("win_sort", 2, 3, 6, 9, 10, 14, 15, 19, 21),
        *("agg_avg/003", "agg_unionSet/000", "named_window/014", "join_named_window/006", "chain/015"),
        *named("join_windows", 14, 27, 30),
        *named("mixed", 8, 39, 76, 80),
    ],
    CONDITION_OF_NULL: named("agg_andor", 2, 4, 5, 7, 9, 10),
    FORGETS: ["named_window/008", *named("mixed", 5, 78)],
    INDEX_KEEPS: [*named("table_insert", 8, 13), "table_upsert/015", *named("table_delete", 1, 14)],
    LOSES_ROWS: named("table_delete", 0, 5, 7, 10),
    ONCE: named("pattern_not_lead", 3, 15),
    LATER_EQUAL: ["agg_minmax/001", *named("mixed", 55, 58, 89)],
    ORDER_OF_KEYS: ["partition_range/005"],
    NULL_KEY: named("win_session", 1, 17, 20),
    FORGETS_LARGER: [
        *("win_session/002", "win_expression/009", "win_expressionBatch/002"),
        *named("win_frequent", 3, 6),
    ],
    KEEPS_BATCHES: [
        *named("join_windows", 0, 15, 24, 25, 31),
        *named("join_self", 3, 9, 11),
        *named("mixed", 50, 56, 73, 88, 93),
    ],
    LEFT_COMES_LAST: named("pattern_logical", 4, 7, 11, 15),
    BEGINS_ONCE_MORE: named("pattern_logical", 2, 18),
    CUT_OFF: named("pattern_not_and", 2, 6, 10, 14),
    REAL_CLOCK: [*named("trigger_clock", *range(7)), "partition_purge/004"],
    FILTERED: ["aggregation/008"],
    IGNORES_SET: named("table_upsert", 0, 3, 11),
    STAYS: ["agg_unionSet/006"],
    CUTS: named("mixed", 40, 47, 98),
    WAITS_BEHIND: named("win_session", 7, 14),
    NULL_IN_A_SNAPSHOT: ["rate_snapshot/016"],
    SELECTED_ALONE: named("win_lossyFrequent", 5, 8),
}
DIFFERENT = {case: reason for reason, cases in REASONS.items() for case in cases}
REFUSED_BY_THE_ORACLE_ALONE = {"refused/049": "a decimal column: an extension of ours"}


def outcome(case: Case) -> str:
    try:
        found = case_differences(case)
    except AppUnsupportedError:
        return "unsupported"
    return "different" if found else "equal"


def answered() -> list[Case]:
    return [case for case in conformance_cases() if "expected" in case and family_of(case) != "refused"]


def check(cases: list[Case]) -> Counter[str]:
    """How many of the cases have which outcome."""
    outcomes = {case["id"]: outcome(case) for case in cases}
    listed = {name for name in DIFFERENT if name in outcomes}
    assert {name for name, found in outcomes.items() if found == "different"} == listed
    assert [name for name, found in outcomes.items() if found == "unsupported"] == []
    return Counter(outcomes.values())


def test_one_case_in_six_is_equal_or_listed() -> None:
    assert check(answered()[::6])["equal"] > 185


@pytest.mark.slow
def test_every_case_that_runs_is_equal_or_listed() -> None:
    assert check(answered())["equal"] > 1150


def test_what_the_oracle_refuses_is_refused() -> None:
    accepted = []
    for case in conformance_cases():
        if family_of(case) == "refused":
            try:
                StreamEngine(parse_app(case["app"]))
            except AppTextError:
                continue
            accepted.append(case["id"])
    assert set(accepted) == set(REFUSED_BY_THE_ORACLE_ALONE)
