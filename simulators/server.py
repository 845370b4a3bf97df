"""All simulated exchanges in one process: one port, one path per exchange, prices that step."""

import argparse
import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from ssl import SSLContext
from typing import cast

from aiohttp import web

from market.time_units import MICROSECONDS
from runtime.clock import Clock, SystemClock, wall_now
from session.simulated_market import DEFAULT_MARKET, MARKETS
from simulators.catalogue import EXCHANGES
from simulators.faults.fault_kinds import Faults
from simulators.faults.garbled_frames import SymbolOf
from simulators.faults.orders import OrderFaults
from simulators.faults.schedule import FaultSchedule, ScheduledFault
from simulators.faults.skewed_clock import SkewedClock
from simulators.market.chosen_market import ChosenMarket
from simulators.market.ladders import Ladder
from simulators.market.pace import MarketPace
from simulators.market.price_port import MarketPrices
from simulators.matching.exchange_journal import Journal
from simulators.matching.listings import Listing, listings_of, opening_balances
from simulators.matching.simulated_exchange import CUSTOMER, SimulatedExchange
from simulators.matching.transfer_network import TransferNetwork
from simulators.matching.transfer_records import NO_TRANSFERS, TransferConditions
from simulators.matching.venue import Venue
from simulators.web.account_keys import account_names, ensure_credentials
from simulators.web.account_routes import joined
from simulators.web.crossed_book import Publisher
from simulators.web.exchange_gateway import CountsItself, Gateway, SimulatedGateway, TrustsSigners
from simulators.web.fault_admin import admin_application, ensure_token
from simulators.web.http_faults import HttpFaults
from simulators.web.rate_guard import RateGuard
from simulators.web.socket_terms import socket_terms
from simulators.web.unseen_step import UnseenStep

log = logging.getLogger(__name__)

STEP_SECONDS = 0.038
"""Pause between two steps of one exchange's books."""
_BEAT_EVERY = 26

DEFAULT_BASES = ("BTC",)

LOOPBACK = "127.0.0.1"

ACCOUNTS = "exchanges"
"""The folder of a session's accounts."""


