"""Warnings of what comes often: the first of each kind at once, then one a minute with how many they are."""

import pytest

from cep.apps.hosts.counted_warnings import MOST_KINDS, REPEAT_AFTER, CountedWarnings


def test_of_each_kind_the_first_is_said_at_once_and_the_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [0]
    warnings = CountedWarnings({"topic": "a"}, lambda: now[0])
    for number in range(5):
        warnings.tell("row left out", f"no int: {number}", "no int", offset=number)
    warnings.tell("row left out", "no JSON")
    now[0] = REPEAT_AFTER
    warnings.tell("row left out", "no int: 9", "no int", offset=9)
    said = [(one.message, vars(one)["reason"], vars(one).get("so far")) for one in caplog.records]
    assert said == [
        ("row left out", "no int: 0", None),
        ("row left out", "no JSON", None),
        ("row left out", "no int: 9", 6),
    ]
    assert {vars(one)["topic"] for one in caplog.records} == {"a"}


def test_what_differs_in_a_number_alone_is_of_one_kind(caplog: pytest.LogCaptureFixture) -> None:
    warnings = CountedWarnings({}, lambda: 0)
    for number in (7, 1_000_000):
        warnings.tell("sink waits", f"{number:,} rows were not acknowledged")
    assert len(caplog.records) == 1


def test_kinds_without_end_are_one(caplog: pytest.LogCaptureFixture) -> None:
    warnings = CountedWarnings({}, lambda: 0)
    for number in range(MOST_KINDS * 3):
        warnings.tell("row left out", "x" * number)
    assert len(warnings.counts) == MOST_KINDS + 1
    assert warnings.counts["row left out"] == MOST_KINDS * 2
    assert len(caplog.records) == MOST_KINDS + 1
