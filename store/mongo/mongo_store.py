"""The store on MongoDB: arbitrages step by step, each step one transaction or one guarded write."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from types import TracebackType
from typing import Literal, Self

from market.decide.circuit_breaker import Failure, Health
from market.decide.settings import Settings
from market.instruments.orders import Fill, OrderReport
from market.prices.feed_state import FeedState
from market.trade import reservations
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.decision_context import RowsRead, rows_read_to_reserve
from market.trade.decisions import Cause, DecisionStep, finishing, reserving
from market.trade.leases import UNFENCED, Actor, Lease
from market.trade.lifecycle import Moment
from market.trade.reservation_state import BalanceRow, ReservationState, fill_key
from market.trade.reservations import Reservation, ReservationResult
from session.session import Session as MarketSession
from store import leg_lifecycle as legs
from store.errors import StoreError
from store.mongo.inflight_claims import may_be_in_flight
from store.mongo.mongo_arbitrages import OLDEST_FIRST, OPEN, read_arbitrages, steps_with, watch_arbitrages
from store.mongo.mongo_averages import MongoAverages
from store.mongo.mongo_balances import MongoBalances
from store.mongo.mongo_differences import MongoDifferences
from store.mongo.mongo_health import MongoHealth
from store.mongo.mongo_leases import MongoLeases
from store.mongo.mongo_rejections import MongoRejections
from store.mongo.mongo_settings import SettingsHistory
from store.mongo.step_context import read_step_context
from store.mongo.stored_rows import read_rows, write_rows
from store.operations.mongo_backtests import MongoBacktests
from store.server.documents import (
    ARBITRAGES,
    CLAIMS,
    FEEDS,
    FILLS,
    SESSION_CLAIM,
    arbitrage_document,
    arbitrage_of,
    feed_document,
    fill_of,
)
from store.server.indexes import create_indexes
from store.server.mongo_client import QUICK, Client, Session, connect, database_of, in_transaction, translated_errors
from store.server.server_time import server_now
from store.store_port import Advance, Balances


async def open_store(session: MarketSession) -> "MongoTradeStore":
    """The store of `session`, its database prepared; close it, or use it in `async with`.

    Raises StoreUnavailableError where MongoDB is not reached, StoreError where its address is none.
    """
    store = MongoTradeStore(connect(session.mongodb), session.database, session.session_id)
    try:
        await store.prepare()
    except BaseException:
        await store.close()
        raise
    return store


class MongoTradeStore(MongoRejections):
    """`TradeStore` in one database; many processes share it."""

    def __init__(self, client: Client, database: str, session_id: str) -> None:
        super().__init__(database_of(client, database), session_id)
        self._client = client
        self._settings = SettingsHistory(client, self._database)
        self._balances = MongoBalances(client, self._database, session_id)
        self._leases = MongoLeases(self._database)
        self.differences = MongoDifferences(self._database, self._balances)
        self.averages = MongoAverages(client, self._database, session_id)
        self.backtests = MongoBacktests(self._database)
        self._health = MongoHealth(client, self._database, self._settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def prepare(self) -> None:
        """Collections and indexes, where they are missing."""
        with translated_errors():
            await create_indexes(self._database)

    async def close(self) -> None:
        self._client.close()

    async def server_now(self) -> int:
        with translated_errors():
            return await server_now(self._database)

    async def acquire_lease(self, exchange: str, holder: str) -> Lease | None:
        return await self._leases.acquire(exchange, holder)

    async def renew_lease(self, lease: Lease, used: str | None = None) -> Lease | None:
        return await self._leases.renew(lease, used)

    async def release_lease(self, lease: Lease, used: str | None = None) -> None:
        await self._leases.release(lease, used)

    async def reserve(self, reservation: Reservation, by: Actor = UNFENCED) -> ReservationResult:
        opportunity = reservation.opportunity

        async def step(session: Session) -> ReservationResult:
            begin = await read_step_context(self._database, session, opportunity.opportunity_id, by)
            read = await read_rows(self._database, session, self._session_id, opportunity, begin.stored, by=by)
            read = replace(read, rows=replace(read.rows, settings=begin.current))
            after, result = reservations.reserved(read.rows, reservation)
            await write_rows(self._database, session, self._session_id, read, after, reserving(reservation))
            return result if result.rejection is None else replace(result, read=rows_read_to_reserve(read.rows))

        with translated_errors():
            return await in_transaction(self._client, step)

    async def expire(self, arbitrage_id: str, by: Actor = UNFENCED) -> bool:
        def expired(rows: ReservationState, _: Settings) -> ReservationState:
            return reservations.expired(rows)

        if await self.arbitrage(arbitrage_id) is None:
            return False
        before, after = await self._changed(arbitrage_id, Cause("expire"), expired, by)
        return after is not before

    async def start_sending(self, arbitrage_id: str, role: LegRole, by: Actor = UNFENCED) -> Leg | None:
        def sending(arbitrage: Arbitrage, moment: Moment, settings: Settings | None) -> Arbitrage:
            return legs.sending(arbitrage, role, moment, settings)

        before, after = await self._guarded(arbitrage_id, Cause("send", role), sending, by)
        return None if after is before else legs.allowed(after, role)

    async def record_sent(self, arbitrage_id: str, role: LegRole, exchange_order_id: str, by: Actor = UNFENCED) -> None:
        def acknowledged(arbitrage: Arbitrage, moment: Moment, _: Settings | None) -> Arbitrage:
            return legs.acknowledged(arbitrage, role, exchange_order_id, moment)

        await self._guarded(arbitrage_id, Cause("acknowledge", role, exchange_order_id), acknowledged, by)

    async def finish_leg(
        self,
        arbitrage_id: str,
        role: LegRole,
        report: OrderReport | None,
        advance: Advance,
        by: Actor = UNFENCED,
    ) -> Arbitrage:
        def finished(rows: ReservationState, settings: Settings) -> ReservationState:
            return legs.finished(rows, role, report, settings, advance)

        before, after = await self._changed(arbitrage_id, finishing(role, report, advance), finished, by)
        arbitrage = after.arbitrage or before.arbitrage
        if arbitrage is None:
            raise StoreError(f"there is no arbitrage {arbitrage_id}")
        return arbitrage

    async def resume(self, arbitrage_id: str, advance: Advance, by: Actor = UNFENCED) -> bool:
        def resumed(rows: ReservationState, settings: Settings) -> ReservationState:
            return legs.resumed(rows, settings, advance)

        before, after = await self._changed(arbitrage_id, Cause("resume"), resumed, by)
        return after is not before

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        return await read_arbitrages(self._database, {"state": "residual", "reason": {"$in": list(legs.RESUMED)}})

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        found = await read_arbitrages(self._database, {"legs.times.unconfirmed": {"$gte": since}})
        return legs.unconfirmed(found, exchange, since)

    async def open_arbitrages(self) -> list[Arbitrage]:
        return await read_arbitrages(self._database, OPEN)

    async def session_arbitrages(self) -> list[Arbitrage]:
        """All that began in this session, oldest first."""
        return await read_arbitrages(self._database, {"session_id": self._session_id})

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None:
        with translated_errors():
            document = await self._database[ARBITRAGES].find_one({"_id": arbitrage_id})
        return None if document is None else arbitrage_of(document)

    def watch_arbitrages(self) -> AsyncGenerator[Arbitrage]:
        return watch_arbitrages(self._database, self.arbitrages_progress)

    async def settings(self) -> Settings | None:
        return await self._settings.current()

    async def create_settings(self, settings: Settings) -> Settings:
        return await self._settings.create(settings)

    async def change_settings(self, changed: Settings, expected_version: int, who: str) -> Settings:
        return await self._settings.change(changed, expected_version, who)

    def watch_settings(self) -> AsyncGenerator[Settings]:
        return self._settings.watch(self.settings_progress)

    async def stop_reservations(self) -> None:
        with translated_errors():
            await self._database[CLAIMS].update_one({"_id": SESSION_CLAIM}, {"$set": {"stopped": self._session_id}})

    async def reservations_open(self) -> bool:
        with translated_errors():
            stopped = await self._database[CLAIMS].find_one({"_id": SESSION_CLAIM, "stopped": self._session_id})
        return stopped is None

    async def set_balances(
        self,
        exchange: str,
        balances: dict[str, Decimal],
        moment: Literal["before", "now", "after"],
        by: Actor = UNFENCED,
    ) -> None:
        await self._balances.replace(exchange, balances, moment, by)

    async def balance_rows(self) -> list[BalanceRow]:
        return await self._balances.rows()

    async def session_balances(self) -> tuple[Balances, Balances]:
        return await self._balances.of_session()

    async def discard_closing(self, exchanges: Sequence[str]) -> None:
        await self._balances.discard_closing(exchanges)

    async def fills(self) -> list[Fill]:
        with translated_errors():
            found = self._database[FILLS].find({"session_id": self._session_id})
            return [fill_of(document) async for document in found.sort(OLDEST_FIRST)]

    async def record_failure(self, exchange: str, failure: Failure) -> Health:
        return await self._health.record(exchange, failure)

    async def health(self) -> list[Health]:
        return await self._health.all()

    async def save_feed_state(self, state: FeedState) -> None:
        document = feed_document(state)
        with translated_errors():
            feeds = self._database[FEEDS].with_options(write_concern=QUICK)
            await feeds.replace_one({"_id": document["_id"]}, document, upsert=True)

    async def _changed(
        self,
        arbitrage_id: str,
        cause: Cause,
        decide: Callable[[ReservationState, Settings], ReservationState],
        by: Actor,
    ) -> tuple[ReservationState, ReservationState]:
        """The rows before and after `decide`, in one transaction."""
        reported = () if cause.report is None else tuple(fill_key(fill) for fill in cause.report.fills)

        async def step(session: Session) -> tuple[ReservationState, ReservationState]:
            begin = await read_step_context(self._database, session, arbitrage_id, by)
            stored = begin.known(arbitrage_id)
            opportunity = stored.arbitrage.opportunity
            read = await read_rows(self._database, session, self._session_id, opportunity, stored, reported, by)
            read = replace(read, rows=replace(read.rows, settings=begin.current))
            after = decide(read.rows, begin.settings())
            await write_rows(self._database, session, self._session_id, read, after, cause)
            return read.rows, after

        with translated_errors():
            return await in_transaction(self._client, step)

    async def _guarded(
        self,
        arbitrage_id: str,
        cause: Cause,
        decide: Callable[[Arbitrage, Moment, Settings | None], Arbitrage],
        by: Actor,
    ) -> tuple[Arbitrage, Arbitrage]:
        """The arbitrage before and after `decide`, in one transaction that touches no other row but the claim of a leg
        that it sends; unchanged while another leg must land first."""

        async def step(session: Session) -> tuple[Arbitrage, Arbitrage]:
            begin = await read_step_context(self._database, session, arbitrage_id, by)
            stored = begin.known(arbitrage_id)
            after = decide(stored.arbitrage, Moment(stored.now, by), begin.current)
            sends = cause.role if cause.what == "send" else None
            if sends is not None and not await may_be_in_flight(self._database, session, after, sends):
                return stored.arbitrage, stored.arbitrage
            if after is not stored.arbitrage:
                own = {name: value for name, value in stored.document.items() if name in ("session_id", "at", "terms")}
                version = None if begin.current is None else begin.current.version
                steps = steps_with(stored, DecisionStep(cause, RowsRead(stored.now, by, version, is_joined=True)))
                document = arbitrage_document(after) | own | {"revision": stored.revision + 1, "steps": steps}
                await self._database[ARBITRAGES].replace_one({"_id": document["_id"]}, document, session=session)
            return stored.arbitrage, after

        with translated_errors():
            return await in_transaction(self._client, step)