@dataclass(frozen=True, slots=True)
class ExchangesOptions:
    """The exchanges to run, all if none is named; `faults` is the schedule."""

    port: int
    seed: int = 1
    only: tuple[str, ...] = ()
    faults: Iterable[ScheduledFault] = ()
    folder: str = ACCOUNTS
    is_limited: bool = True
    """Whether the rate limits of the real exchanges apply."""
    market: ChosenMarket = field(default_factory=ChosenMarket)
    accounts: int = 1
    """Assumed 30-day volume on each exchange."""
    named_accounts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Exchange → the names of further accounts there, as a session has them."""
    own_ports: Mapping[str, int] = field(default_factory=dict)
    """Exchanges that are served at the root of a port of their own too."""
    tls: SSLContext | None = None
    """TLS of all ports; None: without TLS."""
    bases: tuple[str, ...] = DEFAULT_BASES
    """Assets whose markets move all the time; the others move while a stream of theirs is subscribed."""
    host: str = LOOPBACK
    """The address that all ports listen on."""
    socket_seconds: float | None = None
    """How long a socket lives at most; None: as at each exchange (Binance: 24 hours)."""
    has_crosses: bool = False
    """Whether coins are priced in coins, and in a second currency, too. A storm has no prices for them."""
    transfers: TransferConditions = NO_TRANSFERS

    def account_names(self, exchange: str) -> tuple[str, ...]:
        """Return all accounts of an exchange, its own name first."""
        return *account_names(exchange, self.accounts), *self.named_accounts.get(exchange, ())


@dataclass(slots=True)
class _Turn:
    """One exchange, its market maker's ladders, and its injected faults; of each account its gateway, its order
    faults and what counts its requests."""

    venue: Venue
    gateways: list[Gateway]
    make_ladder: Callable[[Listing], Ladder]
    pace: MarketPace
    symbol_of: SymbolOf
    publisher: Publisher
    orders: list[OrderFaults]
    limits: list[RateGuard]
    count: int = 0
    _ladders: dict[str, Ladder] = field(default_factory=dict)

    def ladder(self, listing: Listing) -> Ladder:
        symbol = listing.market.symbol
        if symbol not in self._ladders:
            self._ladders[symbol] = self.make_ladder(listing)
        return self._ladders[symbol]

    def heard(self) -> set[str]:
        """Return the markets that somebody listens to."""
        return {name for row in self.gateways for name in row.subscribers.symbols(self.symbol_of)}

    def may_put_off(self, listing: Listing) -> bool:
        """Return whether nobody would see that a step of the market comes late."""
        symbol = listing.market.symbol
        is_unseen = self.pace.is_resting(listing) and self.venue.steps.may_put_off(symbol)
        return is_unseen and self.publisher.faults.is_quiet and symbol not in self.heard()

    def beat(self) -> None:
        heard = self.heard()
        for symbol in heard:
            self.venue.steps.see(symbol)
        self.pace.watch(heard)
        for gateway in self.gateways:
            gateway.beat()
            gateway.subscribers.keep()


@dataclass(slots=True)
class SimulatedExchanges:
    """Gateways, prices, ladders and faults of all exchanges; `step` advances one exchange, in turn."""

    gateways: dict[str, Gateway]
    """Gateways of each exchange's first account."""
    prices: MarketPrices
    market: ChosenMarket
    journals: list[Journal]
    clock: Clock
    faults: Faults
    network: TransferNetwork
    is_limited: bool = True
    _turns: dict[str, _Turn] = field(default_factory=dict)
    _next: int = 0

    @classmethod
    def open(cls, home: Path, clock: Clock, options: ExchangesOptions) -> "SimulatedExchanges":
        """Recover from the journals in `<home>/<folder>/`; the first start creates accounts and API keys. Raises
        KeyError if there is no such exchange, AccountRejectedError if the file of the keys is damaged."""
        names, market, seed = options.only or EXCHANGES, options.market, options.seed
        credentials = ensure_credentials(home, {own: name for name in EXCHANGES for own in options.account_names(name)})
        has_crosses = options.has_crosses
        listings = market.listed({name: listings_of(name, has_crosses=has_crosses) for name in names})
        faults = Faults(clock, listed_symbols(names, has_crosses=has_crosses), seed)
        accounts: dict[str, SimulatedExchange] = {}
        network = TransferNetwork(accounts, clock, options.transfers, seed)
        world = cls({}, market.prices(seed, listings), market, [], clock, faults, network, options.is_limited)
        for name in names:
            simulated = _gateway_of(name)
            journals = {own: Journal(home / options.folder / f"{own}.jsonl") for own in options.account_names(name)}
            world.journals += journals.values()
            rows = (*listings[name], *_listed_before(name, listings[name], journals.values()))
            venue = Venue(name, rows, simulated.names, SkewedClock(clock, faults.of(name)))
            gateways = []
            for own, journal in journals.items():
                owner = CUSTOMER if own == name else own
                exchange = SimulatedExchange(venue, opening_balances(name, has_crosses=has_crosses), journal, owner)
                accounts[own] = exchange
                gateway = simulated.make(exchange, credentials[own])
                if isinstance(gateway, TrustsSigners):
                    gateway.trust_signers(home, own)
                terms = socket_terms(name, options.socket_seconds, is_limited=options.is_limited)
                gateway.subscribers.live_by(terms, clock)
                gateways.append(gateway)
            world._add(venue, gateways, MarketPace(listings[name], options.bases), seed)
        network.connect()
        for _ in names:
            world.step()
        return world

    def _add(self, venue: Venue, gateways: list[Gateway], pace: MarketPace, seed: int) -> None:
        """Add an exchange and connect its faults."""
        self.gateways[venue.name] = gateways[0]
        faults = self.faults.of(venue.name)
        symbol_of = channel_symbols(list(venue.listings.values()))
        orders = [OrderFaults(faults, gateway.exchange) for gateway in gateways]
        for gateway, own in zip(gateways, orders, strict=True):
            gateway.exchange.order_faults = own
            gateway.exchange.funding.note_withdrawal = own.note_withdrawal
            gateway.subscribers.apply_faults(faults, symbol_of)
        rates = _gateway_of(venue.name).rates
        limits = [RateGuard(venue.name, rates, self.clock) for _ in gateways]
        publisher = Publisher(gateways, faults)
        self._turns[venue.name] = _Turn(
            venue,
            gateways,
            lambda row: Ladder(row, seed, self.market.shape(row)),
            pace,
            symbol_of,
            publisher,
            orders,
            limits,
        )

    def step(self) -> None:
        """Run one exchange's turn: prices move, the maker requotes, the crowd takes, and one message is published."""
        turn = list(self._turns.values())[self._next]
        self._next = (self._next + 1) % len(self._turns)
        self.prices.advance_latent(STEP_SECONDS / len(self._turns))
        self.prices.advance_exchange(turn.venue.name, STEP_SECONDS)
        for orders in turn.orders:
            orders.release()
        for listing, turns in turn.pace.due(turn.count):
            if turn.may_put_off(listing) and not self.prices.heeds_trades(listing):
                self._put_off(turn, listing, STEP_SECONDS * turns)
            else:
                self._move(turn, listing, STEP_SECONDS * turns)
        turn.count += 1
        if turn.count % _BEAT_EVERY == 0:
            turn.beat()
            self.network.step(turn.venue.name)

    def _put_off(self, turn: _Turn, listing: Listing, seconds: float) -> None:
        venue, symbol, mid = turn.venue, listing.market.symbol, self.prices.mid(listing)
        step = UnseenStep(venue, turn.gateways, symbol, partial(turn.ladder, listing), mid, seconds)
        venue.steps.put_off(symbol, step)
        for gateway in turn.gateways:
            gateway.put_off(symbol)

    def _move(self, turn: _Turn, listing: Listing, seconds: float) -> None:
        venue, symbol, ladder = turn.venue, listing.market.symbol, turn.ladder(listing)
        venue.steps.see(symbol)
        venue.quote(symbol, *ladder.levels(self.prices.mid(listing)))
        taker = ladder.taker(seconds)
        if taker is not None:
            venue.take(symbol, *taker)
        for order in self.prices.orders(listing):
            venue.take(symbol, *order)
        trades = venue.tape.drain(symbol)
        self.prices.traded(listing, trades)
        turn.publisher.publish(symbol, venue.books[symbol].drain_changes(), trades)

    def accounts_of(self, name: str) -> list[Gateway]:
        """Return the gateways of all accounts of an exchange."""
        return self._turns[name].gateways

    def application(self) -> web.Application:
        """Return the application of all exchanges, each below its own name."""
        application = web.Application()
        for name in self.gateways:
            application.add_subapp(f"/{name}", self.application_of(name))
        return application

    def application_of(self, name: str) -> web.Application:
        """Return one exchange with its accounts; their requests are counted once for all applications."""
        turn, applications = self._turns[name], []
        for gateway, limits in zip(turn.gateways, turn.limits, strict=True):
            application = gateway.application()
            if self.is_limited:
                limits.install_on(application)
            elif isinstance(gateway, CountsItself):
                gateway.lift_limits()
            HttpFaults(gateway, self.faults.of(name), self.clock).install_on(application)
            applications.append(application)
        return joined(turn.gateways, applications)

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
        for turn in self._turns.values():
            for gateway in turn.gateways:
                await gateway.subscribers.close()
        for journal in self.journals:
            journal.close()


