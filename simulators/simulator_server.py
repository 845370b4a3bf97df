"""All simulated exchanges in one process: one port, one path per exchange, prices that step."""

import argparse
import asyncio
import logging
import signal
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from aiohttp import web

from exchanges.exchange_credentials import Credentials
from market.time_units import MICROSECONDS
from session.clock import Clock, SystemClock, wall_now
from session.simulated_market import DEFAULT_MARKET, MARKETS
from simulators.binance import binance_gateway as binance
from simulators.bitflyer import bitflyer_gateway as bitflyer
from simulators.bitstamp import bitstamp_gateway as bitstamp
from simulators.coinbaseexchange import coinbaseexchange_gateway as coinbaseexchange
from simulators.faults.fault_frames import SymbolOf
from simulators.faults.fault_orders import OrderFaults
from simulators.faults.fault_schedule import FaultSchedule, ScheduledFault
from simulators.faults.faults import Faults
from simulators.faults.skewed_clock import SkewedClock
from simulators.kraken import kraken_gateway as kraken
from simulators.market.chosen_market import ChosenMarket
from simulators.market.ladders import Ladder
from simulators.market.market_pace import MarketPace
from simulators.market.market_prices import MarketPrices
from simulators.matching.exchange_journal import Journal
from simulators.matching.listings import Listing, listings_of, opening_balances
from simulators.matching.simulated_exchange import Names, SimulatedExchange
from simulators.web.account_keys import ensure_credentials
from simulators.web.crossed_book import Publisher
from simulators.web.exchange_gateway import Gateway
from simulators.web.fault_admin import admin_application, ensure_token
from simulators.web.fault_guard import FaultGuard
from simulators.web.rate_guard import RateGuard

log = logging.getLogger(__name__)

STEP_SECONDS = 0.038
"""Between two steps of one exchange's books."""
_BEAT_EVERY = 26

DEFAULT_BASES = ("BTC",)

_GATEWAYS: dict[str, tuple[Callable[[SimulatedExchange, Credentials], Gateway], Names]] = {
    coinbaseexchange.NAME: (coinbaseexchange.CoinbaseExchangeGateway, coinbaseexchange.NAMES),
    bitstamp.NAME: (bitstamp.BitstampGateway, bitstamp.NAMES),
    bitflyer.NAME: (bitflyer.BitflyerGateway, bitflyer.NAMES),
    kraken.NAME: (kraken.KrakenGateway, kraken.NAMES),
    binance.NAME: (binance.BinanceGateway, binance.NAMES),
}
EXCHANGES = tuple(_GATEWAYS)
"""All simulated exchanges."""
ACCOUNTS = "exchanges"
"""The folder of a session's accounts."""


@dataclass(slots=True)
class _Turn:
    """One exchange, its market maker's ladders, and its injected faults."""

    gateway: Gateway
    ladders: dict[str, Ladder]
    pace: MarketPace
    symbol_of: SymbolOf
    publisher: Publisher
    orders: OrderFaults
    count: int = 0


