"""ccxt as anyone would set it up, on a simulated exchange whose prices stand still unless the test steps them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import ccxt.async_support
import ccxt.pro
import certifi
import pytest

from exchanges.addresses import simulated_addresses
from exchanges.credentials import load_credentials
from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import Amount, Price, decimal_of, floor_to_step, text_of
from runtime.clock import Clock
from simulators.matching.listings import Listing
from simulators.matching.order_records import SimulatedFill
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.exchanges.balancing import balances_after
from tests.exchanges.served import Served, served
from tests.simulators.contract.abilities import OPTIONS

DEADLINE = 20
AMOUNT = Decimal("0.01")
Levels = dict[Decimal, Decimal]
Row = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """`client` is dynamic by nature: its answers are checked against the simulated exchange itself."""

    client: Any
    market: Market
    outside: Served

    @property
    def symbol(self) -> str:
        return self.market.symbol

    @property
    def exchange(self) -> SimulatedExchange:
        return self.outside.world.gateways[self.market.exchange].exchange

    @property
    def listing(self) -> Listing:
        return self.exchange.listings[self.symbol]

    def on(self, base: str) -> "Bench":
        """Return the same client on the exchange's market of another asset."""
        [market] = [row.market for row in self.exchange.listings.values() if row.market.base == base]
        return replace(self, market=market)

    def best(self, side: Side) -> tuple[Price, Amount]:
        return self.outside.best(self.market, side)

    def out_of_reach(self, side: Side) -> Decimal:
        """Return a price at which an order of `side` rests, a twentieth away from the market."""
        price, _ = self.best(side)
        away = Decimal("0.95") if side == "buy" else Decimal("1.05")
        return floor_to_step(price * away, self.market.tick_size)

    def standing(self, side: Side, depth: int = 10) -> Levels:
        """Return the best levels that stand in the book."""
        levels = self.exchange.books[self.symbol].levels(side, depth)
        return {self.listing.price(ticks): self.listing.amount(lots) for ticks, lots in levels}

    def fills(self) -> list[SimulatedFill]:
        """Return all fills of the account, oldest first."""
        return list(self.exchange.customer.fills)

    async def totals(self) -> dict[str, Decimal]:
        totals: dict[str, float] = (await self.client.fetch_balance())["total"]
        return {currency: decimal_of(amount) for currency, amount in totals.items()}

    async def post(
        self, side: Side, amount: Decimal, price: Decimal | None, parameters: Mapping[str, object] | None = None
    ) -> str:
        """Place an order, at the market if `price` is None. Returns the exchange's id of it."""
        kind = "market" if price is None else "limit"
        limit = None if price is None else float(price)
        parameters = parameters or {}
        if price is None and side == "buy" and self.market.exchange == "coinbase":
            # ccxt would buy for a sum of money
            terms = {"market_market_ioc": {"base_size": text_of(amount)}}
            parameters = {**parameters, "cost": 1, "order_configuration": terms}
        row = await self.client.create_order(self.symbol, kind, side, float(amount), limit, parameters)
        assert row["id"]
        return str(row["id"])

    async def order(self, order_id: str) -> Row:
        row: Row = await self.client.fetch_order(order_id, self.symbol)
        assert (row["id"], row["symbol"]) == (order_id, self.symbol)
        return row

    async def open_orders(self) -> list[str]:
        return [str(row["id"]) for row in await self.client.fetch_open_orders(self.symbol)]

    async def cancel(self, order_id: str) -> None:
        await self.client.cancel_order(order_id, self.symbol)

    def tick_until(self, is_so: Callable[[], bool]) -> None:
        """Step the world until `is_so`."""
        for _ in range(20_000):
            if is_so():
                return
            self.outside.world.step()
        pytest.fail("that never came about")

    async def stepped_until(self, arrived: Callable[[], Awaitable[None]]) -> None:
        """Step the world until `arrived` is through; a stream needs steps to have something to send."""
        waiting = asyncio.ensure_future(arrived())
        async with asyncio.timeout(DEADLINE):
            while not waiting.done():
                self.outside.round()
                await asyncio.wait([waiting], timeout=0.005)
        await waiting


@cache
def _trusted() -> ssl.SSLContext:
    """Return what ccxt would make for each client: to read the authorities takes longer than most of these tests."""
    return ssl.create_default_context(cafile=certifi.where())


@asynccontextmanager
async def opened(exchange: str, home: Path, clock: Clock | None = None) -> AsyncIterator[Bench]:
    """Return a client from ccxt's own constructor: addresses and keys, and no waiting between calls."""
    async with served(home, clock=clock, only=(exchange,)) as outside:
        listings = outside.world.gateways[exchange].exchange.listings.values()
        market = next(listing.market for listing in listings if not listing.market.is_fx)
        keys = load_credentials(home, exchange)
        client_class = getattr(ccxt.pro, exchange, None) or getattr(ccxt.async_support, exchange)
        client = client_class(
            {
                "urls": {"api": simulated_addresses(exchange, f"{outside.url}/{exchange}")},
                "apiKey": keys.api_key,
                "secret": keys.secret,
                "password": keys.password,
                "uid": keys.uid,
                "enableRateLimit": False,
                "ssl_context": _trusted(),
                # ccxt waits a quarter of a second behind each close, for sessions over TLS, which these are not
                "timeout_on_exit": 0,
                "options": OPTIONS.get(exchange, {}),
            }
        )
        try:
            yield Bench(client, market, outside)
        finally:
            await client.close()


def assert_balances_follow(
    before: dict[str, Decimal], after: dict[str, Decimal], fills: Iterable[SimulatedFill]
) -> None:
    """Check that before + fills − fees = after, as far as ccxt's floats reach."""
    expected = balances_after(before, fills)
    assert {name: float(amount) for name, amount in after.items()} == pytest.approx(
        {name: float(amount) for name, amount in expected.items()}, rel=1e-12
    )


def assert_trades_equal(rows: list[Row], fills: list[SimulatedFill]) -> None:
    """Check that ccxt reads the account's trades as the exchange booked them; a fee only if ccxt reads one at all."""
    assert {str(row["id"]) for row in rows} == {fill.fill_id for fill in fills}
    by_id = {fill.fill_id: fill for fill in fills}
    for row in rows:
        fill = by_id[str(row["id"])]
        assert (row["symbol"], row["side"], str(row["order"])) == (fill.symbol, fill.side, fill.order_id)
        assert (decimal_of(row["price"]), decimal_of(row["amount"])) == (fill.price, fill.amount)
        assert row["takerOrMaker"] in (None, fill.liquidity)
        fee = row.get("fee") or {}
        if fee.get("cost") is not None:
            assert float(fee["cost"]) == pytest.approx(float(fill.fee), rel=1e-12)
            assert fee["currency"] in (None, fill.fee_currency)
