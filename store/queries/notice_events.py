"""Events for notices, followed from a resume token, and the current state."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import Self

from pymongo import ASCENDING

from market.accounting.differences import StoredDifference
from market.decide.circuit_breaker import Health
from market.decide.settings import Settings
from market.prices.feed_state import FeedState
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import Lease
from session.session import Session
from store.errors import StoreError, StoreUnavailableError
from store.mongo.differences import difference_of
from store.mongo.risk_counters import RiskCounters, read_counters
from store.operations.audit import audit_entry_of
from store.operations.notices import MongoNotices
from store.operations.processes import MongoProcesses
from store.records.audit_entry import AuditEntry
from store.records.processes import Process
from store.server.change_streams import ChangeFollower
from store.server.client import Database, Document, connect, database_of, translated_errors
from store.server.documents import (
    ARBITRAGES,
    AUDIT,
    CYCLE_TRADES,
    DIFFERENCES,
    FEEDS,
    HEALTH,
    LEASES,
    SETTINGS,
    SETTINGS_ID,
    SETTINGS_VERSIONS,
    SettingsVersion,
    arbitrage_of,
    cycle_trade_of,
    feed_of,
    health_of,
    lease_of,
    settings_of,
    version_of,
)

REPORTED_STATES = ("single_leg", "closed", "unwound", "residual")

NoticeEvent = Arbitrage | CycleTrade | SettingsVersion | Health | StoredDifference | AuditEntry
"""An entry of the audit log: of what an app did, or an alert rule says."""
AUTOMATIC: Document = {"role": {"$in": ["app", "rule"]}}

PIPELINE: list[Document] = [
    {
        "$match": {
            "$or": [
                {"ns.coll": {"$in": [SETTINGS_VERSIONS, HEALTH, DIFFERENCES]}},
                {"ns.coll": {"$in": [ARBITRAGES, CYCLE_TRADES]}, "fullDocument.state": {"$in": list(REPORTED_STATES)}},
                {"ns.coll": AUDIT, **{f"fullDocument.{name}": value for name, value in AUTOMATIC.items()}},
            ]
        }
    }
]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """State of the session at `counters.now`, by the server's clock."""

    settings: Settings | None
    counters: RiskCounters
    health: tuple[Health, ...]
    feeds: tuple[FeedState, ...]
    leases: tuple[Lease, ...]
    stopped: frozenset[tuple[str, str]] = frozenset()
    """(`bot` or `feed`, exchange) whose processes a user has all stopped."""
    single_legs: tuple[Arbitrage | CycleTrade, ...] = ()


class NoticeEventFollower:
    """Follows trades of pairs and cycles that end or have a single leg, versions of the settings, failures of
    exchanges, differences that are found or settled, what apps did and alert rules say: each at least once, after the
    token."""

    def __init__(self, database: Database, token: str | None) -> None:
        self._changes = ChangeFollower(database, PIPELINE, None if token is None else {"_data": token})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._changes.__aexit__(kind, error, trace)

    @property
    def token(self) -> str | None:
        """The resume token after the last event returned, or after all read so far."""
        token = self._changes.token
        return None if token is None else str(token["_data"])

    async def next(self) -> NoticeEvent | None:
        """Return the next event; None if it starts without history: at first, and whenever history was lost."""
        while True:
            change = await self._changes.next()
            if change is None:
                return None
            event = _event_of(change)
            if event is not None:
                return event