@dataclass(slots=True)
class SimulatedExchanges:
    """Gateways, prices, ladders and faults of all exchanges; `step` advances one exchange, in turn."""

    gateways: dict[str, Gateway]
    prices: MarketPrices
    market: ChosenMarket
    journals: list[Journal]
    clock: Clock
    faults: Faults
    is_limited: bool = True
    _turns: list[_Turn] = field(default_factory=list)
    _next: int = 0

    @classmethod
    def open(
        cls,
        home: Path,
        seed: int,
        clock: Clock,
        only: Sequence[str] = (),
        folder: str = ACCOUNTS,
        *,
        is_limited: bool = True,
        market: ChosenMarket | None = None,
        bases: Collection[str] = DEFAULT_BASES,
    ) -> "SimulatedExchanges":
        """Recover from the journals in `<home>/<folder>/`; the first start creates accounts and API keys.

        `only` some of EXCHANGES; all where none is named. `is_limited`: with the real ones' rate limits. `market`:
        the default one where none is given. `bases`: the assets whose markets move all the time; others do so while a
        stream is subscribed. Raises KeyError where there is no such exchange, AccountRejectedError
        where the file of the keys is damaged.
        """
        names, market = tuple(only) or EXCHANGES, market or ChosenMarket()
        credentials = ensure_credentials(home, EXCHANGES)
        listings = market.listed({name: listings_of(name) for name in names})
        faults = Faults(clock, listed_symbols(names), seed)
        gateways, journals = {}, []
        for name in names:
            make, wording = _GATEWAYS[name]
            journal = Journal(home / folder / f"{name}.jsonl")
            journals.append(journal)
            own_clock = SkewedClock(clock, faults.of(name))
            exchange = SimulatedExchange(name, listings[name], opening_balances(name), wording, own_clock, journal)
            gateways[name] = make(exchange, credentials[name])
        world = cls(gateways, market.prices(seed, listings), market, journals, clock, faults, is_limited)
        for gateway in gateways.values():
            world._add(gateway, seed, bases)
        for _ in gateways:
            world.step()
        return world

    def _add(self, gateway: Gateway, seed: int, bases: Collection[str]) -> None:
        """Add an exchange and connect its faults."""
        exchange = gateway.exchange
        faults = self.faults.of(exchange.name)
        orders = OrderFaults(faults, exchange)
        exchange.order_faults = orders
        listings = tuple(exchange.listings.values())
        symbol_of = channel_symbols(listings)
        gateway.subscribers.apply_faults(faults, symbol_of)
        ladders = {symbol: Ladder(row, seed, self.market.shape(row)) for symbol, row in exchange.listings.items()}
        publisher = Publisher(gateway, faults)
        self._turns.append(_Turn(gateway, ladders, MarketPace(listings, bases), symbol_of, publisher, orders))

    def step(self) -> None:
        """One exchange's turn: prices move, the maker requotes, the crowd takes, and one message is published."""
        turn = self._turns[self._next]
        self._next = (self._next + 1) % len(self._turns)
        exchange = turn.gateway.exchange
        self.prices.advance_latent(STEP_SECONDS / len(self._turns))
        self.prices.advance_exchange(exchange.name, STEP_SECONDS)
        turn.orders.release()
        for listing, turns in turn.pace.due(turn.count):
            symbol, ladder = listing.market.symbol, turn.ladders[listing.market.symbol]
            exchange.quote(symbol, *ladder.levels(self.prices.mid(listing)))
            taker = ladder.taker(STEP_SECONDS * turns)
            if taker is not None:
                exchange.take(symbol, *taker)
            for order in self.prices.orders(listing):
                exchange.take(symbol, *order)
            trades = exchange.tape.drain(symbol)
            self.prices.traded(listing, trades)
            turn.publisher.publish(symbol, exchange.books[symbol].drain_changes(), trades)
        turn.count += 1
        if turn.count % _BEAT_EVERY == 0:
            turn.pace.watch(turn.gateway.subscribers.symbols(turn.symbol_of))
            turn.gateway.beat()

    def application(self) -> web.Application:
        """All exchanges, each below its own name."""
        application = web.Application()
        for name, gateway in self.gateways.items():
            exchange = gateway.application()
            if self.is_limited:
                RateGuard(name, self.clock).install_on(exchange)
            elif isinstance(gateway, binance.BinanceGateway):
                gateway.lift_limits()
            FaultGuard(gateway, self.faults.of(name), self.clock).install_on(exchange)
            application.add_subapp(f"/{name}", exchange)
        return application

    async def run(
        self, clock: Clock, schedule: FaultSchedule | None = None, is_watched: Callable[[], bool] = lambda: True
    ) -> None:
        """Step for ever, each exchange once every STEP_SECONDS; after a stall it continues without catching up.

        Faults of the `schedule` are injected when due. `is_watched`: whether detection is ready. Raises OSError once a
        journal could not be written: the state in memory is then ahead of the journal.
        """
        period = int(STEP_SECONDS * MICROSECONDS / len(self._turns))
        due = wall_now()
        while True:
            self.step()
            if not is_watched():
                self.prices.prolong_opening()
            if schedule is not None:
                schedule.advance()
            for journal in self.journals:
                journal.check()
            now = wall_now()
            due = next_due(due, now, period)
            await clock.sleep(max(0, due - now) / MICROSECONDS)

    async def close(self) -> None:
        for gateway in self.gateways.values():
            await gateway.subscribers.close()
        for journal in self.journals:
            journal.close()


