"""How many round trips lie, one after the other, between a decision and the order that follows from it: counted from
what processes send to real servers. Across regions each is the ocean's width."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest

from bots.decide.reserver import Reserver
from bots.decide.state_cache import StateCache
from bots.execute.leg_executor import LegExecutor
from bots.server_clock import ServerClock
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.money import Amount
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED, Actor, decision_right
from market.trade.unwinding import markets_by_symbol
from runtime.clock import SystemClock
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from tests.bots.exchange_floor import OPENING
from tests.bots.test_reserver import SETTINGS, Said
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, levels, opportunity_of
from tests.store.command_trace import CommandTrace, SentCommand, in_sequence
from tests.store.conftest import SteppedClock
from tests.store.regional_mongods import CALM_MS, REGIONS, regional_mongods
from tests.store.reservation_requests import ready_bot

OPPORTUNITY = opportunity_of(
    (USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))), lifetime=600_000_000
)
DECIDED_BY = ["aggregate", "insert", "insert", "update", "update", "commitTransaction"]
"""What is sent between a decision and both legs' grants: all that is read, then the arbitrage, its step with the
grants, balances and claims. Whoever adds a command here adds a round trip to each trade."""
DEADLINE_SECONDS = 240


@dataclass
class WatchedAccount:
    """An exchange that fills each order at once, and notes what its bot had sent to the store by then."""

    trace: CommandTrace
    exchange: str
    sent_before: list[SentCommand] = field(default_factory=list)
    posted: list[LimitOrder] = field(default_factory=list)

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        permit.check()
        self.sent_before = list(self.trace.sent)
        self.posted.append(order)
        return OrderReport("exchange-1", is_final=True, filled=Amount(Decimal(0)), fills=())

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        raise AssertionError("the order's end is known")

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        raise AssertionError("the order's end is known")

    async def balances(self) -> dict[str, Decimal]:
        return {}

    async def open_orders(self) -> list[OpenOrder]:
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return []

    async def close(self) -> None:
        """Nothing is held open."""


@dataclass
class Bot:
    """The bot of one exchange: it hears of grants, and posts the first one."""

    store: MongoTradeStore
    trace: CommandTrace
    exchange: str
    by: Actor = UNFENCED
    sent_after_grant: list[SentCommand] = field(default_factory=list)
    heard_from: str = ""
    """The address of the member that told of the grant."""

    async def run(self) -> None:
        account = WatchedAccount(self.trace, self.exchange)
        clock = ServerClock(lambda: 0)
        async for grant in self.store.watch_grants(self.exchange):
            told = list(self.trace.sent)
            executor = LegExecutor(self.store, account, self.by, server_clock=clock)
            self.heard_from = [one.address for one in told if one.name == "getMore"][-1]
            # as each of the bot's rounds does, which hold up no order
            clock.observe(grant.leg.times["granted"], 0)
            await executor.execute(grant.arbitrage_id, grant.leg)
            assert [order.client_order_id for order in account.posted] == [grant.leg.client_order_id]
            self.sent_after_grant = account.sent_before[len(told) :]
            return

    async def watching(self) -> None:
        """Wait until the bot hears of later grants."""
        while not any(one.name == "getMore" for one in self.trace.sent):
            await SystemClock().sleep(0)


async def decided(store: MongoTradeStore, trace: CommandTrace, by: Actor) -> list[SentCommand]:
    """Both legs of the opportunity, granted by a real decider; returns what it sent for that."""
    cache, granted, said = StateCache(SETTINGS), list[Arbitrage](), Said()
    cache.update_balances(await store.balances.rows())
    clock = SteppedClock()
    clock.time = OPPORTUNITY.detected_time
    reserver = Reserver(
        store=store,
        markets=markets_by_symbol(MARKETS),
        clock=clock,
        cache=cache,
        rejection_log=said,
        execute=granted.append,
        actor_of=lambda _: by,
        places_left=lambda _opportunity, _under_way: (None, None),
    )
    before = len(trace.sent)
    await reserver.attempt(OPPORTUNITY)
    assert said.reasons == []
    assert [leg.state for leg in granted[0].legs] == ["granted", "granted"]
    return trace.sent[before:]


async def traded(
    stores: Mapping[str, MongoTradeStore], traces: Mapping[str, CommandTrace]
) -> tuple[list[SentCommand], list[Bot]]:
    """One trade; what its decision sent, and both bots after their posts. `stores`: exchange → of its bot, and
    `decider`."""
    bots = [Bot(stores[exchange], traces[exchange], exchange) for exchange in OPENING]
    decider = stores["decider"]
    await decider.settings.create(SETTINGS)
    for exchange, balances in OPENING.items():
        await decider.balances.replace(exchange, balances, "before", UNFENCED)
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
        for bot in bots:
            group.create_task(bot.run())
            await bot.watching()
        # last, since leases are short
        for bot in bots:
            bot.by = await ready_bot(bot.store, bot.exchange)
        sent = await decided(decider, traces["decider"], await ready_bot(decider, decision_right(0)))
    return sent, bots


def assert_as_few_as_can_be(sent: list[SentCommand], bots: list[Bot]) -> None:
    """One commit by a majority and the grant's notification, and nothing else that crosses an ocean."""
    assert [one.name for one in in_sequence(sent)] == DECIDED_BY
    assert len(sent) == len(DECIDED_BY)
    assert [one.name for one in sent if one.waits_for_majority] == ["commitTransaction"]
    for bot in bots:
        # the stream reads on beside it, which no order waits for
        assert [one.name for one in bot.sent_after_grant if one.name != "getMore"] == []


