"""ccxt as it comes, through its own unified methods, trades on every simulated exchange."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import ccxt
import pytest

from exchanges.client import make_exchange
from exchanges.markets import taker_fees
from market.markets import Market
from market.money import decimal_of
from tests.exchanges.served import TRADED, Served, served

IMMEDIATE = {
    "coinbaseexchange": {"timeInForce": "IOC"},
    "bitstamp": {"ioc_order": "True"},
    "bitflyer": {"time_in_force": "IOC"},
    "kraken": {"timeInForce": "IOC"},
}


@dataclass(frozen=True)
class Desk:
    client: Any
    market: Market
    outside: Served

    async def balances(self) -> dict[str, Decimal]:
        totals: dict[str, float] = (await self.client.fetch_balance())["total"]
        return {currency: decimal_of(amount) for currency, amount in totals.items()}


@pytest.fixture(params=TRADED, ids=lambda market: market.exchange)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    market: Market = request.param
    async with served(tmp_path) as outside:
        client = make_exchange(outside.config(market.exchange))
        try:
            yield Desk(client, market, outside)
        finally:
            await client.close()


async def test_an_immediate_order(desk: Desk) -> None:
    symbol, (price, shown) = desk.market.symbol, desk.outside.best(desk.market, "sell")
    before = await desk.balances()
    placed = await desk.client.create_order(
        symbol, "limit", "buy", float(shown / 2), float(price), IMMEDIATE[desk.market.exchange]
    )
    order = await desk.client.fetch_order(placed["id"], symbol)
    assert order["status"] == "closed"
    assert decimal_of(order["filled"]) == shown / 2
    [trade] = await desk.client.fetch_my_trades(symbol)
    assert (trade["side"], decimal_of(trade["price"])) == ("buy", price)
    after = await desk.balances()
    assert after[desk.market.quote_currency] < before[desk.market.quote_currency]
    assert after["BTC"] > before["BTC"]


async def test_a_market_order(desk: Desk) -> None:
    symbol = desk.market.symbol
    before = await desk.balances()
    placed = await desk.client.create_order(symbol, "market", "sell", 0.01)
    order = await desk.client.fetch_order(placed["id"], symbol)
    assert (order["status"], order["filled"]) == ("closed", 0.01)
    assert (await desk.balances())["BTC"] <= before["BTC"] - Decimal("0.01")


async def test_a_resting_order_holds_until_it_is_cancelled(desk: Desk) -> None:
    symbol, (price, _) = desk.market.symbol, desk.outside.best(desk.market, "buy")
    placed = await desk.client.create_order(symbol, "limit", "buy", 0.01, float(price // 2))
    assert [order["id"] for order in await desk.client.fetch_open_orders(symbol)] == [placed["id"]]
    held = await desk.client.fetch_balance()
    quote = desk.market.quote_currency
    assert decimal_of(held[quote]["used"]) >= price // 2 * Decimal("0.01")
    assert held[quote]["free"] + held[quote]["used"] == pytest.approx(held[quote]["total"])
    await desk.client.cancel_order(placed["id"], symbol)
    assert await desk.client.fetch_open_orders(symbol) == []
    assert (await desk.client.fetch_balance())[quote]["used"] == 0


async def test_a_resting_order_is_filled_by_the_market_passing_by(desk: Desk) -> None:
    symbol, (price, _) = desk.market.symbol, desk.outside.best(desk.market, "buy")
    placed = await desk.client.create_order(symbol, "limit", "buy", 0.01, float(price))
    for _ in range(20_000):
        desk.outside.world.step()
        if not desk.outside.world.gateways[desk.market.exchange].exchange.customer.open_orders():
            break
    order = await desk.client.fetch_order(placed["id"], symbol)
    assert (order["status"], order["filled"]) == ("closed", 0.01)
    [first, *_] = await desk.client.fetch_my_trades(symbol)
    assert decimal_of(first["price"]) == price


async def test_fees_are_the_accounts_own(desk: Desk) -> None:
    symbol = desk.market.symbol
    if desk.market.exchange in ("bitflyer", "kraken"):
        taker = (await desk.client.fetch_trading_fee(symbol))["taker"]
    else:
        taker = (await desk.client.fetch_trading_fees())[symbol]["taker"]
    # ccxt leaves Bitstamp's as percent.
    scale = 100 if desk.market.exchange == "bitstamp" else 1
    assert decimal_of(taker) == taker_fees()[desk.market.exchange] * scale


async def test_too_much_is_refused(desk: Desk) -> None:
    price, _ = desk.outside.best(desk.market, "sell")
    # bitFlyer's refusals are plain ExchangeErrors in ccxt.
    expected = ccxt.ExchangeError if desk.market.exchange == "bitflyer" else ccxt.InsufficientFunds
    with pytest.raises(expected):
        await desk.client.create_order(desk.market.symbol, "limit", "buy", 500, float(price))


async def test_an_order_nobody_placed_is_not_found(desk: Desk) -> None:
    with pytest.raises(ccxt.ExchangeError):
        await desk.client.fetch_order("5d2f8a52-0000-4000-8000-000000000000", desk.market.symbol)
