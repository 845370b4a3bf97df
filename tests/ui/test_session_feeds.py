"""Feeds of earlier sessions are no part of this one."""

from pathlib import Path

from market.prices.feed_state import FeedState
from tests.ui.samples import START, session_of
from ui.live.session_feeds import feeds_of


def test_feeds_of_markets_that_the_session_does_not_have_are_left_out() -> None:
    states = [
        FeedState(exchange, "us", symbol, "live", START, START)
        for exchange, symbol in (("alpha", "BTC/USD"), ("alpha", "ETH/USD"), ("bitstamp", "BTC/EUR"))
    ]
    (ours,) = feeds_of(session_of(Path("unused")), states, START)
    assert (ours.exchange, ours.symbol, ours.status) == ("alpha", "BTC/USD", "live")
    (later,) = feeds_of(session_of(Path("unused")), states, START + 3_600_000_000)
    assert later.status != "live", "as seen now"
