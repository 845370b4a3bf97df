"""Feeds of earlier sessions are no part of this one."""

from dataclasses import replace
from pathlib import Path

from market.prices.feed_state import FeedState
from tests.market.samples import settings_of
from tests.ui.samples import START, session_of
from ui.live.session_feeds import feeds_of


def test_feeds_of_markets_that_the_session_does_not_have_are_left_out() -> None:
    states = [
        FeedState(exchange, "us", symbol, "live", START, START)
        for exchange, symbol in (("alpha", "BTC/USD"), ("alpha", "ETH/USD"), ("bitstamp", "BTC/EUR"))
    ]
    (ours,) = feeds_of(session_of(Path("unused")), None, states, START)
    assert (ours.exchange, ours.symbol, ours.status) == ("alpha", "BTC/USD", "live")
    (later,) = feeds_of(session_of(Path("unused")), None, states, START + 3_600_000_000)
    assert later.status != "live", "as seen now"


def test_what_earlier_sessions_left_of_an_asset_on_standby_is_left_out_until_it_is_added() -> None:
    session = replace(session_of(Path("unused")), standby_assets=("BTC",))
    states = [FeedState("alpha", "us", "BTC/USD", "live", START, START)]
    assert feeds_of(session, None, states, START) == []
    assert feeds_of(session, settings_of(), states, START) == []
    assert len(feeds_of(session, settings_of(enabled_assets=("BTC",)), states, START)) == 1
