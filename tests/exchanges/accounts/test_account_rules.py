"""What an exchange says of our account during a session, over HTTP: fee tier, minima, cancel-only, a renamed market."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.accounts.exchange_account import open_account
from exchanges.accounts.exchange_rules import account_rules, closed_by
from exchanges.errors import OrderRejectedError
from exchanges.simulated_markets import cross_markets, simulated_taker_fees
from market.decide.market_rules import rules_of
from market.instruments.markets import Market
from simulators.matching.listings import Listing
from tests.exchanges.served import TRADED, Served, order_on, served

KRAKEN = [market for market in TRADED if market.exchange == "kraken"]
BTC = next(market for market in KRAKEN if market.base == "BTC")
COARSE = replace(BTC, tick_size=Decimal(1), minimum_amount=Decimal("0.05"))


def relist(world: Served, market: Market = BTC, /, **changed: object) -> None:
    """Let the exchange change its listing of a market: `market=` is what it lists now."""
    for listings in listed(world, market):
        for key in named(listings, market):
            listings[key] = replace(listings[key], **changed)  # type: ignore[arg-type]


def unlist(world: Served, market: Market) -> None:
    for listings in listed(world, market):
        for key in named(listings, market):
            del listings[key]


def listed(world: Served, market: Market) -> Iterator[dict[str, Listing]]:
    exchange = world.world.gateways[market.exchange].exchange
    for listings in (exchange.listings, exchange.listings_by_id):
        assert isinstance(listings, dict)
        yield listings


def named(listings: Mapping[str, Listing], market: Market) -> list[str]:
    return [key for key, listing in listings.items() if listing.market.symbol == market.symbol]


@pytest.mark.parametrize("exchange", sorted({market.exchange for market in TRADED}))
async def test_every_exchange_says_what_our_table_says(exchange: str, tmp_path: Path) -> None:
    markets = [market for market in TRADED if market.exchange == exchange]
    async with served(tmp_path, only=(exchange,)) as world:
        said = await account_rules(world.config(exchange), markets)
    assert said.taker_rate == simulated_taker_fees()[exchange]
    assert said.markets == {market.symbol: rules_of(market) for market in markets}


@pytest.mark.parametrize("exchange", ["okx", "bitflyer"])
async def test_the_fee_is_that_of_the_dearest_market(exchange: str, tmp_path: Path) -> None:
    markets = [market for market in cross_markets(("BTC", "ETH")) if market.exchange == exchange]
    markets = [next(market for market in TRADED if market.exchange == exchange), *markets]
    async with served(tmp_path, only=(exchange,), has_crosses=True) as world:
        relist(world, markets[-1], taker_rate=Decimal("0.05"))
        said = await account_rules(world.config(exchange), markets)
    assert said.taker_rate == Decimal("0.05")


async def test_what_goes_to_cancel_only_is_closed_and_what_is_sent_there_did_not_happen(tmp_path: Path) -> None:
    async with served(tmp_path, only=("kraken",)) as world:
        config = world.config("kraken")
        relist(world, status="cancel_only")
        said = await account_rules(config, KRAKEN)
        assert said.markets[BTC.symbol] == rules_of(BTC, "cancel_only")
        assert [symbol for symbol, rules in said.markets.items() if rules.closed] == [BTC.symbol]
        account = open_account(config, TRADED)
        with pytest.raises(OrderRejectedError, match="cancel_only"):
            await account.place(order_on(BTC, "buy", Decimal("0.05"), Decimal("100")))
        assert await account.open_orders() == []
        await account.close()
        relist(world, status="online")
        assert (await account_rules(config, KRAKEN)).markets[BTC.symbol] == rules_of(BTC)


async def test_a_market_that_is_gone_is_closed_and_the_others_are_asked_on(tmp_path: Path) -> None:
    async with served(tmp_path, only=("kraken",)) as world:
        unlist(world, BTC)
        said = await account_rules(world.config("kraken"), KRAKEN)
    assert said.markets[BTC.symbol].closed == "not listed"
    assert all(not rules.closed for symbol, rules in said.markets.items() if symbol != BTC.symbol)


@pytest.mark.parametrize(
    ("ccxt_id", "row", "expected"),
    [
        ("kraken", None, "not listed"),
        ("kraken", {"active": True, "info": {"status": "online"}}, ""),
        ("kraken", {"active": False, "info": {"status": "cancel_only"}}, "cancel_only"),
        ("kraken", {"active": False, "info": []}, "inactive"),
        ("bitstamp", {"active": False, "info": {"trading": "Disabled"}}, "Disabled"),
        ("binance", {"active": False, "info": {"status": "BREAK"}}, "BREAK"),
        ("coinbaseexchange", {"active": True, "info": {"status": "online", "cancel_only": True}}, "cancel_only"),
        (
            "coinbaseexchange",
            {"active": True, "info": {"status": "online", "trading_disabled": True}},
            "trading_disabled",
        ),
        ("coinbaseexchange", {"active": True, "info": {"status": "online", "limit_only": True}}, ""),
        ("bitflyer", {"active": None, "info": {}}, ""),
    ],
)
def test_why_a_market_takes_no_orders(ccxt_id: str, row: Mapping[str, object] | None, expected: str) -> None:
    assert closed_by(ccxt_id, row) == expected
