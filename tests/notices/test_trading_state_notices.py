"""Notices of the kill switch, of paused exchanges and of the daily loss limit."""

from decimal import Decimal

import pytest

from market.decide.circuit_breaker import Failure, Health
from market.decide.kill_switch import TradingState
from notices.trading_state_notices import notice_of_loss, notice_of_pause, notice_of_reopening, notice_of_version
from store.mongo.risk_counters import RiskCounters
from store.server.documents import SettingsVersion
from tests.market.samples import settings_of
from tests.notices.samples import AT

PAUSED = Health(
    "kraken", (Failure("1", "order_rejected", AT), Failure("2", "outcome_unknown", AT + 5)), AT + 30_000_000, 3
)


def version(before: TradingState | None, after: TradingState) -> SettingsVersion:
    old = None if before is None else settings_of(trading_state=before)
    return SettingsVersion(7, AT, "erika", old, settings_of(trading_state=after))


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("running", "halted", "Trading HALTED by erika: no orders are sent"),
        ("running", "reduce_only", "Trading REDUCE-ONLY by erika: no new arbitrages"),
        ("halted", "running", "Trading RESUMED by erika"),
    ],
)
def test_the_kill_switch(before: TradingState, after: TradingState, line: str) -> None:
    notice = notice_of_version(version(before, after))
    assert notice is not None
    assert (notice.notice_id, notice.at, notice.line) == ("settings:7", AT, line)
    assert notice.is_urgent


@pytest.mark.parametrize(("before", "after"), [("halted", "halted"), (None, "halted")])
def test_versions_that_switch_nothing(before: TradingState | None, after: TradingState) -> None:
    assert notice_of_version(version(before, after)) is None


def test_a_pause_and_its_end() -> None:
    opened = notice_of_pause(PAUSED)
    assert opened is not None
    assert opened.notice_id == "breaker:kraken:3:opened"
    assert opened.line == (
        "Kraken PAUSED until 22:13:50 UTC after 2 failures (rejected orders, orders of unknown outcome)"
    )
    settings = settings_of()
    assert notice_of_reopening(PAUSED, settings, PAUSED.paused_until - 1) is None
    closed = notice_of_reopening(PAUSED, settings, PAUSED.paused_until + 5)
    assert closed is not None
    assert (closed.notice_id, closed.at) == ("breaker:kraken:3:closed", PAUSED.paused_until)


def test_who_switches_the_breaker_off_ends_the_pause() -> None:
    closed = notice_of_reopening(PAUSED, settings_of(breaker_failures=0), AT + 1)
    assert closed is not None
    assert closed.at == AT + 1


def test_an_exchange_that_was_never_paused() -> None:
    health = Health("kraken", PAUSED.failures)
    assert notice_of_pause(health) is None
    assert notice_of_reopening(health, settings_of(), AT) is None


@pytest.mark.parametrize(("net", "is_reported"), [("-99.99", False), ("-100", True), ("-250.5", True), ("100", False)])
def test_the_daily_loss_limit_is_reported_once_a_day(net: str, is_reported: bool) -> None:
    counters = RiskCounters(AT, True, 0, {}, Decimal(net))
    notice = notice_of_loss(counters, settings_of(max_daily_loss="100"), "USD")
    assert (notice is not None) == is_reported
    if notice is not None:
        assert notice.notice_id == "daily_loss:2023-11-14"
        assert notice.facts["net"] == net
