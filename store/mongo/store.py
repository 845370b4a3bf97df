"""The store on MongoDB: arbitrages step by step, each step one transaction or one guarded write."""

from collections.abc import AsyncGenerator, Collection, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Self

from pymongo import ReplaceOne

from market.instruments.orders import Fill
from market.prices.episodes import Episode, EpisodeOutcome
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, Rejection, TradeOfLegs
from market.trade.cycle_trades import CycleTrade
from market.trade.grants import Grant
from market.trade.leases import Actor
from market.trade.leg_lifecycle import unconfirmed
from market.trade.order_results import OrderResult
from session.session import Session as MarketSession
from store.aggregates.episode_sums import EpisodeSums, episodes_by_outcome, missed_profit
from store.aggregates.month_sums import RemovedTrades, read_removed
from store.aggregates.session_totals import rejection_counts
from store.cycle_steps import CycleSteps, CycleWork
from store.errors import StoreError
from store.mongo.arbitrages import OLDEST_FIRST, OPEN, RESUMABLE, read_arbitrages, read_cycle_trades, read_trades
from store.mongo.averages import MongoAverages
from store.mongo.balances import MongoBalances
from store.mongo.consumer_positions import ConsumerPositions
from store.mongo.cycle_unit import MongoCycleUnit
from store.mongo.differences import MongoDifferences
from store.mongo.ended_arbitrages import remove_ended_before
from store.mongo.health import MongoHealth
from store.mongo.leases import MongoLeases
from store.mongo.observations import MongoObservations
from store.mongo.orders import MongoOrders
from store.mongo.overview import read_overview
from store.mongo.settings import MongoSettings
from store.mongo.transfers import MongoTransfers
from store.mongo.unit_of_work import MongoUnitOfWork
from store.operations.apps import MongoApps
from store.operations.backtests import MongoBacktests
from store.operations.failed_rows import MongoFailedRows
from store.ports.trading import Overview
from store.records.cycle_rejection import CycleRejection
from store.server.change_streams import ChangeStreamProgress
from store.server.client import (
    AS_CONFIGURED,
    DURABLE,
    QUICK,
    REGION,
    Client,
    Document,
    connect,
    database_of,
    read_nearby,
    translated_errors,
)
from store.server.clock import server_now
from store.server.deciding_region import Standpoint, connect_watched
from store.server.documents import (
    ARBITRAGES,
    CLAIMS,
    CYCLE_TRADES,
    FEEDS,
    FILLS,
    SESSION_CLAIM,
    arbitrage_of,
    feed_document,
    fill_of,
)
from store.server.indexes import create_indexes
from store.server.transactions import Transaction, in_discarded_transaction, in_transaction
from store.unit_of_work import Result, TradeSteps, Work


async def open_store(session: MarketSession) -> "MongoTradeStore":
    """Return the store of `session`, its database prepared; close it, or use it in `async with`.

    Raises StoreUnavailableError if MongoDB is not reached, StoreError if its address is none, or where the
    session has a region and the primary has none.
    """
    if session.place.region is None:
        client, place = connect(session.services.mongodb), None
    else:
        client, watch = connect_watched(session.services.mongodb)
        place = Standpoint(session.place.region, watch)
    store = MongoTradeStore(client, session.services.database, session.session_id, place)
    try:
        await store.prepare()
        if place is not None and place.primary.newest is None:
            raise StoreError(
                f"The primary of MongoDB has no tag {REGION!r}, so nobody knows who decides: give each member of its "
                "replica set that tag with its region."
            )
    except BaseException:
        await store.close()
        raise
    return store