def next_due(due: int, now: int, period: int) -> int:
    """When to step next, in `now`'s microseconds: a period after the last, at most four behind, and never more than
    one ahead, where the clock was set back."""
    return min(max(due + period, now - 4 * period), now + period)


def channel_symbols(listings: Sequence[Listing]) -> Callable[[str], str | None]:
    """Maps a channel to its market: the channel's name contains the symbol or the exchange's name of it."""
    names = [(listing.market.symbol, name.lower()) for listing in listings for name in _names_of(listing)]
    # a name may be the end of a longer one
    names.sort(key=lambda row: len(row[1]), reverse=True)

    @cache
    def symbol_of(channel: str) -> str | None:
        return next((symbol for symbol, name in names if name in channel.lower()), None)

    return symbol_of


def listed_symbols(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Raises KeyError where there is no such exchange."""
    return {name: tuple(listing.market.symbol for listing in listings_of(name)) for name in names}


def _names_of(listing: Listing) -> tuple[str, str]:
    return listing.market.symbol, listing.market_id


@dataclass(frozen=True, slots=True)
class ExchangesOptions:
    """The exchanges to run, all where none is named; `faults` is the schedule."""

    port: int
    seed: int = 1
    only: tuple[str, ...] = ()
    faults: Iterable[ScheduledFault] = ()
    folder: str = ACCOUNTS
    is_limited: bool = True
    """Whether the rate limits of the real exchanges apply."""
    market: ChosenMarket = field(default_factory=ChosenMarket)
    bases: tuple[str, ...] = DEFAULT_BASES
    """Assets whose markets move all the time; the others while a stream of theirs is subscribed."""


async def run_exchanges(
    home: Path, options: ExchangesOptions, ready: Callable[[], None], is_watched: Callable[[], bool] = lambda: True
) -> None:
    """Serve simulated exchanges on loopback until cancelled; `ready` is called once they answer.
    `is_watched`: whether detection is ready, which dislocations wait for.

    `http://127.0.0.1:<port>/<exchange>`, `ws://127.0.0.1:<port>/<exchange>/ws`, faults below `/admin`. Raises OSError
    where the port is taken or a journal cannot be written: after a restart each exchange continues from its
    journal.
    """
    clock = SystemClock()
    world = SimulatedExchanges.open(
        home,
        options.seed,
        clock,
        options.only,
        options.folder,
        is_limited=options.is_limited,
        market=options.market,
        bases=options.bases,
    )
    schedule = FaultSchedule(world.faults, clock, options.faults)
    application = world.application()
    application.add_subapp("/admin", admin_application(world.faults, clock, ensure_token(home)))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", options.port).start()
        log.info("simulated exchanges are open", extra={"port": options.port, "seed": options.seed})
        ready()
        await world.run(clock, schedule, is_watched)
    finally:
        await world.close()
        await runner.cleanup()


def main() -> None:
    """`python -m simulators.simulator_server --home DIR --port N [--seed N] [--market NAME] [--no-limits]`."""
    parser = argparse.ArgumentParser(description="Simulated exchanges on loopback")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--market", choices=MARKETS, default=DEFAULT_MARKET)
    parser.add_argument("--no-limits", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    options = ExchangesOptions(
        arguments.port, arguments.seed, is_limited=not arguments.no_limits, market=ChosenMarket(arguments.market)
    )
    asyncio.run(_until_terminated(arguments.home, options))


async def _until_terminated(home: Path, options: ExchangesOptions) -> None:
    task = asyncio.create_task(run_exchanges(home, options, lambda: None))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    main()
