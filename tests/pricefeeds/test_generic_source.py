"""Which books a session gets through ccxt, and which it cannot have."""

from dataclasses import replace
from pathlib import Path

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError
from exchanges.errors import AccountRejectedError, ExchangeError, ExchangeUnavailableError, StreamSilentError
from exchanges.simulated_markets import simulated_markets
from pricefeeds.errors import FeedStaleError
from pricefeeds.feed.endpoints import source_of
from pricefeeds.feed.generic_source import feed_error
from runtime.clock import SystemClock
from session.exchange_entries import ExchangeEntry
from session.session import ExchangeReach, Services, Session

MARKETS = tuple(market for market in simulated_markets() if market.exchange == "bitflyer")
REST_SECONDS = 1.0


def session_of(ccxt: str, symbols: tuple[str, ...]) -> Session:
    """Return a session at public prices with one exchange that is called `there`."""
    return Session(
        session_id="one",
        mode="public",
        home=Path("/nowhere"),
        services=Services(kafka="127.0.0.1:1", mongodb="mongodb://127.0.0.1:1", database="arbitrage"),
        markets=tuple(replace(MARKETS[0], exchange="there", symbol=symbol) for symbol in symbols),
        settlement_currency="USD",
        reach=ExchangeReach(entries={"there": ExchangeEntry(ccxt, "generic")}),
    )


@pytest.mark.parametrize(("ccxt", "streams"), [("okx", True), ("kraken", True), ("bitflyer", False)])
async def test_by_the_stream_where_ccxt_has_one(ccxt: str, streams: bool) -> None:
    async with source_of(session_of(ccxt, ("BTC/JPY",)), "there", SystemClock(), REST_SECONDS) as source:
        assert (source.streams, source.credentials) == (streams, None)


async def test_books_that_would_come_too_seldom_are_none() -> None:
    session = session_of("bitflyer", ("BTC/JPY", "ETH/JPY"))
    with pytest.raises(FeedRejectedError, match="2 books by REST would come 4 s apart"):
        async with source_of(session, "there", SystemClock(), REST_SECONDS):
            pass


async def test_an_exchange_that_ccxt_does_not_know() -> None:
    with pytest.raises(FeedRejectedError, match="ccxt has no exchange mtgox"):
        async with source_of(session_of("mtgox", ("BTC/JPY",)), "there", SystemClock(), REST_SECONDS):
            pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AccountRejectedError("no"), FeedRejectedError),
        (StreamSilentError("no pong"), FeedStaleError),
        (ExchangeUnavailableError("gone"), FeedDroppedError),
    ],
)
def test_what_becomes_of_an_error(error: ExchangeError, kind: type[Exception]) -> None:
    assert type(feed_error(error)) is kind
    assert str(feed_error(error)) == str(error)
