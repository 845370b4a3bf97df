"""The shared conformance cases in the engine: equal to the oracle's rows, or refused as not supported yet, or listed
here with the reason."""

from collections import Counter

import pytest

from cep.engine.stream_engine import StreamEngine
from cep.language.app_parser import parse_app
from cep.language.language_errors import AppTextError, AppUnsupportedError
from tests.cep.engine.conformance import Case, case_differences, family_of
from tests.cep.language.trees import conformance_cases, conformance_folder

pytestmark = pytest.mark.skipif(conformance_folder() is None, reason="the shared conformance cases are not here")

SORTS_NULL = "the oracle fails on every event once its window `sort` has a null; here null comes last"
CONDITION_OF_NULL = "the oracle fails on and(null) and or(null), and loses the row; here null is false"
NO_MAXIMUM = "the oracle's maximum() of nulls alone is the least double; here it is null"
FORGETS = "the oracle's max() over a named window forgets what it had once an event leaves"
TIME_OF_A_RESET = "the time that a listener to the query is given for a chunk of expired rows alone"
LATER_EQUAL = "the oracle's min() and max() drop a later equal value for one that a better value had replaced before"
INDEX_KEEPS = "the oracle finds a row through an index that it dropped for its primary key"
LOSES_ROWS = "the oracle loses the row that comes after the table's last one was deleted"
ONCE = "the oracle matches `every (not … for … -> …)` once alone"
ORDER_OF_KEYS = "which key of a partition is called first, where one row moves the clock past both"
NOT_UNDERSTOOD = "found, and not understood yet"

DIFFERENT = {
    **dict.fromkeys(("expr_null/008", "expr_null/014", "expr_null/015"), NO_MAXIMUM),
    **dict.fromkeys(("win_timeBatch/001", "win_timeBatch/009", "win_timeBatch/016"), TIME_OF_A_RESET),
    **dict.fromkeys((f"win_sort/{number:03}" for number in (2, 3, 6, 9, 10, 14, 15, 19, 21)), SORTS_NULL),
    **dict.fromkeys((f"agg_andor/{number:03}" for number in (2, 4, 5, 7, 9, 10)), CONDITION_OF_NULL),
    **dict.fromkeys(("agg_avg/003", "agg_unionSet/000", "named_window/014", "join_named_window/006"), SORTS_NULL),
    **dict.fromkeys(("join_windows/027", "join_windows/030", "chain/015", "mixed/008", "mixed/039"), SORTS_NULL),
    **dict.fromkeys(("named_window/008", "mixed/005", "mixed/078"), FORGETS),
    **dict.fromkeys(("table_insert/008", "table_insert/013", "table_upsert/015"), INDEX_KEEPS),
    **dict.fromkeys(("table_delete/001", "table_delete/014"), INDEX_KEEPS),
    **dict.fromkeys((f"table_delete/{number:03}" for number in (0, 5, 7, 10)), LOSES_ROWS),
    **dict.fromkeys(("pattern_not_lead/003", "pattern_not_lead/015"), ONCE),
    **dict.fromkeys(("table_upsert/000", "table_upsert/003", "table_upsert/011"), NOT_UNDERSTOOD),
    **dict.fromkeys(("mixed/076", "mixed/080"), SORTS_NULL),
    **dict.fromkeys(("agg_minmax/001", "mixed/055", "mixed/058", "mixed/089"), LATER_EQUAL),
    "partition_range/005": ORDER_OF_KEYS,
    **dict.fromkeys(("agg_unionSet/006", "join_windows/014", "rate_events/003"), NOT_UNDERSTOOD),
    **dict.fromkeys(("mixed/040", "mixed/047", "mixed/098"), NOT_UNDERSTOOD),
}
WHOLE = (
    *("filter_basic", "filter_bool", "expr_arithmetic", "expr_float", "expr_null", "expr_string", "expr_function"),
    *("expr_logic", "win_length", "win_lengthBatch", "win_time", "win_timeBatch", "win_timeLength", "win_externalTime"),
    *("win_sort", "win_delay", "agg_sum", "agg_avg", "agg_count", "agg_minmax", "agg_stdDev", "agg_distinctCount"),
    *("agg_forever", "agg_andor", "agg_unionSet", "named_window", "join_named_window", "rate_events", "rate_time"),
    *("table_insert", "table_update", "table_upsert", "table_delete", "table_in", "on_demand", "pattern_not_for"),
    *(
        "pattern_not_lead",
        "sequence_basic",
        "sequence_logical",
        "partition_value",
        "partition_range",
        "partition_two",
        "chain",
    ),
)
"""Families of which every case runs."""
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
    assert {name.split("/")[0] for name, found in outcomes.items() if found == "unsupported"} & set(WHOLE) == set()
    return Counter(outcomes.values())


def test_one_case_in_six_is_equal_or_listed() -> None:
    assert check(answered()[::6])["equal"] > 145


@pytest.mark.slow
def test_every_case_that_runs_is_equal_or_listed() -> None:
    assert check(answered())["equal"] > 930


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
