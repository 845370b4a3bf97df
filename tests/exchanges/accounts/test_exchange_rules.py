"""Sizes and fees as the exchanges state them are those that we trade by."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exchanges.accounts.exchange_rules import exchange_rules, market_as_listed
from exchanges.ccxt.client import make_exchange
from exchanges.errors import AccountRejectedError
from exchanges.simulated_markets import simulated_markets, simulated_taker_fees
from market.instruments.markets import Market
from market.money import text_of
from tests.exchanges.served import served

TRADED = {market.exchange: market for market in simulated_markets() if not market.is_fx}
ONE = Decimal(1)


def blank(market: Market) -> Market:
    """As if nobody had looked up its sizes."""
    return replace(market, tick_size=ONE, lot_step=ONE, minimum_amount=ONE, minimum_notional=ONE)


@pytest.mark.parametrize("exchange", TRADED)
async def test_what_the_exchange_states_is_what_our_table_says(exchange: str, tmp_path: Path) -> None:
    market = TRADED[exchange]
    async with served(tmp_path, only=(exchange,)) as outside:
        stated = await exchange_rules(outside.config(exchange), [blank(market)])
        own = await exchange_rules(outside.config(exchange), [market])
    assert own.markets == (market,)
    assert own.taker_rate == stated.taker_rate == simulated_taker_fees()[exchange]
    [listed] = stated.markets
    # ccxt states nothing of bitFlyer's sizes, nor how little Coinbase Exchange takes; OKX has no least notional
    silent = {
        "bitflyer": market.__slots__,
        "coinbaseexchange": ("minimum_amount",),
        "okx": ("minimum_notional",),
    }.get(exchange, ())
    for name in ("tick_size", "lot_step", "minimum_amount", "minimum_notional"):
        stated_value = getattr(listed, name)
        assert stated_value == (ONE if name in silent else getattr(market, name)), name


ROW: dict[str, Any] = {
    "active": True,
    "baseId": "BTC",
    "quoteId": "USD",
    "precision": {"amount": 1e-08, "price": 0.01},
    "limits": {"amount": {"min": None}, "cost": {"min": 5e-05}},
    "info": {"base": "XXBT", "quote": "ZUSD"},
}


def test_floats_become_the_digits_they_were_made_of() -> None:
    listed = market_as_listed(TRADED["coinbaseexchange"], ROW)
    assert [text_of(step) for step in (listed.lot_step, listed.tick_size, listed.minimum_notional)] == [
        "0.00000001",
        "0.01",
        "0.00005",
    ]
    assert listed.minimum_amount == TRADED["coinbaseexchange"].minimum_amount


@pytest.mark.parametrize(
    ("exchange", "row", "fault"),
    [
        ("coinbaseexchange", None, "does not trade BTC/USD"),
        ("coinbaseexchange", ROW | {"active": False}, "does not trade BTC/USD"),
        ("coinbaseexchange", ROW | {"baseId": "WBTC"}, "trades WBTC, which is not known to be the same asset"),
        ("coinbaseexchange", ROW | {"quoteId": "USDC"}, "trades USDC"),
        ("kraken", ROW | {"info": {"base": "WBTC", "quote": "ZUSD"}}, "trades WBTC"),
        ("kraken", ROW | {"info": {"base": "XXBT", "quote": "USDT"}}, "trades USDT"),
    ],
)
def test_a_market_that_is_another_is_rejected(exchange: str, row: dict[str, Any] | None, fault: str) -> None:
    with pytest.raises(AccountRejectedError, match=fault):
        market_as_listed(TRADED[exchange], row)


UNLISTED = replace(TRADED["coinbaseexchange"], exchange="gate")


@pytest.mark.parametrize(("fee_side", "expected"), [("get", "received"), ("base", "base"), (None, "quote")])
def test_an_exchange_whose_codes_nobody_listed_is_taken_by_ccxts_common_codes(
    fee_side: str | None, expected: str
) -> None:
    row = ROW | {"base": "BTC", "quote": "USD", "baseId": "XBT-1", "feeSide": fee_side}
    listed = market_as_listed(UNLISTED, row)
    assert (listed.tick_size, listed.fee_side) == (Decimal("0.01"), expected)
    with pytest.raises(AccountRejectedError, match="gate BTC/USD trades WBTC/USD"):
        market_as_listed(UNLISTED, row | {"base": "WBTC"})
    with pytest.raises(AccountRejectedError, match="does not say in which steps BTC/USD is traded"):
        market_as_listed(UNLISTED, row | {"precision": {"amount": 1e-08, "price": None}})


def test_a_second_account_trades_the_assets_of_its_exchange() -> None:
    second = replace(TRADED["coinbaseexchange"], exchange="second")
    assert market_as_listed(second, ROW, "coinbaseexchange").exchange == "second"
    with pytest.raises(AccountRejectedError, match="which is not known to be the same asset"):
        market_as_listed(second, ROW | {"baseId": "WBTC"}, "coinbaseexchange")


async def test_wrong_keys_are_found_before_anything_is_traded(tmp_path: Path) -> None:
    async with served(tmp_path, only=("bitstamp",)) as outside:
        config = outside.config("bitstamp")
        assert config.credentials is not None
        wrong = replace(config, credentials=replace(config.credentials, secret="d3Jvbmc="))
        with pytest.raises(AccountRejectedError):
            await exchange_rules(wrong, [TRADED["bitstamp"]])


async def test_bitstamps_percent_are_not_its_fractions(tmp_path: Path) -> None:
    """ccxt gives a fraction in the market and a percentage as our fee: a hundredfold between them."""
    async with served(tmp_path, only=("bitstamp",)) as outside:
        client = make_exchange(outside.config("bitstamp"))
        try:
            await client.load_markets()
            in_percent = (await client.fetch_trading_fees())["BTC/EUR"]["taker"]
        finally:
            await client.close()
        rules = await exchange_rules(outside.config("bitstamp"), [TRADED["bitstamp"]])
    assert Decimal(str(in_percent)) == rules.taker_rate * 100