def _gateway_of(name: str) -> SimulatedGateway:
    """Raise KeyError if no such exchange is simulated."""
    if name not in EXCHANGES:
        raise KeyError(name)
    return cast(SimulatedGateway, import_module(f"simulators.{name}.gateway").SIMULATED)


def next_due(due: int, now: int, period: int) -> int:
    """Return when to step next, in `now`'s microseconds: a period after the last, at most four behind, and never more
    than one ahead, if the clock was set back."""
    return min(max(due + period, now - 4 * period), now + period)


def channel_symbols(listings: Sequence[Listing]) -> Callable[[str], str | None]:
    """Map a channel to its market: the channel's name contains the symbol or the exchange's name of it."""
    names = [(listing.market.symbol, name.lower()) for listing in listings for name in _names_of(listing)]
    # a name may be the end of a longer one
    names.sort(key=lambda row: len(row[1]), reverse=True)

    @cache
    def symbol_of(channel: str) -> str | None:
        return next((symbol for symbol, name in names if name in channel.lower()), None)

    return symbol_of


def listed_symbols(names: Iterable[str], *, has_crosses: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the symbols. Raises KeyError if there is no such exchange."""
    return {
        name: tuple(listing.market.symbol for listing in listings_of(name, has_crosses=has_crosses)) for name in names
    }


def _listed_before(name: str, listed: Iterable[Listing], journals: Iterable[Journal]) -> list[Listing]:
    """Return the markets that an account traded before and that are not asked for now: listed, without any quotes."""
    symbols = {listing.market.symbol for listing in listed}
    others = {one.market.symbol: one for one in listings_of(name, has_crosses=True) if one.market.symbol not in symbols}
    traded = {symbol for journal in journals for symbol in journal.mentioned(others)}
    return [listing for symbol, listing in others.items() if symbol in traded]


def _names_of(listing: Listing) -> tuple[str, str]:
    return listing.market.symbol, listing.market_id


async def run_exchanges(
    home: Path, options: ExchangesOptions, ready: Callable[[], None], is_watched: Callable[[], bool] = lambda: True
) -> None:
    """Serve simulated exchanges until cancelled; `ready` is called once they answer. `is_watched`: whether detection is
    ready, which dislocations wait for.

    `http://127.0.0.1:<port>/<exchange>`, `ws://127.0.0.1:<port>/<exchange>/ws`, faults below `/admin`. Raises OSError
    if a port is taken or a journal cannot be written: after a restart each exchange continues from its journals.
    """
    clock = SystemClock()
    world = SimulatedExchanges.open(home, clock, options)
    schedule = FaultSchedule(world.faults, clock, options.faults)
    application = world.application()
    application.add_subapp("/admin", admin_application(world.faults, clock, ensure_token(home)))
    places = [(application, options.port)]
    places += [(world.application_of(name), port) for name, port in options.own_ports.items()]
    async with AsyncExitStack() as open_ports:
        for place in places:
            await open_ports.enter_async_context(_listening(*place, options))
        # connections are closed before the ports are
        open_ports.push_async_callback(world.close)
        log.info("simulated exchanges are open", extra={"port": options.port, "seed": options.seed})
        ready()
        await world.run(clock, schedule, is_watched)


@asynccontextmanager
async def _listening(application: web.Application, port: int, options: ExchangesOptions) -> AsyncIterator[None]:
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, options.host, port, ssl_context=options.tls).start()
        yield
    finally:
        await runner.cleanup()


def main() -> None:
    """Run `python -m simulators.server --home DIR --port N [--seed N] [--market NAME] [--no-limits]`."""
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
