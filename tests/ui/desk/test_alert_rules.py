"""What an alert rule says, on series drawn by hand and against a plain reckoning of every window."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ui.desk.alert_rules import (
    LOOK_SECONDS,
    AlertRule,
    Firing,
    How,
    Samples,
    WantedRule,
    condition,
    firings,
    is_of_rule,
    looks_needed,
    looks_of,
    seen_by,
    value_words,
    windowed,
)

METRIC = "arbitrage_feed_age_seconds"
KEY = (METRIC, (("exchange", "kraken"), ("symbol", "BTC/USD")))
SAMPLES = st.lists(st.none() | st.integers(0, 9).map(float), max_size=40)


def rule(**changes: object) -> AlertRule:
    made: dict[str, object] = {"name": "old", "metric": METRIC, "threshold": 10, "window_seconds": 30}
    made |= {"rule_id": "1", "made_by": "owner", "made_at": 1}
    return AlertRule.model_validate(made | changes)


@pytest.mark.parametrize(
    ("how", "samples", "expected"),
    [
        ("now", [1, None, 3], [1, None, 3]),
        # of the look itself and the two before it
        ("mean", [1, 3, None, 5, 7, 9], [1, 2, 2, 4, 6, 7]),
        ("highest", [5, 1, 2, 3, None, None, None], [5, 5, 5, 3, 3, 3, None]),
        ("lowest", [1, 5, 4, 3], [1, 1, 1, 3]),
        ("change", [10, 12, 9, None, 4, 4], [None, 2, -1, None, -5, 0]),
        # a counter that starts again at 0 lost nothing
        ("increase", [10, 12, 1, 4], [None, 2, 3, 4]),
        ("increase", [5, None, 9], [None, None, 4]),
    ],
)
def test_a_window_is_of_the_look_and_those_before_it(how: How, samples: Samples, expected: Samples) -> None:
    assert windowed(how, samples, 2) == expected


def plainly(how: How, samples: Samples, width: int, look: int) -> float | None:
    window = samples[max(0, look - width) : look + 1]
    known = [one for one in window if one is not None]
    match how:
        case "now":
            return samples[look]
        case "mean":
            return sum(known) / len(known) if known else None
        case "lowest":
            return min(known, default=None)
        case "highest":
            return max(known, default=None)
        case "change":
            return known[-1] - known[0] if samples[look] is not None and len(known) > 1 else None
        case "increase":
            steps = [after - before if after >= before else after for before, after in pairwise(known)]
            return sum(steps) if samples[look] is not None and len(known) > 1 else None


@pytest.mark.parametrize("how", ["now", "mean", "lowest", "highest", "change", "increase"])
@given(samples=SAMPLES, width=st.integers(0, 12))
def test_every_window_is_as_a_plain_reckoning_of_it(how: How, samples: list[float | None], width: int) -> None:
    found = windowed(how, samples, width)
    assert found == pytest.approx([plainly(how, samples, width, look) for look in range(len(samples))])


def test_it_fires_once_it_held_for_so_long_and_what_is_not_known_ends_it() -> None:
    lasting = rule(how="now", for_seconds=2 * LOOK_SECONDS)
    #          0   1   2   3   4   5     6   7   8   9
    samples = [11, 12, 13, 14, 10, None, 11, 11, 11, None]
    assert firings(lasting, samples) == [Firing(2, 3), Firing(8, 8)]
    assert firings(rule(how="now"), samples) == [Firing(0, 3), Firing(6, 8)]
    assert firings(rule(how="now", direction="below", threshold=11), samples) == [Firing(4, 4)]
    assert firings(lasting, []) == []


@given(SAMPLES, st.integers(0, 5), st.integers(0, 5), st.sampled_from(["mean", "highest", "increase", "now"]))
def test_what_it_says_now_is_what_the_whole_day_says_of_its_end(
    samples: list[float | None], width: int, lasting: int, how: How
) -> None:
    made = rule(how=how, threshold=4, window_seconds=width * LOOK_SECONDS, for_seconds=lasting * LOOK_SECONDS)
    newest = samples[-looks_needed(made) :]
    # the steps of a counter before its window's first look are in no window
    whole, now = firings(made, samples), firings(made, newest)
    is_now = [bool(found) and found[-1].last == len(of) - 1 for found, of in ((whole, samples), (now, newest))]
    assert is_now[0] == is_now[1]


def test_what_it_says_has_series_value_and_condition() -> None:
    made = rule(how="mean", window_seconds=60, for_seconds=300, threshold=1.5)
    beyond = [2.0] * looks_needed(made)
    (seen,) = seen_by(made, {KEY: beyond, (METRIC, ()): [1.0]})
    assert seen.what == f"{METRIC} of kraken BTC/USD: 2: mean of 1 min above 1.5 for 5 min."
    assert (seen.part, seen.severity) == ("rule old", "warning")
    # once nothing in the window is known
    assert list(seen_by(made, {KEY: [*beyond, *[None] * 5]})) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"how": "now"}, "above 10"),
        ({"how": "now", "threshold": -9_999_999.5}, "above -9,999,999.5"),
        ({"how": "lowest", "window_seconds": 90, "direction": "below"}, "lowest of 90 s below 10"),
        ({"how": "increase", "window_seconds": 3600, "threshold": 0}, "increase over 1 h above 0"),
        ({"how": "change", "for_seconds": 120, "threshold": -5}, "change over 30 s above -5 for 2 min"),
    ],
)
def test_a_condition_in_words(changes: dict[str, object], words: str) -> None:
    assert condition(rule(**changes)) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (1 / 3, "0.333333"),
        (99_999.0, "99,999"),
        (1_234_567.8, "1,234,568"),
        (-2.5e6, "-2,500,000"),
        (None, "unknown"),
    ],
)
def test_a_value_in_words(value: float | None, words: str) -> None:
    assert value_words(value) == words


@pytest.mark.parametrize(
    ("labels", "is_of"),
    [({}, True), ({"exchange": "kraken"}, True), ({"exchange": "bitstamp"}, False), ({"base": "kraken"}, False)],
)
def test_a_rule_is_of_the_series_that_have_its_labels(labels: dict[str, str], is_of: bool) -> None:
    assert is_of_rule(rule(labels=labels), KEY) == is_of
    assert not is_of_rule(rule(labels=labels), ("arbitrage_other", KEY[1]))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": " "},
        {"metric": "up{x=1}"},
        {"threshold": float("nan")},
        {"window_seconds": 3_601},
        {"for_seconds": -1},
        {"how": "median"},
        {"labels": {str(number): "x" for number in range(7)}},
        {"colour": "red"},
    ],
)
def test_a_rule_that_makes_no_sense_is_none(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        WantedRule.model_validate({"name": "old", "metric": METRIC, "threshold": 10} | changes)


def test_a_look_that_is_begun_counts_whole() -> None:
    assert [looks_of(seconds) for seconds in (0, 1, LOOK_SECONDS, LOOK_SECONDS + 1)] == [0, 1, 1, 2]