class MongoTradeStore(TradeSteps, CycleSteps):
    """`TradeStore` in one database; many processes share it."""

    def __init__(self, client: Client, database: str, session_id: str, place: Standpoint | None = None) -> None:
        """`place`: in a session of several regions."""
        self._client = client
        self.place = place
        self._database = database_of(client, database, DURABLE if place is None else AS_CONFIGURED)
        nearby = self._database if place is None else read_nearby(self._database, place.region)
        self._session_id = session_id
        self.grants_progress, self.settings_progress = ChangeStreamProgress(), ChangeStreamProgress()
        self._orders = MongoOrders(self._database, self.grants_progress, nearby)
        self.settings = MongoSettings(self._database, self.settings_progress)
        self.balances = MongoBalances(self._database, session_id)
        self.leases = MongoLeases(self._database, place)
        self.differences = MongoDifferences(self._database, self.balances)
        self.transfers = MongoTransfers(self._database, self.balances, session_id)
        self.averages = MongoAverages(self._database, session_id)
        self.backtests = MongoBacktests(self._database)
        self.apps = MongoApps(self._database, None if place is None else place.region)
        self.failed_rows = MongoFailedRows(self._database)
        self._observations = MongoObservations(self._database, session_id)
        self.health = MongoHealth(self._database)
        self.consumer_positions = ConsumerPositions(self._database)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def prepare(self) -> None:
        """Make collections and indexes that are missing."""
        with translated_errors():
            await create_indexes(self._database)

    async def close(self) -> None:
        self._client.close()

    async def server_now(self) -> int:
        with translated_errors():
            return await server_now(self._database)

    async def overview(self) -> Overview:
        return await read_overview(self._database, self._session_id)

    async def save_opportunities(self, opportunities: Sequence[Opportunity]) -> None:
        await self._observations.save_opportunities(opportunities)

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        await self._observations.reject(rejections)

    async def reject_cycles(self, rejections: Sequence[CycleRejection]) -> None:
        await self._observations.reject_cycles(rejections)

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        await self._observations.save_episodes(episodes)

    async def running_episodes(self, now: int) -> list[Episode]:
        return await self._observations.running_episodes(now)

    async def rejected_profit(self) -> dict[str, Decimal]:
        """Reason → missed profit of this session, each episode once (`market.prices.episodes`)."""
        return missed_profit(await EpisodeSums(self._database, {"session_id": self._session_id}).of_session())

    async def episode_counts(self) -> dict[EpisodeOutcome, int]:
        """Outcome → how many episodes of this session."""
        return episodes_by_outcome(await EpisodeSums(self._database, {"session_id": self._session_id}).of_session())

    async def rejection_counts(self) -> dict[str, int]:
        """Reason → how many in this session, including those only counted."""
        return await rejection_counts(self._database, {"session_id": self._session_id})

    async def in_unit_of_work(self, work: Work[Result]) -> Result:
        def step(transaction: Transaction) -> Result:
            return work(MongoUnitOfWork(transaction, self._session_id))

        return await in_transaction(self._database, step)

    async def in_discarded_unit_of_work(self, work: Work[object]) -> None:
        """Run `work`, and keep nothing that it writes. Raises StoreUnavailableError, FencedOutError."""

        def step(transaction: Transaction) -> object:
            return work(MongoUnitOfWork(transaction, self._session_id))

        await in_discarded_transaction(self._database, step)

    async def in_cycle_unit(self, work: CycleWork[Result]) -> Result:
        def step(transaction: Transaction) -> Result:
            return work(MongoCycleUnit(transaction, self._session_id))

        return await in_transaction(self._database, step)

    async def cycle_trade(self, trade_id: str) -> CycleTrade | None:
        found = await read_cycle_trades(self._database, {"_id": trade_id})
        return found[0] if found else None

    async def open_cycles(self) -> list[CycleTrade]:
        return await read_cycle_trades(self._database, OPEN)

    async def open_trades(self) -> list[TradeOfLegs]:
        return await read_trades(self._database, OPEN, OPEN)

    async def resumable_cycles(self) -> list[CycleTrade]:
        return await read_cycle_trades(self._database, RESUMABLE)

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        return await read_arbitrages(self._database, RESUMABLE)

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        asked = {"$gte": since}
        pairs: Document = {"legs.times.unconfirmed": asked}
        cycles: Document = {"orders.leg.times.unconfirmed": asked}
        return unconfirmed(await read_trades(self._database, pairs, cycles), exchange, since)

    async def open_arbitrages(self) -> list[Arbitrage]:
        return await read_arbitrages(self._database, OPEN)

    async def session_arbitrages(self) -> list[Arbitrage]:
        """All that began in this session, oldest first."""
        return await read_arbitrages(self._database, {"session_id": self._session_id})

    async def session_cycles(self) -> list[CycleTrade]:
        """All trades on cycles that began in this session, oldest first."""
        return await read_cycle_trades(self._database, {"session_id": self._session_id})

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None:
        with translated_errors():
            document = await self._database[ARBITRAGES].find_one({"_id": arbitrage_id})
        return None if document is None else arbitrage_of(document)

    async def traded(self, opportunity_ids: Collection[str]) -> frozenset[str]:
        wanted: Document = {"_id": {"$in": list(opportunity_ids)}}
        with translated_errors():
            kept = [self._database[name].find(wanted, {"_id": 1}) for name in (ARBITRAGES, CYCLE_TRADES)]
            return frozenset([str(document["_id"]) for found in kept async for document in found])

    def watch_grants(self, exchange: str) -> AsyncGenerator[Grant]:
        return self._orders.watch_grants(exchange)

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        await self._orders.report(result, by)

    async def order_results(self, arbitrage_id: str | None = None) -> list[OrderResult]:
        return await self._orders.results(arbitrage_id)

    def watch_order_results(self) -> AsyncGenerator[OrderResult]:
        return self._orders.watch_results()

    async def stop_reservations(self) -> None:
        with translated_errors():
            await self._database[CLAIMS].update_one({"_id": SESSION_CLAIM}, {"$set": {"stopped": self._session_id}})

    async def reservations_open(self) -> bool:
        with translated_errors():
            stopped = await self._database[CLAIMS].find_one({"_id": SESSION_CLAIM, "stopped": self._session_id})
        return stopped is None

    async def fills(self) -> list[Fill]:
        with translated_errors():
            found = self._database[FILLS].find({"session_id": self._session_id})
            return [fill_of(document) async for document in found.sort(OLDEST_FIRST)]

    async def removed_trades(self) -> RemovedTrades:
        """Return what was removed of this session for its age."""
        return await read_removed(self._database, self._session_id)

    async def remove_ended_before(self, moment: int) -> int:
        """Remove some arbitrages, of whatever session, that ended before `moment` (the server's time), keeping their
        sums; how many. 0: there are none."""
        return await remove_ended_before(self._database, moment)

    async def save_feed_states(self, states: Sequence[FeedState]) -> None:
        documents = map(feed_document, states)
        writes = [ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in documents]
        with translated_errors():
            feeds = self._database[FEEDS].with_options(write_concern=QUICK)
            await feeds.bulk_write(writes, ordered=False)
