"""Exports one session for verification against its recording: every decision with its inputs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pymongo import ASCENDING

from market.instruments.orders import Fill
from market.trade.arbitrages import Arbitrage, Rejection
from market.trade.cycle_trades import CycleTrade
from market.trade.moving_average import AverageTrade
from session.session import Session
from store.mongo.arbitrages import OLDEST_FIRST
from store.server.client import STREAMED, Client, Document, connect, database_of, translated_errors
from store.server.documents import (
    ARBITRAGES,
    AVERAGE_TRADES,
    CYCLE_TRADES,
    FILLS,
    REJECTIONS,
    SETTINGS_VERSIONS,
    STEPS,
    SettingsVersion,
    arbitrage_of,
    average_trade_of,
    cycle_trade_of,
    fill_of,
    rejection_of,
    version_of,
)


@dataclass(frozen=True, slots=True)
class ExportedArbitrage:
    """An arbitrage and the record of its steps (`decision_record`); none if an earlier version wrote it."""

    arbitrage: Arbitrage
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportedCycle:
    """A trade on a cycle and the record of its steps (`store.records.cycle_step`)."""

    trade: CycleTrade
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportedFill:
    """A row of the ledger."""

    arbitrage_id: str
    fill: Fill


class SessionExport:
    """Reads one session's part of the database, document by document. Every method raises StoreError."""

    def __init__(self, client: Client, session: Session) -> None:
        self._database = database_of(client, session.services.database)
        self._own: Document = {"session_id": session.session_id}

    async def arbitrages(self) -> AsyncGenerator[ExportedArbitrage]:
        """All that began in the session, oldest first."""
        with translated_errors():
            async for document in self._streamed(ARBITRAGES):
                yield ExportedArbitrage(arbitrage_of(document), await self._steps(document["_id"]))

    async def cycles(self) -> AsyncGenerator[ExportedCycle]:
        """All trades on cycles that began in the session, oldest first."""
        with translated_errors():
            async for document in self._streamed(CYCLE_TRADES):
                yield ExportedCycle(cycle_trade_of(document), await self._steps(document["_id"]))

    async def rejections(self) -> AsyncGenerator[Rejection]:
        """Oldest first."""
        with translated_errors():
            async for document in self._streamed(REJECTIONS):
                yield rejection_of(document)

    async def settings(self) -> AsyncGenerator[SettingsVersion]:
        """All versions of all sessions, oldest first."""
        with translated_errors():
            found = self._database[SETTINGS_VERSIONS].find().sort("_id", ASCENDING).batch_size(STREAMED)
            async for document in found:
                yield version_of(document)

    async def signals(self) -> AsyncGenerator[AverageTrade]:
        """Yield the signals of the moving average, oldest first."""
        with translated_errors():
            async for document in self._streamed(AVERAGE_TRADES):
                yield average_trade_of(document)

    async def fills(self) -> AsyncGenerator[ExportedFill]:
        """Yield the fills of the session's ledger, oldest first; without those of arbitrages that began in an earlier
        session and continued in this one: their decisions belong to that session."""
        with translated_errors():
            inherited = await self._inherited()
            async for document in self._streamed(FILLS):
                if document["arbitrage_id"] not in inherited:
                    yield ExportedFill(str(document["arbitrage_id"]), fill_of(document))

    async def _streamed(self, collection: str) -> AsyncGenerator[Document]:
        """Yield the session's documents, oldest first, some at a time."""
        found = self._database[collection].find(self._own).sort(OLDEST_FIRST).batch_size(STREAMED)
        async for document in found:
            yield document

    async def _steps(self, arbitrage_id: object) -> tuple[str, ...]:
        found = self._database[STEPS].find({"arbitrage_id": arbitrage_id}).sort("number", ASCENDING)
        return tuple([str(step["text"]) async for step in found])

    async def _inherited(self) -> frozenset[str]:
        """Trades of other sessions with fills in this one's ledger."""
        begun = {"localField": "_id", "foreignField": "_id", "pipeline": [{"$project": {"session_id": 1}}]}
        of_another = {"$exists": True, "$ne": self._own["session_id"]}
        lookups: list[Document] = [
            {"$lookup": {**begun, "from": name, "as": name}} for name in (ARBITRAGES, CYCLE_TRADES)
        ]
        steps: list[Document] = [
            {"$match": self._own},
            {"$group": {"_id": "$arbitrage_id"}},
            *lookups,
            {"$match": {"$or": [{f"{name}.session_id": of_another} for name in (ARBITRAGES, CYCLE_TRADES)]}},
        ]
        return frozenset([str(found["_id"]) async for found in self._database[FILLS].aggregate(steps)])


@asynccontextmanager
async def exporting(session: Session) -> AsyncGenerator[SessionExport]:
    """Return an export of `session`, closed behind it. Raises StoreError if the database's address is none."""
    client = connect(session.services.mongodb)
    try:
        yield SessionExport(client, session)
    finally:
        client.close()
