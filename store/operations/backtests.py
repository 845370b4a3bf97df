"""Jobs of backtests in MongoDB: inserted by the dashboard, run by the supervisor, one document each."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING, DESCENDING, ReturnDocument

from market.time_units import MICROSECONDS
from store.errors import StoreError
from store.ports.backtests import SILENT_RUNNER_SECONDS
from store.records.backtest_requests import (
    MAX_ATTEMPTS,
    BacktestFigures,
    BacktestJob,
    BacktestRequest,
    BacktestState,
    BacktestTrade,
    TickSetSummary,
)
from store.server.client import Database, Document, translated_errors
from store.server.clock import server_now
from store.server.documents import BACKTEST_REPORTS, BACKTESTS, TICK_SETS

_JOB = TypeAdapter(BacktestJob)
_FIGURES = TypeAdapter(BacktestFigures)
_SET = TypeAdapter(TickSetSummary)
_TRADES = TypeAdapter(list[BacktestTrade])
Value = TypeVar("Value")

TRADES_TOGETHER = 500
"""In one document, beside the report: `JOB:0000000`, `JOB:0000001`, …; a trade's place follows from its number."""
SILENT_RUNNER_MICROSECONDS = SILENT_RUNNER_SECONDS * MICROSECONDS


class MongoBacktests:
    """`store.ports.backtests.Backtests` in one database, over all its sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, job_id: str, request: BacktestRequest, who: str) -> BacktestJob:
        with translated_errors():
            job = BacktestJob(job_id, request, who, await server_now(self._database))
            # in one step at the primary: a reader beside a page may not have it yet
            document = await self._database[BACKTESTS].find_one_and_update(
                {"_id": job_id},
                {"$setOnInsert": _document(_JOB, job)},
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
        return job if document is None else _value(_JOB, document)

    async def jobs(self) -> list[BacktestJob]:
        with translated_errors():
            found = (
                self._database[BACKTESTS]
                .find({}, {"figures.equity": 0, "figures.settings": 0})
                .sort([("asked_at", DESCENDING), ("_id", DESCENDING)])
            )
            return [_value(_JOB, document) async for document in found]

    async def job(self, job_id: str) -> BacktestJob | None:
        with translated_errors():
            document = await self._database[BACKTESTS].find_one({"_id": job_id})
        return None if document is None else _value(_JOB, document)

    async def claim_next(self, runner: str) -> BacktestJob | None:
        await self._fail_vanished()
        with translated_errors():
            now = await server_now(self._database)
            document = await self._database[BACKTESTS].find_one_and_update(
                {"$or": [{"state": "queued"}, _vanished(now)], "is_cancel_asked": False},
                [
                    {
                        "$set": {
                            "state": "running",
                            "runner": runner,
                            "stage": "starting",
                            "share": 0.0,
                            "started_at": now,
                            "heartbeat_at": now,
                            "attempts": {"$add": ["$attempts", 1]},
                        }
                    }
                ],
                sort=[("asked_at", ASCENDING), ("_id", ASCENDING)],
                return_document=ReturnDocument.AFTER,
            )
        return None if document is None else _value(_JOB, document)

    async def record_progress(self, job_id: str, runner: str, stage: str, share: float) -> BacktestJob | None:
        with translated_errors():
            now = await server_now(self._database)
            changes: Document = {"stage": stage, "share": share, "heartbeat_at": now}
            document = await self._database[BACKTESTS].find_one_and_update(
                _run_by(job_id, runner), {"$set": changes}, return_document=ReturnDocument.AFTER
            )
        return None if document is None else _value(_JOB, document)

    async def finish(
        self, job_id: str, runner: str, figures: BacktestFigures, report: str, trades: Sequence[BacktestTrade] = ()
    ) -> bool:
        with translated_errors():
            await self._put_trades(job_id, trades)
            # the report first: who sees the job done finds it
            await self._database[BACKTEST_REPORTS].replace_one({"_id": job_id}, {"html": report}, upsert=True)
        done: Document = {"figures": _document(_FIGURES, figures), "has_report": True, "share": 1.0, "stage": ""}
        return await self._end(_run_by(job_id, runner), "done", done)

    async def abort(self, job_id: str, runner: str, state: BacktestState, reason: str) -> bool:
        return await self._end(_run_by(job_id, runner), state, {"reason": reason})

    async def requeue(self, job_id: str, runner: str) -> bool:
        with translated_errors():
            written = await self._database[BACKTESTS].update_one(
                _run_by(job_id, runner), {"$set": {"heartbeat_at": 0, "stage": "", "share": 0.0}}
            )
        return written.modified_count == 1

    async def cancel(self, job_id: str) -> BacktestJob | None:
        await self._end({"_id": job_id, "state": "queued"}, "cancelled", {"reason": "cancelled before it began"})
        with translated_errors():
            await self._database[BACKTESTS].update_one(
                {"_id": job_id, "state": "running"}, {"$set": {"is_cancel_asked": True}}
            )
        return await self.job(job_id)

    async def remove(self, job_id: str) -> bool:
        with translated_errors():
            ended: Document = {"_id": job_id, "state": {"$nin": ["queued", "running"]}}
            gone = await self._database[BACKTESTS].delete_one(ended)
            if gone.deleted_count:
                await self._database[BACKTEST_REPORTS].delete_one({"_id": job_id})
                await self._database[BACKTEST_REPORTS].delete_many(_trades_of(job_id))
        return gone.deleted_count == 1

    async def report(self, job_id: str) -> str | None:
        with translated_errors():
            document = await self._database[BACKTEST_REPORTS].find_one({"_id": job_id})
        return None if document is None else str(document["html"])

    async def trades(self, job_id: str, before: int | None, limit: int) -> list[BacktestTrade]:
        places = limit // TRADES_TOGETHER + 2
        with translated_errors():
            found = self._database[BACKTEST_REPORTS].find(_trades_of(job_id, before)).sort("_id", DESCENDING)
            documents = [document async for document in found.limit(places)]
        trades: list[BacktestTrade] = []
        for document in documents:
            trades += reversed(_TRADES.validate_python(document["trades"]))
        return [one for one in trades if before is None or one.number < before][:limit]

    async def _put_trades(self, job_id: str, trades: Sequence[BacktestTrade]) -> None:
        """In place of those that an earlier attempt may have left."""
        await self._database[BACKTEST_REPORTS].delete_many(_trades_of(job_id))
        for start in range(0, len(trades), TRADES_TOGETHER):
            rows = _TRADES.dump_python(list(trades[start : start + TRADES_TOGETHER]), mode="json")
            await self._database[BACKTEST_REPORTS].insert_one({"_id": _place(job_id, start + 1), "trades": rows})

    async def report_tick_sets(self, tick_sets: Sequence[TickSetSummary]) -> None:
        names = [one.name for one in tick_sets]
        with translated_errors():
            for one in tick_sets:
                await self._database[TICK_SETS].replace_one({"_id": one.name}, _document(_SET, one), upsert=True)
            await self._database[TICK_SETS].delete_many({"_id": {"$nin": names}})

    async def tick_sets(self) -> list[TickSetSummary]:
        with translated_errors():
            found = self._database[TICK_SETS].find().sort("_id", ASCENDING)
            return [_value(_SET, document) async for document in found]

    async def _fail_vanished(self) -> None:
        """Those that vanished too often, and those that were to be cancelled when they did."""
        with translated_errors():
            vanished = _vanished(await server_now(self._database))
        await self._end(vanished | {"is_cancel_asked": True}, "cancelled", {"reason": "cancelled"})
        reason = f"its process vanished {MAX_ATTEMPTS} times"
        await self._end(vanished | {"attempts": {"$gte": MAX_ATTEMPTS}}, "failed", {"reason": reason})

    async def _end(self, which: Document, state: BacktestState, changes: Document) -> bool:
        with translated_errors():
            changes = changes | {"state": state, "ended_at": await server_now(self._database)}
            written = await self._database[BACKTESTS].update_many(which, {"$set": changes})
        return written.modified_count > 0


def _place(job_id: str, number: int) -> str:
    """Return the place of the document that holds the trade of this number."""
    return f"{job_id}:{(number - 1) // TRADES_TOGETHER:07}"


def _trades_of(job_id: str, before: int | None = None) -> Document:
    """Documents that hold trades of it, with a number below `before`. A semicolon comes right behind a colon."""
    if before is None:
        return {"_id": {"$gt": f"{job_id}:", "$lt": f"{job_id};"}}
    return {"_id": {"$gt": f"{job_id}:", "$lte": _place(job_id, max(before - 1, 1))}}


def _run_by(job_id: str, runner: str) -> Document:
    return {"_id": job_id, "runner": runner, "state": "running"}


def _vanished(now: int) -> Document:
    return {"state": "running", "heartbeat_at": {"$lt": now - SILENT_RUNNER_MICROSECONDS}}


def _document(adapter: TypeAdapter[Value], value: Value) -> Document:
    document: Document = adapter.dump_python(value, mode="json")
    return document


def _value(adapter: TypeAdapter[Value], document: Document) -> Value:
    """Raise StoreError if the document is of another version of this program."""
    try:
        return adapter.validate_python({name: value for name, value in document.items() if name != "_id"})
    except ValidationError as error:
        raise StoreError(f"backtest {document.get('_id')!r} is not as this version writes it: {error}") from error
