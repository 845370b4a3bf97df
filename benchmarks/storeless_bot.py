"""A bot without a store: what trading costs, and how much of it fails, if nothing has to survive a crash.

It is one asyncio process for all exchanges of a running session. It reads the session's opportunities and spread
windows from Kafka and chooses by the product's own code: checks, sizing, cool-down, liquidity used once, limits and
rate limits are those of `bots.decide` and `market`, over rows in this process's memory. It posts both orders at once by
the same ccxt calls, on the same accounts, and waits for both to end.

What it does not do: it writes nothing to any disk or database, holds no lease, and waits for no commit or notification;
if it dies, open orders are forgotten. A single leg is left as it is (`single_leg_policy` is `hold`). It does not follow
changes of the settings, pauses no exchange that fails, reconciles nothing, and has no moving average strategy. Its
balances are those that the exchanges report at its start, changed by its own orders.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter

from backtest.simulate.simulated_rejections import RejectionCounts
from bots.decide.partner_budgets import less_open_legs
from bots.decide.reserver import Reserver
from bots.decide.state_cache import StateCache
from bots.execute.leg_executor import LegExecutor
from bots.server_clock import ServerClock
from bots.subscriptions import Signal, signals
from exchanges.accounts.exchange_account import open_session_account
from exchanges.ports.account import TradingAccount
from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from launch.supervisor.priorities import AutogroupNice, niceness_of
from market.decide.place_values import PlacesLeft
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from market.trade.unwinding import advancing, markets_by_symbol
from runtime.clock import SystemClock, steady_now, wall_now
from session.session import Session
from store.memory.store import MemoryTradeStore
from streams.topic_reader import TopicReader
from streams.topics import OPPORTUNITIES, SPREADS


class LimitedAccount(TradingAccount, Protocol):
    """An account that knows its rate limits."""

    def legs_left(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms by which the session's bots traded."""

    settings: Settings
    used: dict[str, tuple[str, int]]
    """Exchange → what its bot has used of the rate limits, and how long ago, microseconds."""


TERMS = TypeAdapter(Terms)
TRADES = TypeAdapter(list[Arbitrage])


class StorelessBot:
    """Trades on all `accounts`; `open` comes first."""

    def __init__(self, markets: tuple[Market, ...], settings: Settings, accounts: Mapping[str, LimitedAccount]) -> None:
        self._settings = settings.model_copy(update={"trading_state": "running", "single_leg_policy": "hold"})
        self._accounts = accounts
        self._advance = advancing(markets)
        self._rows = MemoryTradeStore()
        self._cache = StateCache(self._settings)
        self._tasks = asyncio.TaskGroup()
        server_clock = ServerClock()
        server_clock.observe(wall_now(), steady_now())
        execute = partial(LegExecutor, self._rows, by=UNFENCED, server_clock=server_clock)
        self._executors = {name: execute(account) for name, account in accounts.items()}
        self._reserver = Reserver(
            store=self._rows,
            markets=markets_by_symbol(markets),
            clock=SystemClock(),
            cache=self._cache,
            rejection_log=RejectionCounts(),
            execute=self._begin,
            actor_of=lambda _base: UNFENCED,
            places_left=self._places_left,
        )

    async def open(self) -> None:
        """Open the accounts. Raises ExchangeError."""
        await self._rows.settings.create(self._settings)
        for name, account in self._accounts.items():
            await self._rows.balances.replace(name, await account.balances(), "before", UNFENCED)
        opening, _ = await self._rows.balances.of_session()
        self._cache.update_opening(opening)
        self._cache.update_balances(await self._rows.balances.rows())

    async def trade(self, incoming: AsyncIterable[Signal], seconds: float) -> list[Arbitrage]:
        """Trade until `seconds` have passed or `incoming` ends; return all that was begun, once it is over."""
        async with self._tasks:
            deciding = self._tasks.create_task(self._reserver.work())
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for signal in incoming:
                        self._take(signal)
            deciding.cancel()
        return await self._rows.session_arbitrages()

    def _take(self, signal: Signal) -> None:
        if isinstance(signal, Opportunity):
            self._reserver.consider(signal)
        elif isinstance(signal, SpreadWindow):
            self._cache.update_window(signal)

    def _begin(self, arbitrage: Arbitrage) -> None:
        self._tasks.create_task(self._see_through(arbitrage))

    async def _see_through(self, arbitrage: Arbitrage) -> None:
        identity = arbitrage.arbitrage_id
        await asyncio.gather(*(self._executors[leg.exchange].execute(identity, leg) for leg in arbitrage.legs))
        self._cache.update_arbitrage(await self._rows.book(identity, self._advance, UNFENCED))
        self._cache.update_balances(await self._rows.balances.rows())

    def _places_left(self, opportunity: Opportunity, under_way: int) -> PlacesLeft:
        """Return the legs left, less those that are open or being reserved."""
        return self._left(opportunity.buy.exchange, under_way), self._left(opportunity.sell.exchange, under_way)

    def _left(self, name: str, under_way: int) -> int | None:
        return less_open_legs(self._accounts[name].legs_left(), name, self._cache.open.values(), under_way)


async def trade_beside(session: Session, terms: Terms, seconds: float) -> list[Arbitrage]:
    """Trade on the accounts of a running session whose own bots have stopped."""
    # the same share of a busy machine as the session's bots get
    os.nice(niceness_of("bot"))
    await AutogroupNice().follow("storeless bot", os.getpid())
    async with AsyncExitStack() as stack:
        accounts: dict[str, LimitedAccount] = {}
        for exchange in dict.fromkeys(market.exchange for market in session.traded):
            account = open_session_account(session, exchange, {})
            stack.push_async_callback(account.close)
            account.take_over(*terms.used.get(exchange, ("", 0)))
            accounts[exchange] = account
        bot = StorelessBot(session.traded, terms.settings, accounts)
        await bot.open()
        reader = await stack.enter_async_context(
            TopicReader(session.services.kafka, (OPPORTUNITIES, SPREADS), "latest")
        )
        return await bot.trade(signals(reader, lambda _partition: True), seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Terms come on standard input, what was traded goes to the output.")
    parser.add_argument("home", type=Path, help="data folder of the running session")
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    running = with_logins(read_session(arguments.home), SUPERVISOR)
    traded = asyncio.run(trade_beside(running, TERMS.validate_json(sys.stdin.buffer.read()), arguments.seconds))
    sys.stdout.buffer.write(TRADES.dump_json(traded))
