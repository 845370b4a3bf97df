"""Simulated exchanges served on a free loopback port, whose prices stand still unless a test steps them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from aiohttp import web

from exchanges.ccxt.client import ExchangeConfig, simulated_config
from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price
from runtime.clock import Clock, SystemClock, wall_now
from session.exchange_entries import ExchangeEntry
from simulators.faults.fault_kinds import Faults
from simulators.market.chosen_market import STORM, ChosenMarket
from simulators.matching.transfer_records import NO_TRANSFERS, TransferConditions
from simulators.server import ExchangesOptions, SimulatedExchanges
from simulators.web.fault_admin import admin_application, ensure_token

TRADED = tuple(market for market in simulated_markets() if not market.is_fx)


@dataclass(frozen=True)
class Served:
    """`url/<exchange>` is an exchange; faults come by `faults`, or over `url/admin/faults` with `token`."""

    world: SimulatedExchanges
    url: str
    home: Path
    token: str = ""
    is_limited: bool = False

    @property
    def faults(self) -> Faults:
        return self.world.faults

    def config(self, exchange: str, *, is_generic: bool = False) -> ExchangeConfig:
        """`is_generic`: by ccxt's unified methods instead of our own order API."""
        entry = ExchangeEntry(exchange, "generic") if is_generic else None
        return simulated_config(exchange, self.url, self.home, is_limited=self.is_limited, entry=entry)

    def best(self, market: Market, side: Side) -> tuple[Price, Amount]:
        """Best bid ("buy") or ask ("sell") with its amount."""
        exchange = self.world.gateways[market.exchange].exchange
        listing = exchange.listings[market.symbol]
        [(ticks, lots)] = exchange.books[market.symbol].levels(side, 1)
        return Price(listing.price(ticks)), Amount(listing.amount(lots))

    def round(self) -> None:
        """Every exchange steps once."""
        for _ in self.world.gateways:
            self.world.step()


@asynccontextmanager
async def served(
    home: Path,
    seed: int = 1,
    clock: Clock | None = None,
    only: tuple[str, ...] = (),
    *,
    is_limited: bool = False,
    accounts: int = 1,
    named_accounts: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    socket_seconds: float | None = None,
    has_crosses: bool = False,
    transfers: TransferConditions = NO_TRANSFERS,
) -> AsyncIterator[Served]:
    """`only` some of the exchanges, all if none is named. Without rate limits unless `is_limited`: most tests ask
    more than anybody may. `has_crosses`: with them, which are in a calm market alone."""
    clock = clock or SystemClock()
    options = ExchangesOptions(
        0,
        seed,
        only,
        is_limited=is_limited,
        has_crosses=has_crosses,
        market=ChosenMarket("calm") if has_crosses else STORM,
        accounts=accounts,
        named_accounts=named_accounts,
        socket_seconds=socket_seconds,
        transfers=transfers,
    )
    world = SimulatedExchanges.open(home, clock, options)
    application, token = world.application(), ensure_token(home)
    application.add_subapp("/admin", admin_application(world.faults, clock, token))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Served(world, f"http://127.0.0.1:{runner.addresses[0][1]}", home, token, is_limited)
    finally:
        await world.close()
        await runner.cleanup()


def order_on(market: Market, side: Side, amount: Decimal, price: Decimal) -> LimitOrder:
    """Return a new order, intended now."""
    return LimitOrder(
        client_order_id=str(uuid4()),
        exchange=market.exchange,
        symbol=market.symbol,
        side=side,
        amount=Amount(amount),
        price=Price(price),
        intended_at=wall_now(),
    )
