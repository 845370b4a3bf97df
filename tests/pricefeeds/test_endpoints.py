"""Where a feeder listens: at the simulated exchange, at the real one, at its sandbox, or at a gateway; and its keys."""

from dataclasses import replace
from pathlib import Path

import pytest

from exchanges.books.errors import FeedRejectedError
from exchanges.books.port import Send
from exchanges.catalogue import wire_of
from exchanges.key_variables import key_variables
from exchanges.simulated_markets import simulated_markets
from pricefeeds.feed.endpoints import endpoints_of
from runtime.clock import SystemClock
from session.exchange_entries import ExchangeEntry
from session.session import ExchangeReach, Mode, Services, Session, SimulatedTerms

ROOT = "http://127.0.0.1:8100/"
GATEWAY = {"kraken": "https://gateway.example/", "binance": "https://gateway.example"}


def session_of(mode: Mode, root: str | None, gateways: dict[str, str] | None = None) -> Session:
    return Session(
        session_id="one",
        mode=mode,
        home=Path("/nowhere"),
        services=Services(kafka="127.0.0.1:1", mongodb="mongodb://127.0.0.1:1", database="arbitrage"),
        markets=simulated_markets(),
        settlement_currency="USD",
        simulated=SimulatedTerms(url=root),
        reach=ExchangeReach(gateways=gateways or {}),
    )


@pytest.mark.parametrize(
    ("session", "exchange", "stream"),
    [
        (session_of("paper", ROOT), "kraken", "ws://127.0.0.1:8100/kraken/ws/v2"),
        (session_of("live", None), "kraken", "wss://ws.kraken.com/v2"),
        (session_of("live", None), "coinbaseexchange", "wss://ws-feed.exchange.coinbase.com"),
        (session_of("live", None, GATEWAY), "kraken", "wss://gateway.example/kraken/ws/v2"),
        (session_of("live", None, GATEWAY), "bitflyer", "wss://ws.lightstream.bitflyer.com/json-rpc"),
        (session_of("sandbox", None), "binance", "wss://stream.testnet.binance.vision/ws"),
        (session_of("sandbox", None, GATEWAY), "binance", "wss://gateway.example/binance/ws"),
        (session_of("sandbox", None), "coinbaseexchange", "wss://ws-feed-public.sandbox.exchange.coinbase.com"),
        (session_of("public", None), "coinbaseexchange", "wss://ws-feed.exchange.coinbase.com"),
        (session_of("public", None, {"kraken": ROOT}), "kraken", "ws://127.0.0.1:8100/kraken/ws/v2"),
        # it only brings FX into such a session
        (session_of("sandbox", None), "kraken", "wss://ws.kraken.com/v2"),
    ],
)
async def test_where_it_listens(session: Session, exchange: str, stream: str) -> None:
    async with endpoints_of(session, exchange, SystemClock(), 1.0) as source:
        assert source.stream_address == stream
        assert source.credentials is None


async def test_a_second_account_listens_where_its_exchange_is() -> None:
    made = session_of("live", None, GATEWAY)
    session = replace(
        made,
        reach=replace(made.reach, entries={"second": ExchangeEntry("coinbaseexchange")}),
    )
    keys = {f"ARBITRAGE_SECOND_{name}": "c2VjcmV0" for name in ("KEY", "SECRET", "PASSWORD")}
    async with endpoints_of(session, "second", SystemClock(), 1.0, keys) as source:
        assert source.stream_address == "wss://ws-feed.exchange.coinbase.com"
        assert source.credentials is not None


@pytest.mark.parametrize(("mode", "is_sandbox"), [("live", False), ("sandbox", True)])
async def test_real_keys_come_from_the_environment(mode: Mode, is_sandbox: bool) -> None:
    """Coinbase signs the subscription of its books; without keys there is a slower channel."""
    keys, others = (
        dict.fromkeys(key_variables("coinbaseexchange", box).values(), "c2VjcmV0")
        for box in (is_sandbox, not is_sandbox)
    )
    session, market = session_of(mode, None), simulated_markets()[0]
    for environment, is_signed in ((keys, True), (others, False)):
        async with endpoints_of(session, "coinbaseexchange", SystemClock(), 1.0, environment) as source:
            [subscription] = source.conversation(market).open(SystemClock().now())
            assert isinstance(subscription, Send)
            assert ("signature" in subscription.text) is is_signed


@pytest.mark.parametrize(
    ("exchange", "bases", "seconds"),
    [
        ("coinbaseexchange", ("BTC",), 0.0),
        ("coinbaseexchange", ("BTC", "ETH", "SOL", "XRP"), 2.0),
        ("binance", ("BTC",), 0.0),
        # a request a second, every other one for a comparison
        ("binance", ("BTC", "ETH", "SOL", "XRP"), 8.0),
    ],
)
async def test_the_more_markets_the_rarer_the_comparisons_of_each(
    exchange: str, bases: tuple[str, ...], seconds: float
) -> None:
    markets = tuple(row for row in simulated_markets(bases) if not row.is_fx)
    session = replace(session_of("live", None), markets=markets)
    async with endpoints_of(session, exchange, SystemClock(), 1.0) as source:
        assert source.compare_seconds == seconds


async def test_two_accounts_at_one_exchange_compare_half_as_often() -> None:
    """What the exchange allows an address is for both; FX alone counts as one."""
    bases = ("BTC", "ETH", "SOL", "XRP")
    markets = tuple(row for row in simulated_markets(bases) if not row.is_fx and row.exchange == "binance")
    others = tuple(replace(row, exchange="second") for row in markets)
    made = session_of("live", None)
    session = replace(
        made,
        markets=markets,
        reach=replace(made.reach, entries={"second": ExchangeEntry("binance")}),
    )
    both = replace(session, markets=markets + others)
    assert (session.entry_of("binance").at_one_address, both.entry_of("binance").at_one_address) == (1, 2)
    for exchange in ("binance", "second"):
        async with endpoints_of(both, exchange, SystemClock(), 1.0) as source:
            assert source.compare_seconds == 16.0


async def test_markets_share_connections_at_every_exchange_of_our_own_readers() -> None:
    session = session_of("live", None)
    for exchange in session.exchanges:
        async with endpoints_of(session, exchange, SystemClock(), 1.0) as source:
            assert source.shared is not None


def test_an_exchange_that_nobody_reads() -> None:
    with pytest.raises(FeedRejectedError, match="no feed for mtgox"):
        wire_of("mtgox")
