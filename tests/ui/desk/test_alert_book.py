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
