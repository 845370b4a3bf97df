"""One trading process of the benchmark: a bot of one exchange as it runs in a session, or the floor.

Opportunities come as lines on standard input; each step reached goes out as a line on standard output.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

import orjson
from pydantic import TypeAdapter

from benchmarks.trading_services import read_terms
from bots.decide.state_cache import StateCache
from bots.lease_keeper import LeaseKeeper, holder_name
from bots.loop import BotLoop
from bots.subscriptions import Signal
from exchanges.accounts.exchange_account import open_session_account
from exchanges.ports.account import TradingAccount
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.decide.settings import Settings
from market.decide.sizing import SizedLeg, Sizing, SizingSide, size
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport, Side
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from market.trade.leases import Actor
from market.trade.leg_lifecycle import Advance
from market.trade.reservation_state import SIDES
from market.trade.reservations import Reservation, ReservationResult
from market.trade.unwinding import client_order_id, markets_by_symbol
from runtime.clock import wall_now
from runtime.tasks import run_all
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.server.client import connect

StepName = Literal["reserved", "sent", "closed"]
FLOOR = "floor"
READY = b"ready"
OPPORTUNITY: TypeAdapter[Opportunity] = TypeAdapter(Opportunity)
LINE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """`at` in microseconds of wall time. `sent`: one of the first two orders is handed to ccxt; `closed`: it is
    over."""

    arbitrage_id: str
    name: StepName
    at: int
    outcome: str = ""
    """How it closed; "by more": with a leg that completed or reversed another."""


class NotingStore(MongoTradeStore):
    """The real store, which also reports when a process knew of a step."""

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        result = await super().reserve(reservation, by)
        if result.arbitrage is not None and result.arbitrage.state == "reserved":
            note(result.arbitrage.arbitrage_id, "reserved")
        return result

    async def book(self, arbitrage_id: str, advance: Advance, by: Actor) -> Arbitrage:
        arbitrage = await super().book(arbitrage_id, advance, by)
        if arbitrage.state in FINAL_STATES:
            note(arbitrage_id, "closed", arbitrage.state if len(arbitrage.legs) == 2 else f"{arbitrage.state} by more")
        return arbitrage


class NotingAccount:
    """The real account, which also reports when it gets one of the first two orders of an opportunity."""

    def __init__(self, account: TradingAccount) -> None:
        self._account = account
        self._orders: dict[str, str] = {}
        """Client order id → opportunity."""

    async def expecting(self, opportunities: AsyncIterator[Signal]) -> AsyncIterator[Signal]:
        async for signal in opportunities:
            if isinstance(signal, Opportunity):
                identity = signal.opportunity_id
                self._orders |= {client_order_id(identity, side): identity for side in SIDES}
            yield signal

    @property
    def exchange(self) -> str:
        return self._account.exchange

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        if order.client_order_id in self._orders:
            note(self._orders[order.client_order_id], "sent")
        return await self._account.place(order, permit)

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        return await self._account.look_up(order, others)

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        await self._account.cancel(order, exchange_order_id)

    async def open_orders(self) -> list[OpenOrder]:
        return await self._account.open_orders()

    async def fills_since(self, since: int) -> list[AccountFill]:
        return await self._account.fills_since(since)

    async def balances(self) -> dict[str, Decimal]:
        return await self._account.balances()

    async def close(self) -> None:
        await self._account.close()


async def trade_as_bot(session: Session, exchange: str) -> None:
    """Trade with the lease, desk and account of a bot; only its opportunities do not come by Kafka."""
    async with AsyncExitStack() as stack:
        store = NotingStore(connect(session.services.mongodb), session.services.database, session.session_id)
        await stack.enter_async_context(store)
        await store.prepare()
        account = NotingAccount(open_session_account(session, exchange, {}))
        stack.push_async_callback(account.close)
        lease = LeaseKeeper(store.leases, exchange, holder_name(exchange))
        by = await lease.acquire()
        settings = await store.settings.current()
        assert settings is not None
        cache = StateCache(settings, exchange, session.services.partitions)
        bot_loop = BotLoop(store, account, session.traded, session.clock(), cache, by=by)
        await run_all(lease.keep_renewing(), bot_loop.run(account.expecting(signals()), ready))


async def trade_as_floor(session: Session, settings: Settings) -> None:
    """Do the least that a bot can do: size, post both orders at once, wait for both to end. It keeps nothing."""
    async with AsyncExitStack() as stack:
        accounts: dict[str, TradingAccount] = {}
        for exchange in session.exchanges:
            accounts[exchange] = open_session_account(session, exchange, {})
            stack.push_async_callback(accounts[exchange].close)
            await accounts[exchange].balances()
        ready()
        async for opportunity in signals():
            if isinstance(opportunity, Opportunity):
                await _both_legs(session, settings, opportunity, accounts)


async def _both_legs(
    session: Session, settings: Settings, opportunity: Opportunity, accounts: dict[str, TradingAccount]
) -> None:
    identity = opportunity.opportunity_id
    buy = _book(session, settings, opportunity, opportunity.buy, "buy")
    sell = _book(session, settings, opportunity, opportunity.sell, "sell")
    sizing = size(buy, sell, settings)
    if not isinstance(sizing, Sizing):
        note(identity, "closed", sizing)
        return
    orders = [_order(identity, book, sized) for book, sized in ((buy, sizing.buy), (sell, sizing.sell))]
    reports = await asyncio.gather(*(_seen_through(accounts[order.exchange], order, identity) for order in orders))
    is_filled = all(report.filled == order.amount for report, order in zip(reports, orders, strict=True))
    note(identity, "closed", "closed" if is_filled else "single_leg")


def _book(
    session: Session, settings: Settings, opportunity: Opportunity, seen: OpportunityLeg, side: Side
) -> SizingSide:
    market = markets_by_symbol(session.traded)[seen.exchange, seen.symbol]
    fee_rate = settings.taker_fees[seen.exchange]
    return SizingSide(side, market, seen.levels, fee_rate, opportunity.rate(seen.quote_currency))


def _order(identity: str, book: SizingSide, sized: SizedLeg) -> LimitOrder:
    return LimitOrder(
        client_order_id=client_order_id(identity, book.side),
        exchange=book.market.exchange,
        symbol=book.market.symbol,
        side=book.side,
        amount=sized.amount,
        price=sized.limit_price,
        intended_at=wall_now(),
    )


async def _seen_through(account: TradingAccount, order: LimitOrder, identity: str) -> OrderReport:
    note(identity, "sent")
    report: OrderReport | None = await account.place(order)
    while report is None or not report.is_final:
        report = await account.look_up(order)
    return report


async def signals() -> AsyncIterator[Signal]:
    """Yield opportunities from standard input, until it ends."""
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield OPPORTUNITY.validate_json(line)


def note(arbitrage_id: str, name: StepName, outcome: str = "") -> None:
    _report(orjson.dumps(asdict(Step(arbitrage_id, name, wall_now(), outcome))))


def ready() -> None:
    _report(READY)


def _report(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


async def _trade(name: str, session: Session, settings: Settings) -> None:
    if name == FLOOR:
        await trade_as_floor(session, settings)
    else:
        await trade_as_bot(session, name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name", help=f"an exchange, or {FLOOR}")
    parser.add_argument("home", type=Path, help="folder with session and settings")
    arguments = parser.parse_args()
    asyncio.run(_trade(arguments.name, *read_terms(arguments.home)))
