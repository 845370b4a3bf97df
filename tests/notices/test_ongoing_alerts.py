"""Feeds that are down and bots that are silent: told when it lasts, and when it ends."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from market.prices.feed_state import FeedState, FeedStatus
from market.trade.leases import Lease
from notices.ongoing_alerts import DOWN_SECONDS, SILENT_SECONDS, STARTING_SECONDS, Alert, AlertWatch, faults_now
from session.session import Services, Session
from store.mongo.risk_counters import RiskCounters
from store.queries.notice_events import CurrentState
from tests.market.samples import EUR_MARKET, USD_MARKET, settings_of
from tests.notices.samples import AT

SECOND = 1_000_000
SESSION = Session("one", "paper", Path(), Services("", "", ""), (USD_MARKET, EUR_MARKET), "USD")
FAULT = Alert("feed:alpha", "exchanges", "feed_down", "alpha", "alpha FEED DOWN: no prices of BTC/USD")
EXCHANGES = ("alpha", "beta")


def feed(exchange: str, symbol: str, status: FeedStatus, last_received: int = AT) -> FeedState:
    return FeedState(exchange, "us", symbol, status, AT, last_received)


def present(*feeds: FeedState, silent: int = 0, leases: tuple[str, ...] = EXCHANGES) -> CurrentState:
    counters = RiskCounters(AT, True, 0, {}, Decimal(0))
    until = AT - silent * SECOND
    return CurrentState(settings_of(), counters, (), feeds, tuple(Lease(name, "bot", 1, until) for name in leases))


def test_nothing_is_wrong() -> None:
    assert faults_now(present(feed("alpha", "BTC/USD", "live"), feed("beta", "BTC/EUR", "stale")), SESSION, AT) == []


def test_feeds_that_are_down_and_feeds_whose_process_is_gone() -> None:
    reported = present(
        feed("alpha", "BTC/USD", "down"),
        feed("beta", "BTC/EUR", "live", AT - 60 * SECOND),
        feed("gamma", "BTC/JPY", "down"),
    )
    assert [(fault.key, fault.facts["symbols"]) for fault in faults_now(reported, SESSION, AT)] == [
        ("feed:alpha", "BTC/USD"),
        ("feed:beta", "BTC/EUR"),
    ]


def test_bots_whose_lease_ran_out() -> None:
    assert [fault.key for fault in faults_now(present(silent=SILENT_SECONDS), SESSION, AT)] == []
    assert [fault.key for fault in faults_now(present(silent=SILENT_SECONDS + 1), SESSION, AT)] == [
        "bot:alpha",
        "bot:beta",
    ]
    assert [fault.key for fault in faults_now(present(leases=("alpha",)), SESSION, AT)] == ["bot:beta"]


def notices_at(watch: AlertWatch, *looks: tuple[int, bool]) -> list[tuple[int, str]]:
    """(second, event), each look at a second, with the fault or without."""
    reported = []
    for second, is_down in looks:
        reported += [
            (second, notice.event)
            for notice in watch.update([FAULT] if is_down else [], EXCHANGES, AT + second * SECOND)
        ]
    return reported


def test_what_lasts_is_reported_once_and_its_end_too() -> None:
    looks = [(0, False), (1, True), (1 + DOWN_SECONDS, True), (60, True), (90, False), (91, False)]
    assert notices_at(AlertWatch(AT), *looks) == [(1 + DOWN_SECONDS, "feed_down"), (90, "feed_back")]


def test_what_passes_by_itself_is_not_reported() -> None:
    looks = [(0, False), *((second, second % 10 != 0) for second in range(1, 100))]
    assert notices_at(AlertWatch(AT), *looks) == []


def test_little_room_on_the_disk_is_reported_and_its_end_too() -> None:
    assert faults_now(present(), SESSION, AT, SESSION.upkeep.disk.warn) == []
    watch, reported = AlertWatch(AT), list[tuple[int, str]]()
    for second, free in ((1, 1_234_000_000), (1 + DOWN_SECONDS, 1_234_000_000), (60, 99_000_000), (90, 5_000_000_000)):
        faults = faults_now(present(), SESSION, AT, free)
        reported += [(second, one.event) for one in watch.update(faults, EXCHANGES, AT + second * SECOND)]
    assert reported == [(1 + DOWN_SECONDS, "disk_low"), (90, "disk_back")]
    (fault,) = faults_now(present(), SESSION, AT, 1_234_000_000)
    assert fault.line == "DISK LOW: 1,234 MB free; below 600 MB nothing new is traded"


def test_a_start_is_no_fault() -> None:
    looks = [(second, True) for second in range(STARTING_SECONDS)]
    assert notices_at(AlertWatch(AT), *looks) == []
    assert notices_at(AlertWatch(AT), *looks, (STARTING_SECONDS, True)) == [(STARTING_SECONDS, "feed_down")]


def test_what_a_user_stopped_is_not_down_and_has_its_time_to_come_back() -> None:
    reported = replace(present(leases=("alpha",)), stopped=frozenset({("bot", "beta")}))
    (meant,) = faults_now(reported, SESSION, AT)
    assert meant.is_meant
    watch = AlertWatch(AT)
    assert watch.update([], EXCHANGES, AT) == []
    for second in range(1, 60):
        assert watch.update([meant], EXCHANGES, AT + second * SECOND) == []
    wanted = replace(meant, is_meant=False)
    assert watch.update([wanted], EXCHANGES, AT + 60 * SECOND) == []
    assert watch.update([], EXCHANGES, AT + 70 * SECOND) == []
    assert watch.update([wanted], EXCHANGES, AT + 80 * SECOND) == []
    (notice,) = watch.update([wanted], EXCHANGES, AT + 96 * SECOND)
    assert notice.event == "bot_down"


def test_a_restarted_notifier_repeats_nothing_and_reports_the_end() -> None:
    first = AlertWatch(AT)
    notices_at(first, (0, False), (1, True), (30, True))
    again = AlertWatch(AT + 40 * SECOND, dict(first.ongoing))
    assert notices_at(again, (41, True), (80, True), (90, False)) == [(90, "feed_back")]
    (notice,) = replace(again, ongoing={"bot:beta": AT}).update([], EXCHANGES, AT + 5 * SECOND)
    assert (notice.event, notice.line) == ("bot_back", "beta: its bot is back after 5 s")
