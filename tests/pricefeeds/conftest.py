"""The simulated exchanges on a loopback port, moved on step by step by the test itself."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from aiohttp import web

from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import Amount, Price
from market.prices.quotes import MAX_LEVELS, Level
from runtime.clock import SystemClock
from session.session import Services, Session, SimulatedTerms
from simulators.market.chosen_market import STORM
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.server import ExchangesOptions, SimulatedExchanges

SIDES: tuple[Side, Side] = ("buy", "sell")


@dataclass(frozen=True, slots=True)
class World:
    """Exchanges that stand still until `step`, and a session that points to them."""

    exchanges: SimulatedExchanges
    session: Session

    def market(self, exchange: str, symbol: str) -> Market:
        return next(row for row in self.session.markets if (row.exchange, row.symbol) == (exchange, symbol))

    def exchange(self, name: str) -> SimulatedExchange:
        return self.exchanges.gateways[name].exchange

    def levels(self, exchange: str, symbol: str) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
        """Return the exchange's own ten best bids and asks."""
        listing, book = self.exchange(exchange).listings[symbol], self.exchange(exchange).books[symbol]
        bids, asks = (
            tuple(
                Level(Price(Decimal(listing.price_text(ticks))), Amount(listing.amount(lots)))
                for ticks, lots in book.levels(side, MAX_LEVELS)
            )
            for side in SIDES
        )
        return bids, asks

    async def run(self) -> None:
        """Move on for ever at the exchanges' own pace."""
        await self.exchanges.run(SystemClock())

    def send_what_waits(self) -> None:
        """Change that an exchange keeps for its next message, which in a world that stands still never comes."""
        for gateway in self.exchanges.gateways.values():
            gateway.beat()

    async def step(self, times: int = 1) -> None:
        """Move every exchange on so many times, and let its messages leave."""
        for _ in range(times * len(self.exchanges.gateways)):
            self.exchanges.step()
            await asyncio.sleep(0)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    exchanges = SimulatedExchanges.open(tmp_path, SystemClock(), ExchangesOptions(0, 7, is_limited=False, market=STORM))
    runner = web.AppRunner(exchanges.application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    session = Session(
        session_id="test",
        mode="paper",
        home=tmp_path,
        services=Services(kafka="", mongodb="", database=""),
        markets=simulated_markets(),
        settlement_currency="USD",
        simulated=SimulatedTerms(url=f"http://127.0.0.1:{port}", rate_limits=False),
    )
    yield World(exchanges, session)
    await exchanges.close()
    await runner.cleanup()
