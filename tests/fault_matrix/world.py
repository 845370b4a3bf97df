"""All simulated exchanges, moving, in the test's own process: what was true when, and how often orders were sent."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.client import ExchangeConfig, simulated_config
from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from session.exchange_entries import ExchangeEntry
from session.session import ExchangeReach, Services, Session, SimulatedTerms
from simulators.faults.fault_kinds import Fault, FaultKind
from simulators.market.chosen_market import STORM
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.server import STEP_SECONDS, ExchangesOptions, SimulatedExchanges
from tests.fault_matrix.truth import Truth
from tests.simulators.wire_clients import WIRE_CLIENTS

MARKETS: dict[str, Market] = {market.exchange: market for market in reversed(simulated_markets()) if not market.is_fx}
ORDER_PATHS = {wire.exchange: wire.order("1", "1", "IOC").path.partition("?")[0] for wire in WIRE_CLIENTS}
"""Where each exchange takes orders."""
LAST_ROUNDS = 3
"""So that even Binance, which gathers changes, tells something."""
_STALL_LOOK_SECONDS = 0.01


@dataclass(slots=True)
class World:
    """Exchanges that move by themselves; all of it runs in one event loop, whose own stalls are measured."""

    exchanges: SimulatedExchanges
    session: Session
    truths: dict[str, Truth]
    order_requests: Counter[str]
    """Exchange → requests for an order that came to its door, whatever became of them."""
    stalls: list[tuple[int, int]] = field(default_factory=list)
    """When this machine stood still, and for how many microseconds."""

    moves: asyncio.Event = field(default_factory=asyncio.Event)
    parties: int = len(EXCHANGES)
    """How many exchanges are tried at once."""
    _turns: Iterator[str] = field(init=False)
    _meeting: asyncio.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self._turns = cycle(self.exchanges.gateways)
        self._meeting = asyncio.Barrier(self.parties)

    def exchange(self, name: str) -> SimulatedExchange:
        return self.exchanges.gateways[name].exchange

    def config(self, name: str) -> ExchangeConfig:
        entry = self.session.entry_of(name)
        url = self.session.simulated.url or ""
        return simulated_config(name, url, self.session.home, is_limited=False, entry=entry)

    def fault(self, exchange: str, kind: FaultKind, options: Mapping[str, object]) -> None:
        self.exchanges.faults.switch_on(Fault(exchange, kind, **options))  # type: ignore[arg-type]  # checked there

    def strikes(self, exchange: str, kind: FaultKind) -> int:
        return self.exchanges.faults.injected_counts().get(exchange, {}).get(kind, 0)

    def clear(self, exchange: str) -> None:
        self.exchanges.faults.clear(exchange)

    def cut_streams(self, exchange: str) -> None:
        self.exchanges.gateways[exchange].subscribers.cut()

    def journalled_orders(self, exchange: str) -> set[tuple[str, str | None]]:
        """Order id and client order id of all that stand in the exchange's own file."""
        path = self.session.home / "exchanges" / f"{exchange}.jsonl"
        entries = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        return {(order["order_id"], order["client_order_id"]) for entry in entries for order in entry["orders"]}

    def longest_stall(self, since: int) -> int:
        return max((length for at, length in self.stalls if at >= since), default=0)

    async def run(self) -> None:
        """Move on for ever, each exchange at its own pace, and keep what was true."""
        due, period = wall_now(), int(STEP_SECONDS * MICROSECONDS / len(EXCHANGES))
        while True:
            await self.moves.wait()
            self._step()
            due = max(due + period, wall_now() - period)
            await SystemClock().sleep(max(0, due - wall_now()) / MICROSECONDS)

    async def stand_still(self) -> None:
        """Once it is called for every exchange, each makes a few last steps, and all stop."""
        await self._meeting.wait()
        if self.moves.is_set():
            self.moves.clear()
            for _ in range(LAST_ROUNDS * len(EXCHANGES)):
                self._step()

    async def move(self) -> None:
        """Once it is called for every exchange, all go on."""
        await self._meeting.wait()
        self.moves.set()

    def _step(self) -> None:
        """Take the next exchange's turn."""
        name = next(self._turns)
        self.exchanges.step()
        self.truths[name].keep(wall_now())

    async def measure_stalls(self) -> None:
        while True:
            asked = wall_now()
            await SystemClock().sleep(_STALL_LOOK_SECONDS)
            late = wall_now() - asked - int(_STALL_LOOK_SECONDS * MICROSECONDS)
            self.stalls.append((asked, late))


@asynccontextmanager
async def moving_world(home: Path, *, is_generic: bool = False, parties: int = len(EXCHANGES)) -> AsyncIterator[World]:
    """`is_generic`: feeds and accounts go through ccxt's unified methods."""
    exchanges = SimulatedExchanges.open(home, SystemClock(), ExchangesOptions(0, 7, is_limited=False, market=STORM))
    order_requests: Counter[str] = Counter()
    application = exchanges.application()
    application.middlewares.append(_counting(order_requests))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    session = Session(
        session_id="matrix",
        mode="paper",
        home=home,
        services=Services(kafka="", mongodb="", database=""),
        markets=tuple(MARKETS.values()),
        settlement_currency="USD",
        simulated=SimulatedTerms(url=f"http://127.0.0.1:{runner.addresses[0][1]}", rate_limits=False),
        reach=ExchangeReach(entries={name: ExchangeEntry(name, "generic") for name in EXCHANGES} if is_generic else {}),
    )
    truths = {name: Truth(exchanges.gateways[name].exchange, market.symbol) for name, market in MARKETS.items()}
    world = World(exchanges, session, truths, order_requests, parties=parties)
    world.moves.set()
    tasks = [asyncio.create_task(world.run()), asyncio.create_task(world.measure_stalls())]
    try:
        yield world
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await exchanges.close()
        await runner.cleanup()


def _counting(order_requests: Counter[str]) -> Middleware:
    @web.middleware
    async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
        for exchange, path in ORDER_PATHS.items():
            if request.method == "POST" and request.path == f"/{exchange}{path}":
                order_requests[exchange] += 1
        return await handler(request)

    return count
