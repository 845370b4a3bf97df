"""What a session reads of its database does not grow with what earlier sessions have left there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

from market.trade.arbitrages import OPEN_STATES, Rejection
from market.trade.leases import UNFENCED
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from store.queries.episode_pages import EpisodeFilter
from store.queries.opportunity_pages import OpportunityFilter
from store.queries.sorted_pages import Order
from store.queries.trade_history import TradeFilter
from store.queries.trade_reader import TradeReader
from store.server.client import Database, Document, connect
from store.server.documents import (
    ARBITRAGES,
    EPISODES,
    FILLS,
    OPPORTUNITIES,
    REJECTIONS,
    SESSION_BALANCES,
    STEPS,
)
from tests.store.booking import finish_leg
from tests.store.reservation_requests import OPENING, close, episode_of, filled, granted, opportunity, reserved

GROWING = (ARBITRAGES, STEPS, FILLS, OPPORTUNITIES, REJECTIONS, EPISODES, SESSION_BALANCES)
COPIES = 200
ENOUGH = 50
"""More than one session's few documents, far fewer than the copies."""
TIMES = ("at", "before_at", "alive_until")
OF_A_DAY = 24 * 3_600 * 1_000_000


async def trade(store: MongoTradeStore) -> None:
    """One arbitrage with everything that belongs to it."""
    seen = opportunity()
    for exchange, balances in OPENING.items():
        await store.balances.replace(exchange, balances, "before", UNFENCED)
    await store.save_opportunities([seen])
    await store.save_episodes([episode_of(seen, None)])
    names = (seen.base, seen.buy.exchange, seen.sell.exchange, seen.buy.exchange)
    await store.reject([Rejection("one", "another", *names, "too_small", 1.0, Decimal(1), wall_now())])
    await reserved(store, seen, "0.01")
    for leg in (await granted(store, seen.opportunity_id, "buy"), await granted(store, seen.opportunity_id, "sell")):
        await finish_leg(store, seen.opportunity_id, leg.role, filled(leg), close, UNFENCED)


async def copy_as_earlier(database: Database) -> None:
    """Copy what the session left, as if many had left the same a day ago and before."""
    for name in GROWING:
        found = [document async for document in database[name].find()]
        assert found, name
        copies = [earlier(document, name, number) for document in found for number in range(COPIES)]
        await database[name].insert_many(copies)


def earlier(document: Document, collection: str, number: int) -> Document:
    copied: Document = {**document, "_id": f"{number}, {document['_id']}"}
    if collection == STEPS:
        return copied | {"arbitrage_id": f"{number}, {document['arbitrage_id']}"}
    copied["session_id"] = f"session {number}, earlier"
    copied |= _earlier_numbers({name: document[name] for name in TIMES if name in document})
    times = document.get("times")
    return copied | ({"times": _earlier_numbers(times)} if isinstance(times, dict) else {})


def _earlier_numbers(times: Document) -> Document:
    return {name: at - OF_A_DAY for name, at in times.items() if isinstance(at, int)}


@asynccontextmanager
async def examined(database: Database) -> AsyncIterator[dict[str, int]]:
    """Afterwards: command and collection → the most documents or keys that one of them looked at in the block."""
    found: dict[str, int] = {}
    await database.command("profile", 2)
    try:
        yield found
    finally:
        await database.command("profile", 0)
    async for seen in database["system.profile"].find({"ns": {"$ne": f"{database.name}.system.profile"}}):
        most = max(seen.get("docsExamined", 0), seen.get("keysExamined", 0))
        what = f"{seen['ns']}: {seen.get('command')}"
        found[what] = max(most, found.get(what, 0))


async def look_as_bots(store: MongoTradeStore, since: int) -> None:
    """At the start, in each round, and in each reconciliation."""
    await store.overview()
    await store.balances.of_session()
    await store.differences.trades_since("alpha", since)
    await store.differences.orders_since("beta", since)
    await store.unconfirmed_legs("alpha", since)
    await store.running_episodes(wall_now())
    await store.resumable_arbitrages()
    await store.order_results()
    await store.traded(["opportunity-1", "opportunity-2"])
    await store.arbitrage("opportunity-1")


async def look_as_pages(reader: TradeReader) -> None:
    await reader.arbitrages((), None, 50)
    await reader.arbitrages(OPEN_STATES, None, 50)
    await reader.totals("USD")
    await reader.history.equity("USD")
    await reader.history.arbitrages(TradeFilter(), None, 50)
    await reader.history.arbitrages(TradeFilter(exchange="alpha", states=("closed",)), None, 50)
    await reader.history.fills(TradeFilter(), None, 50)
    await reader.history.arbitrages(TradeFilter(), None, 50, Order("net"))
    await reader.history.fills(TradeFilter(), None, 50, Order("net"))
    await reader.history.fills(TradeFilter(), None, 50, Order("price"))
    await reader.history.sums(TradeFilter())
    await reader.history.sums(TradeFilter(has_third_order=True))
    await reader.history.average_sums()
    await reader.episodes(EpisodeFilter(), None, 50)
    await reader.kept_opportunities.page(OpportunityFilter(), None, 50)
    await reader.opportunity_sums.of_session()
    await reader.opportunity_sums.recent(3_600)
    await reader.opportunity_sums.episodes.recent(3_600)
    await reader.rejections(None, None, 50)
    await reader.rejections("too_small", None, 50)
    await reader.rejection_counts()
    await reader.counters()


async def test_nothing_that_a_session_reads_grows_with_earlier_ones(
    reader: TradeReader, mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    await trade(mongo_store)
    client = connect(mongodb_uri)
    try:
        await copy_as_earlier(client[database])
        async with examined(client[database]) as found:
            await look_as_bots(mongo_store, await mongo_store.server_now() - OF_A_DAY // 24)
            await look_as_pages(reader)
    finally:
        client.close()
    assert len(found) > 20
    assert {what: most for what, most in found.items() if most > ENOUGH} == {}
