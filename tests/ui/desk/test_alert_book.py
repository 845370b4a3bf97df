import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from ui.desk.alert_book import EMPTY, KEPT_ENDED, KEPT_FOR, QUIET, AlertBook, KeptAlert, Seen, kind_of

NOW = 1_764_500_000 * MICROSECONDS
SECOND = MICROSECONDS


def late(seconds: str = "3.1", part: str = "cep") -> Seen:
    return Seen("warning", part, f"The last probe row took {seconds} s.", "Wait.")


def only(book: AlertBook) -> KeptAlert:
    (alert,) = book.alerts.values()
    return alert


def test_an_alert_begins_once_and_its_figures_move() -> None:
    book = EMPTY.observed([late("3.1")], NOW).observed([late("14")], NOW + 5 * SECOND)
    alert = only(book)
    assert (alert.since, alert.ended_at, alert.what) == (NOW, None, "The last probe row took 14 s.")


def test_what_is_not_seen_for_a_while_is_over_since_it_was_last_seen() -> None:
    book = EMPTY.observed([late()], NOW)
    assert only(book.observed([], NOW + QUIET - 1)).ended_at is None
    assert only(book.observed([], NOW + QUIET)).ended_at == NOW


def test_what_comes_and_goes_is_one_alert_and_what_comes_back_later_another() -> None:
    book = EMPTY.observed([late()], NOW)
    book = book.observed([], NOW + 5 * SECOND).observed([late()], NOW + 10 * SECOND)
    assert only(book).since == NOW
    book = book.observed([], NOW + 60 * SECOND).observed([late()], NOW + 90 * SECOND)
    assert [(one.since, one.ended_at is None) for one in book.alerts.values()] == [
        (NOW, False),
        (NOW + 90 * SECOND, True),
    ]


def test_an_acknowledgement_belongs_to_one_alert_and_outlives_its_figures() -> None:
    book = EMPTY.observed([late("3")], NOW)
    book = book.acknowledged(only(book).alert_id, "desk", "known", NOW + 1).observed([late("4")], NOW + 2 * SECOND)
    alert = only(book)
    assert (alert.acknowledged_by, alert.acknowledged_at, alert.note, alert.seen_at) == (
        "desk",
        NOW + 1,
        "known",
        NOW + 2 * SECOND,
    )


def test_a_mute_is_of_the_kind_and_ends() -> None:
    book = EMPTY.observed([late("3"), late("3", "ui")], NOW)
    first = next(one for one in book.alerts.values() if one.part == "cep")
    book = book.muted(first.alert_id, "desk", NOW + 60 * SECOND)
    muted = [one.part for one in book.alerts.values() if book.mute_of(one, NOW + SECOND) is not None]
    assert muted == ["cep"]
    assert book.mute_of(first, NOW + 60 * SECOND) is None
    assert book.observed([late()], NOW + 61 * SECOND).mutes == {}
    assert book.unmuted(first.alert_id).mutes == {}


def of_rule(what: str, subject: str, rule_id: str = "1", part: str = "rule old") -> Seen:
    return Seen("warning", part, what, "", rule_id, subject)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        # labels are figures, too
        (of_rule("lag of ticks 0: 7.", "lag{partition: 0}"), of_rule("lag of ticks 1: 7.", "lag{partition: 1}"), False),
        (of_rule("x of SOL1: 7.", "x{base: SOL1}"), of_rule("x of SOL2: 7.", "x{base: SOL2}"), False),
        # a value in any spelling is one value
        (of_rule("x: 0.0001.", "x"), of_rule("x: 5e-05.", "x"), True),
        (of_rule("x: 1.", "x"), of_rule("x: -1.", "x"), True),
        (of_rule("x: 1.", "x"), of_rule("x: 1.", "x", rule_id="2"), False),
        # renamed, or with another threshold
        (of_rule("x: 1: above 0.", "x"), of_rule("x: 1: above 0.5.", "x", part="rule new"), True),
        (late("3.1"), late("14"), True),
        (late(part="cep"), late(part="ui"), False),
    ],
)
def test_what_is_the_same_alert(one: Seen, other: Seen, is_same: bool) -> None:
    assert (kind_of(one) == kind_of(other)) == is_same
    book = EMPTY.observed([one], NOW).observed([other], NOW + 5 * SECOND).observed([other], NOW + 5 * SECOND + QUIET)
    assert len(book.alerts) == (1 if is_same else 2)
    newest = [alert for alert in book.alerts.values() if alert.ended_at is None]
    assert [(alert.part, alert.what, alert.rule_id) for alert in newest] == [(other.part, other.what, other.rule_id)]


def test_what_nobody_has_looked_at_long_enough_does_not_end() -> None:
    book = EMPTY.observed([late()], NOW)
    kept = book.observed([], NOW + 60 * SECOND, lambda _: True)
    assert kept == book
    assert only(kept.observed([late("4")], NOW + 61 * SECOND, lambda _: True)).what == "The last probe row took 4 s."
    assert only(kept.observed([], NOW + 61 * SECOND)).ended_at == NOW


def test_old_and_many_ended_alerts_go() -> None:
    book = EMPTY
    for number in range(KEPT_ENDED + 5):
        book = book.observed([late(part=f"part-{number}-")], NOW + number * 60 * SECOND)
    last = NOW + (KEPT_ENDED + 10) * 60 * SECOND
    book = book.observed([], last)
    assert len(book.alerts) == KEPT_ENDED
    assert book.observed([], last + KEPT_FOR + 1).alerts == {}


@given(st.lists(st.tuples(st.integers(1, 30), st.lists(st.sampled_from(["cep", "ui", "kafka"]), unique=True))))
def test_of_each_kind_at_most_one_is_open_and_all_that_is_seen_is(looks: list[tuple[int, list[str]]]) -> None:
    book, now = EMPTY, NOW
    for pause, parts in looks:
        now += pause * SECOND
        book = book.observed([late(part=part) for part in parts], now)
        open_kinds = [one.kind for one in book.alerts.values() if one.ended_at is None]
        assert len(open_kinds) == len(set(open_kinds))
        assert {kind_of(late(part=part)) for part in parts} <= set(open_kinds)
        assert all(one.since <= one.seen_at <= now for one in book.alerts.values())