async def test_a_decision_is_one_commit_and_its_news(mongodb_uri: str, database: str) -> None:
    names = ("decider", *OPENING)
    traces = {name: CommandTrace() for name in names}
    async with AsyncExitStack() as stack:
        stores = {}
        for name in names:
            client = connect(mongodb_uri, listeners=[traces[name]])
            stores[name] = await stack.enter_async_context(MongoTradeStore(client, database, "session-1"))
        await stores["decider"].prepare()
        assert_as_few_as_can_be(*await traded(stores, traces))


@pytest.mark.soak
async def test_across_regions_only_the_commit_and_its_news_leave_the_region(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        mongods = stack.enter_context(regional_mongods(tmp_path, election_ms=CALM_MS))
        await mongods.wait_ready()
        async with mongods.store("us") as any_store:
            await any_store.prepare()
            place = any_store.place
            assert place is not None
            leader = place.primary.region
        assert leader in ("us", "eu")
        far = [region for region in REGIONS if region != leader]
        places = {"decider": leader} | dict(zip(OPENING, far, strict=True))
        traces = {name: CommandTrace() for name in places}
        stores = {
            name: await stack.enter_async_context(mongods.store(region, [traces[name]]))
            for name, region in places.items()
        }
        for store in stores.values():
            await store.prepare()
        sent, bots = await traded(stores, traces)
        assert_as_few_as_can_be(sent, bots)
        # what is not the commit's wait for a majority goes no further than the member in the decider's own region
        assert {one.address for one in sent} == {mongods.members[leader].address}
        for bot in bots:
            assert bot.heard_from == mongods.members[places[bot.exchange]].address


def command(began: int, ended: int | None) -> SentCommand:
    return SentCommand("find", "127.0.0.1:1", waits_for_majority=False, began=began, ended=ended)


@pytest.mark.parametrize(
    ("commands", "count"),
    [
        ([], 0),
        ([(0, 10), (10, 20), (25, 30)], 3),
        # at the same time
        ([(0, 10), (1, 9), (2, 11)], 1),
        # the second one waits for one of the first two
        ([(0, 10), (0, 20), (12, 25)], 2),
        # not answered yet
        ([(0, 10), (12, None)], 1),
    ],
)
def test_round_trips_in_sequence(commands: list[tuple[int, int | None]], count: int) -> None:
    assert len(in_sequence([command(*one) for one in commands])) == count
