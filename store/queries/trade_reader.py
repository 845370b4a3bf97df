"""The read side for the dashboard: pages, counts and sums of a session, and their changes."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from decimal import Decimal

from pymongo import ASCENDING, DESCENDING

from market.accounting.differences import DifferenceKind, StoredDifference
from market.accounting.performance import HourSum
from market.accounting.profit_groups import ProfitGroup
from market.accounting.transfer_lifecycle import MoneyTransfer
from market.decide.settings import Settings
from market.instruments.orders import Fill
from market.prices.episodes import Episode
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, ArbitrageState, ProfitAndLoss, Rejection
from market.trade.cycle_trades import CycleTrade
from market.trade.moving_average import AverageTrade
from session.session import Session
from store.aggregates.episode_sums import episodes_by_outcome, missed_episodes, missed_profit
from store.aggregates.hour_sums import RunningHours
from store.aggregates.opportunity_sums import OpportunitySums
from store.aggregates.profit_sums import RunningProfits
from store.aggregates.session_totals import RunningTotals, SessionTotals, rejection_counts
from store.errors import HistoryLostError
from store.mongo.averages import read_average_trades
from store.mongo.balances import MongoBalances
from store.mongo.consumer_positions import ConsumerPositions
from store.mongo.differences import OPEN_DIFFERENCES, MongoDifferences, difference_of
from store.mongo.health import MongoHealth
from store.mongo.leases import MongoLeases
from store.mongo.risk_counters import RiskCounters, read_counters
from store.mongo.settings import MongoSettings
from store.mongo.transfers import MongoTransfers
from store.operations.apps import MongoApps
from store.operations.audit import MongoAudit
from store.operations.backtests import MongoBacktests
from store.operations.failed_rows import MongoFailedRows
from store.operations.notices import MongoNotices
from store.operations.processes import MongoProcesses
from store.queries.episode_pages import EpisodeFilter, episode_page
from store.queries.opportunity_pages import MongoOpportunities
from store.queries.past_decisions import PastDecisions
from store.queries.trade_history import TradeHistory
from store.records.cycle_rejection import CycleRejection
from store.server.change_streams import ChangeFollower, ChangeStreamProgress
from store.server.client import Client, Document, connect, database_of, read_nearby, translated_errors
from store.server.clock import server_now
from store.server.cycle_rejections import cycle_rejection_of
from store.server.deciding_region import Standpoint, connect_watched
from store.server.documents import (
    ARBITRAGES,
    CYCLE_REJECTIONS,
    CYCLE_TRADES,
    DIFFERENCES,
    FEEDS,
    FILLS,
    OPPORTUNITIES,
    REJECTIONS,
    SETTINGS,
    SETTINGS_VERSIONS,
    STEPS,
    TRANSFERS,
    SettingsVersion,
    arbitrage_of,
    cycle_trade_of,
    feed_of,
    fill_of,
    integer_of,
    opportunity_of,
    rejection_of,
    settings_of,
    version_of,
)
from store.server.page_reader import Page, read_page
from store.server.transfer_documents import transfer_of

ALL = "all"
"""Instead of a session: everything in the database."""

StoreChange = Arbitrage | Settings
"""A new state."""


async def open_reader(session: Session) -> "TradeReader":
    """Read of `session`; close it. In a session of regions from the member in the session's own, so that they also
    work while it is cut off. Raises StoreUnavailableError if MongoDB is not reached."""
    if session.place.region is None:
        return TradeReader(connect(session.services.mongodb), session.services.database, session.session_id)
    client, watch = connect_watched(session.services.mongodb)
    return TradeReader(client, session.services.database, session.session_id, Standpoint(session.place.region, watch))


class TradeReader:
    """Reads of one session, or of `ALL`. Pages hold 500 rows at the most, newest first."""

    def __init__(self, client: Client, database: str, session_id: str = ALL, place: Standpoint | None = None) -> None:
        """`place`: in a session of several regions. Then all but what is changed here is read at the member in the
        region, which goes on while it is cut off, and lags behind then."""
        self._client = client
        self.place = place
        self._primary = primary = database_of(client, database)
        self._database = primary if place is None else read_nearby(primary, place.region)
        self._session_id = session_id
        self._of_session: Document = {} if session_id == ALL else {"session_id": session_id}
        of_session, region = None if session_id == ALL else session_id, None if place is None else place.region
        self.settings = MongoSettings(primary)
        self.settings_nearby = MongoSettings(self._database)
        """For reading what is in force before `watch` says what changes."""
        self.balances = MongoBalances(self._database, session_id)
        self.health = MongoHealth(self._database)
        self.balance_book = MongoBalances(primary, session_id)
        """To change balances by what is booked now."""
        self.difference_book = MongoDifferences(primary, self.balance_book)
        """To settle differences."""
        self.transfers = MongoTransfers(self._database, self.balances, session_id)
        self.transfer_book = MongoTransfers(primary, self.balance_book, session_id)
        """To confirm, decline and settle transfers."""
        self.audit = MongoAudit(primary)
        self.backtests = MongoBacktests(primary)
        self.apps = MongoApps(primary, region)
        self.failed_rows = MongoFailedRows(primary)
        self.notices = MongoNotices(self._database)
        self.leases = MongoLeases(self._database)
        self.processes = MongoProcesses(self._database, of_session, region)
        self.process_orders = MongoProcesses(primary, of_session, region)
        """To say what is wanted of processes, and read at once what was said."""
        self.consumer_positions = ConsumerPositions(self._database)
        self.change_progress = ChangeStreamProgress()
        self.kept_opportunities = MongoOpportunities(self._database, self._of_session)
        self.opportunity_sums = OpportunitySums(self._database, self._of_session)
        self.past_decisions = PastDecisions(self._database, self._of_session)
        self.history = TradeHistory(self._database, self._of_session)
        self._totals = RunningTotals(self._database, self._of_session)
        self._profits = RunningProfits(self._database, self._of_session)
        self._hours = RunningHours(self._database, self._of_session)

    async def close(self) -> None:
        self._client.close()

    async def settings_history(self, cursor: str | None, limit: int) -> Page[SettingsVersion]:
        """At the primary: the log must lack no version."""
        return await read_page(self._primary, SETTINGS_VERSIONS, version_of, {}, cursor, limit)

    async def settings_between(self, since: int, until: int) -> tuple[SettingsVersion | None, int]:
        """Return the version in force at `until` (microseconds by the server's clock; None: none yet), and how many
        began after `since` and up to then."""
        with translated_errors():
            versions = self._primary[SETTINGS_VERSIONS]
            newest = await versions.find_one({"at": {"$lte": until}}, sort=[("at", DESCENDING), ("_id", DESCENDING)])
            begun = await versions.count_documents({"at": {"$gt": since, "$lte": until}})
        return None if newest is None else version_of(newest), begun

    async def opportunities(self, cursor: str | None, limit: int) -> Page[Opportunity]:
        return await read_page(self._database, OPPORTUNITIES, opportunity_of, self._of_session, cursor, limit)

    async def opportunity(self, opportunity_id: str) -> Opportunity | None:
        with translated_errors():
            document = await self._database[OPPORTUNITIES].find_one({"_id": opportunity_id})
        return None if document is None else opportunity_of(document)

    async def arbitrages(self, states: Sequence[ArbitrageState], cursor: str | None, limit: int) -> Page[Arbitrage]:
        """Newest reservation first; no states: all of them."""
        wanted = self._of_session | ({"state": {"$in": list(states)}} if states else {})
        return await read_page(self._database, ARBITRAGES, arbitrage_of, wanted, cursor, limit)

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None:
        with translated_errors():
            document = await self._database[ARBITRAGES].find_one({"_id": arbitrage_id})
        return None if document is None else arbitrage_of(document)

    async def cycle_trades(
        self, exchange: str | None, states: Sequence[ArbitrageState], cursor: str | None, limit: int
    ) -> Page[CycleTrade]:
        """Newest reservation first, with an order at `exchange` if it is given; no states: all of them."""
        wanted = self._of_session | ({"state": {"$in": list(states)}} if states else {})
        wanted |= {} if exchange is None else {"orders.leg.exchange": exchange}
        return await read_page(self._database, CYCLE_TRADES, cycle_trade_of, wanted, cursor, limit)

    async def first_step(self, arbitrage_id: str) -> str | None:
        """Return the record of the step that began it (`market.trade.decision_record`); None if an earlier version
        wrote it."""
        with translated_errors():
            found = await self._database[STEPS].find_one({"arbitrage_id": arbitrage_id}, sort=[("number", ASCENDING)])
        return None if found is None else str(found["text"])

    async def settings_changed_at(self, version: int) -> int | None:
        """Return when that version began, by the server's clock, as the primary has it. Raises StoreError."""
        with translated_errors():
            found = await self._primary[SETTINGS_VERSIONS].find_one({"_id": version}, {"at": 1})
        return None if found is None else integer_of(found["at"])

    async def settings_version(self, version: int) -> SettingsVersion | None:
        with translated_errors():
            found = await self._database[SETTINGS_VERSIONS].find_one({"_id": version})
        return None if found is None else version_of(found)

    async def server_now(self) -> int:
        """Return the store's own clock, microseconds. Raises StoreError."""
        with translated_errors():
            return await server_now(self._primary)

    async def rejections(
        self, reason: str | None, cursor: str | None, limit: int, base: str | None = None, exchange: str | None = None
    ) -> Page[Rejection]:
        """`exchange` on either side."""
        wanted = self._of_session | _of_market(base, exchange) | ({} if reason is None else {"reason": reason})
        return await read_page(self._database, REJECTIONS, rejection_of, wanted, cursor, limit)

    async def cycle_rejections(
        self, reason: str | None, exchange: str | None, cursor: str | None, limit: int
    ) -> Page[CycleRejection]:
        """Those of cycles, newest first; `exchange` of any leg."""
        wanted = self._of_session | ({} if reason is None else {"reason": reason})
        wanted |= {} if exchange is None else {"exchanges": exchange}
        return await read_page(self._database, CYCLE_REJECTIONS, cycle_rejection_of, wanted, cursor, limit)

    async def rejection_counts(self, base: str | None = None, exchange: str | None = None) -> dict[str, int]:
        """Reason → how many in the last seven days, including those only counted; `exchange` on either side."""
        return await rejection_counts(self._database, self._of_session | _of_market(base, exchange))

    async def rejected_profit(self) -> dict[str, Decimal]:
        """Reason → missed profit, each episode once (`market.prices.episodes`)."""
        return missed_profit(await self.opportunity_sums.episodes.of_session())

    async def episodes(self, wanted: EpisodeFilter, cursor: str | None, limit: int) -> Page[Episode]:
        """By their beginnings."""
        return await episode_page(self._database, self._of_session, wanted, cursor, limit)

    async def opportunity_count(self) -> int:
        with translated_errors():
            return await self._database[OPPORTUNITIES].count_documents(self._of_session)

    async def fills(self, cursor: str | None, limit: int) -> Page[Fill]:
        return await read_page(self._database, FILLS, fill_of, self._of_session, cursor, limit)

    async def differences(
        self, kinds: Sequence[DifferenceKind], cursor: str | None, limit: int, *, open_only: bool = False
    ) -> Page[StoredDifference]:
        """Return the differences of all sessions, since the accounts are the same in each; no kinds: all of them.
        `open_only`: those that keep an exchange reduce-only."""
        of_kinds: Document = {"kind": {"$in": list(kinds)}} if kinds else {}
        wanted: Document = {"$and": [of_kinds, OPEN_DIFFERENCES]} if open_only else of_kinds
        return await read_page(self._database, DIFFERENCES, difference_of, wanted, cursor, limit)

    async def all_transfers(self, cursor: str | None, limit: int) -> Page[MoneyTransfer]:
        """Return the transfers of all sessions, since the accounts are the same in each."""
        return await read_page(self._database, TRANSFERS, transfer_of, {}, cursor, limit)

    async def average_trades(self, cursor: str | None, limit: int) -> Page[AverageTrade]:
        """Signals of the moving average strategy, each with what became of its order by now."""
        return await read_average_trades(self._database, self._of_session, cursor, limit)

    async def feed_states(self) -> list[FeedState]:
        """Return the last reported states, by exchange and symbol."""
        with translated_errors():
            return [feed_of(document) async for document in self._database[FEEDS].find().sort("_id", ASCENDING)]

    async def counters(self) -> RiskCounters:
        """Return what the limits count, over all sessions of the database."""
        return await read_counters(self._database, self._session_id)

    async def profit(self, currency: str) -> ProfitAndLoss:
        """All of the session, in its settlement currency."""
        return (await RunningTotals(self._database, self._of_session).read(currency)).profit

    async def totals(self, currency: str) -> SessionTotals:
        """Profit, arbitrages by state and all of the rejections together, for those who ask again and again.

        Reads what is new since the last call. What changes late in old rows is seen after five minutes.
        """
        totals, sums = await self._totals.read(currency), await self.opportunity_sums.episodes.of_session()
        return replace(
            totals,
            missed_profit=missed_profit(sums),
            missed_episodes=missed_episodes(sums),
            episodes=episodes_by_outcome(sums),
            groups=await self.profit_groups(currency),
        )

    async def profit_groups(self, currency: str) -> tuple[ProfitGroup, ...]:
        """Return the profit in the settlement currency by exchange, asset, pair, day and strategy; read like
        `totals`."""
        return await self._profits.read(currency)

    async def hour_sums(self, currency: str) -> list[HourSum]:
        """Return what was won and lost by weekday and hour of the end, UTC; read like `totals`."""
        return await self._hours.read(currency)

    async def watch(self) -> AsyncGenerator[StoreChange | None]:
        """First None, once nothing that follows can be missed; then each change, at least once.

        Goes on by itself after a lost connection. Raises HistoryLostError if changes in between are gone: watch
        again, and read what there is. In a session of regions it is of one member; if reads then come from another,
        since the one in the region is away, they may lack for a moment what was before it.
        """
        pipeline = [_of_collections(ARBITRAGES, SETTINGS)]
        async with ChangeFollower(self._database, pipeline, progress=self.change_progress) as changes:
            await changes.next()
            yield None
            while (change := await changes.next()) is not None:
                if (known := self._change_of(change)) is not None:
                    yield known
        raise HistoryLostError("The change stream's history is lost; read a new snapshot.")

    def _change_of(self, change: Document) -> StoreChange | None:
        """None if it is another session's. Without a document if that, or its collection, was deleted."""
        names, document = change.get("ns"), change.get("fullDocument")
        if not isinstance(document, dict):
            return None
        if isinstance(names, dict) and names["coll"] == SETTINGS:
            return settings_of(document)
        return arbitrage_of(document) if self._session_id in (ALL, document.get("session_id")) else None


def _of_collections(*names: str) -> Document:
    return {"$match": {"ns.coll": {"$in": list(names)}}}


def _of_market(base: str | None, exchange: str | None) -> Document:
    wanted: Document = {} if base is None else {"base": base}
    if exchange is not None:
        wanted["$or"] = [{"buy_exchange": exchange}, {"sell_exchange": exchange}]
    return wanted