class NoticeEventReader:
    """Reads the session's database with a client of its own; close it."""

    def __init__(self, session: Session) -> None:
        self._client = connect(session.services.mongodb)
        self._session_id = session.session_id
        self._database = database_of(self._client, session.services.database)
        self.notices = MongoNotices(self._database)
        # one process sends the notices of all regions, each of which has a supervisor
        self._processes = [
            MongoProcesses(self._database, session.session_id, region) for region in session.place.regions or (None,)
        ]

    async def close(self) -> None:
        self._client.close()

    def followed(self, token: str | None) -> NoticeEventFollower:
        return NoticeEventFollower(self._database, token)

    async def present(self) -> CurrentState:
        """Raise StoreUnavailableError."""
        with translated_errors():
            settings, counters, health, feeds, leases, processes = await asyncio.gather(
                self._database[SETTINGS].find_one({"_id": SETTINGS_ID}),
                read_counters(self._database, self._session_id),
                self._all(HEALTH),
                self._all(FEEDS),
                self._all(LEASES),
                asyncio.gather(*(region.all() for region in self._processes)),
            )
            alone: Document = {"state": "single_leg"}
            single_legs = [(name, await self._all(name, alone)) for name in (ARBITRAGES, CYCLE_TRADES)]
        return CurrentState(
            settings=None if settings is None else settings_of(settings),
            counters=counters,
            health=tuple(health_of(one) for one in health),
            feeds=tuple(feed_of(one) for one in feeds),
            leases=tuple(lease_of(one) for one in leases),
            stopped=_stopped(chain.from_iterable(processes)),
            single_legs=tuple(one for name, found in single_legs for one in _readable(name, found)),
        )

    async def ended_since(self, since: int) -> list[Arbitrage | CycleTrade]:
        """Trades that ended after it, and those that stand on one leg now; the server's time, microseconds."""
        wanted: Document = {"$or": [{"times.ended": {"$gte": since}}, {"state": "single_leg"}]}
        with translated_errors():
            found = self._database[ARBITRAGES].find(wanted).sort("_id", ASCENDING)
            cycles = self._database[CYCLE_TRADES].find(wanted).sort("_id", ASCENDING)
            ended: list[Arbitrage | CycleTrade] = [arbitrage_of(document) async for document in found]
            return [*ended, *[cycle_trade_of(document) async for document in cycles]]

    async def versions_since(self, since: int) -> list[SettingsVersion]:
        """Return the versions of the settings since `since`, oldest first."""
        with translated_errors():
            found = self._database[SETTINGS_VERSIONS].find({"at": {"$gte": since}}).sort("_id", ASCENDING)
            return [version_of(document) async for document in found]

    async def differences_since(self, since: int) -> list[StoredDifference]:
        """Found or settled since, oldest first."""
        wanted: Document = {"$or": [{"found_at": {"$gte": since}}, {"settled_at": {"$gte": since}}]}
        with translated_errors():
            found = self._database[DIFFERENCES].find(wanted).sort("found_at", ASCENDING)
            return [difference_of(document) async for document in found]

    async def reported_since(self, since: int) -> list[AuditEntry]:
        """Return what apps did and alert rules said since, oldest first."""
        with translated_errors():
            found = self._database[AUDIT].find({**AUTOMATIC, "at": {"$gte": since}}).sort("at", ASCENDING)
            return [audit_entry_of(document) async for document in found]

    async def _all(self, collection: str, wanted: Document | None = None) -> list[Document]:
        return [document async for document in self._database[collection].find(wanted or {}).sort("_id", ASCENDING)]


def _stopped(processes: Iterable[Process]) -> frozenset[tuple[str, str]]:
    wanted: dict[tuple[str, str], set[str]] = {}
    for process in processes:
        if process.exchange is not None and process.is_stoppable:
            wanted.setdefault((process.kind, process.exchange), set()).add(process.order.wanted)
    return frozenset(key for key, orders in wanted.items() if orders == {"stopped"})


def _readable(collection: str, documents: Iterable[Document]) -> Iterable[Arbitrage | CycleTrade]:
    for document in documents:
        found = _event_of({"ns": {"coll": collection}, "fullDocument": document})
        if isinstance(found, Arbitrage | CycleTrade):
            yield found


_READS: Mapping[str, Callable[[Document], NoticeEvent]] = {
    ARBITRAGES: arbitrage_of,
    CYCLE_TRADES: cycle_trade_of,
    SETTINGS_VERSIONS: version_of,
    DIFFERENCES: difference_of,
    HEALTH: health_of,
    AUDIT: audit_entry_of,
}
"""Collection → what reads its documents."""


def _event_of(change: Mapping[str, object]) -> NoticeEvent | None:
    """None for what was deleted, and for what another version of this program wrote: one such must not stop all."""
    names, document = change.get("ns"), change.get("fullDocument")
    if not isinstance(names, dict) or not isinstance(document, dict):
        return None
    try:
        return _READS[names["coll"]](document)
    except StoreUnavailableError:
        raise
    except StoreError as error:
        log.warning("a document cannot be read", extra={"collection": names["coll"], "error": str(error)})
        return None
