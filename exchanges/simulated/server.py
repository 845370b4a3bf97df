"""All simulated exchanges in one process: one port, one path per exchange, prices that step."""

import argparse
import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from exchanges.credentials import Credentials
from exchanges.simulated import bitflyer, bitstamp, coinbaseexchange, kraken
from exchanges.simulated.credentials import ensure_credentials
from exchanges.simulated.exchange import Names, SimulatedExchange
from exchanges.simulated.gateway import Gateway, MarketStep
from exchanges.simulated.journal import Journal
from exchanges.simulated.ladders import Ladder
from exchanges.simulated.listings import listings_of, opening_balances
from exchanges.simulated.prices import Prices
from market.clock import MICROSECONDS, Clock, SystemClock, wall_now

log = logging.getLogger(__name__)

STEP_SECONDS = 0.038
"""Between two steps of one exchange's books."""
_FX_EVERY = 10
_BEAT_EVERY = 26

_GATEWAYS: dict[str, tuple[Callable[[SimulatedExchange, Credentials], Gateway], Names]] = {
    coinbaseexchange.NAME: (coinbaseexchange.CoinbaseExchangeGateway, coinbaseexchange.NAMES),
    bitstamp.NAME: (bitstamp.BitstampGateway, bitstamp.NAMES),
    bitflyer.NAME: (bitflyer.BitflyerGateway, bitflyer.NAMES),
    kraken.NAME: (kraken.KrakenGateway, kraken.NAMES),
}


@dataclass(slots=True)
class _Turn:
    """One exchange and the ladders that quote on it."""

    gateway: Gateway
    ladders: dict[str, Ladder]
    count: int = 0


@dataclass(slots=True)
class SimulatedExchanges:
    """The outside world: gateways, prices and ladders; `step` moves one exchange on, in turn."""

    gateways: dict[str, Gateway]
    prices: Prices
    journals: list[Journal]
    _turns: list[_Turn] = field(default_factory=list)
    _next: int = 0

    @classmethod
    def open(cls, home: Path, seed: int, clock: Clock) -> "SimulatedExchanges":
        """Recover what the journals under `<home>/exchanges/` know; the first start makes accounts and keys."""
        credentials = ensure_credentials(home, tuple(_GATEWAYS))
        gateways, journals = {}, []
        for name, (make, names) in _GATEWAYS.items():
            journal = Journal(home / "exchanges" / f"{name}.jsonl")
            journals.append(journal)
            exchange = SimulatedExchange(name, listings_of(name), opening_balances(name), names, clock, journal)
            gateways[name] = make(exchange, credentials[name])
        world = cls(gateways, Prices(seed, {name: listings_of(name) for name in gateways}), journals)
        for gateway in gateways.values():
            listings = gateway.exchange.listings
            world._turns.append(_Turn(gateway, {symbol: Ladder(row, seed) for symbol, row in listings.items()}))
        for _ in gateways:
            world.step()
        return world

    def step(self) -> None:
        """One exchange's turn: prices move, the maker requotes, the crowd takes, readers are told in one message."""
        turn = self._turns[self._next]
        self._next = (self._next + 1) % len(self._turns)
        gateway = turn.gateway
        self.prices.advance_latent(STEP_SECONDS / len(self._turns))
        self.prices.advance_exchange(gateway.exchange.name, STEP_SECONDS)
        for symbol, ladder in turn.ladders.items():
            listing = gateway.exchange.listings[symbol]
            if listing.market.is_fx and turn.count % _FX_EVERY:
                continue
            gateway.exchange.quote(symbol, *ladder.levels(self.prices.mid(listing)))
            taker = ladder.taker(STEP_SECONDS)
            if taker is not None:
                gateway.exchange.take(symbol, *taker)
            exchange = gateway.exchange
            market_step = MarketStep(symbol, exchange.books[symbol].drain_changes(), exchange.tape.drain(symbol))
            if market_step.changes or market_step.trades:
                gateway.publish(market_step)
        turn.count += 1
        if turn.count % _BEAT_EVERY == 0:
            gateway.beat()

    def application(self) -> web.Application:
        application = web.Application()
        for name, gateway in self.gateways.items():
            application.add_subapp(f"/{name}", gateway.application())
        return application

    async def run(self, clock: Clock) -> None:
        """Step for ever, each exchange once every STEP_SECONDS; after a stall it goes on without catching up.

        Raises OSError once a journal could not be written: what is in memory is then more than what was kept.
        """
        period = int(STEP_SECONDS * MICROSECONDS / len(self._turns))
        due = wall_now()
        while True:
            self.step()
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


async def run_exchanges(home: Path, port: int, seed: int, ready: Callable[[], None]) -> None:
    """Serve all simulated exchanges on loopback until cancelled.

    `http://127.0.0.1:<port>/<exchange>`, `ws://127.0.0.1:<port>/<exchange>/ws`. Raises OSError where the port is taken
    or a journal cannot be written: started again, each exchange goes on from what its journal has.
    """
    clock = SystemClock()
    world = SimulatedExchanges.open(home, seed, clock)
    runner = web.AppRunner(world.application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        log.info("simulated exchanges are open", extra={"port": port, "seed": seed})
        ready()
        await world.run(clock)
    finally:
        await world.close()
        await runner.cleanup()


def main() -> None:
    """`python -m exchanges.simulated.server --home DIR --port N [--seed N]`."""
    parser = argparse.ArgumentParser(description="Simulated exchanges on loopback")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    asyncio.run(_until_terminated(arguments.home, arguments.port, arguments.seed))


async def _until_terminated(home: Path, port: int, seed: int) -> None:
    task = asyncio.create_task(run_exchanges(home, port, seed, lambda: None))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    main()
