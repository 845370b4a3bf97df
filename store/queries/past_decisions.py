"""Decisions of the last while with what they were made on, the newest and bounded, in lists of raw documents: reading
them into values costs more, and can be done elsewhere than on the loop that asks."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from pymongo import ASCENDING, DESCENDING

from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, OPPORTUNITIES, REJECTIONS, STEPS

TOGETHER = 100
_ARBITRAGE_FIELDS: Document = dict.fromkeys(("opportunity", "amount", "profit.net", "at"), 1)
_STEP: Document = {
    "$lookup": {
        "from": STEPS,
        "localField": "_id",
        "foreignField": "arbitrage_id",
        "pipeline": [{"$sort": {"number": ASCENDING}}, {"$limit": 1}, {"$project": {"text": 1}}],
        "as": "steps",
    }
}
_OPPORTUNITY: Document = {
    "$lookup": {"from": OPPORTUNITIES, "localField": "opportunity_id", "foreignField": "_id", "as": "opportunities"}
}


class PastDecisions:
    """Those of one session, since a time in microseconds by the server's and the bots' clocks. Every read raises
    StoreUnavailableError."""

    def __init__(self, database: Database, of_session: Mapping[str, object]) -> None:
        self._database = database
        self._of_session = dict(of_session)

    async def taken(self, since: int, most: int) -> AsyncGenerator[list[Document]]:
        """Yield the newest `most` arbitrages, each with its first step in `steps`."""
        project: Document = {"$project": _ARBITRAGE_FIELDS}
        steps = [*_newest(self._taken(since), most), project, _STEP]
        async for documents in self._lists(ARBITRAGES, steps):
            yield documents

    async def rejected(self, since: int, reasons: Sequence[str], most: int) -> AsyncGenerator[list[Document]]:
        """Yield the newest `most` rejections for any of `reasons`, each with its opportunity in `opportunities`."""
        steps = [*_newest(self._rejected(since, reasons), most), _OPPORTUNITY]
        async for documents in self._lists(REJECTIONS, steps):
            yield documents

    async def reason_between(self, base: str, buy: str, sell: str, since: int, until: int) -> str | None:
        """Return the reason for which the first opportunity of a pair of exchanges was rejected from `since` to
        `until`; None if none was."""
        pair: Document = {"base": base, "buy_exchange": buy, "sell_exchange": sell}
        wanted = self._of_session | pair | {"at": {"$gte": since, "$lte": until}}
        with translated_errors():
            found = await self._database[REJECTIONS].find_one(wanted, {"reason": 1}, sort=[("at", ASCENDING)])
        return None if found is None else str(found["reason"])

    async def counts(self, since: int, reasons: Sequence[str]) -> tuple[int, int]:
        """Return how many of both there are."""
        with translated_errors():
            return (
                await self._database[ARBITRAGES].count_documents(self._taken(since)),
                await self._database[REJECTIONS].count_documents(self._rejected(since, reasons)),
            )

    async def _lists(self, collection: str, steps: list[Document]) -> AsyncGenerator[list[Document]]:
        with translated_errors():
            cursor = self._database[collection].aggregate(steps, batchSize=TOGETHER)
            while documents := await cursor.to_list(TOGETHER):
                yield documents

    def _taken(self, since: int) -> Document:
        return self._of_session | {"at": {"$gte": since}, "strategy": {"$ne": "ma"}}

    def _rejected(self, since: int, reasons: Sequence[str]) -> Document:
        return self._of_session | {"at": {"$gte": since}, "reason": {"$in": list(reasons)}}


def _newest(wanted: Document, most: int) -> list[Document]:
    return [{"$match": wanted}, {"$sort": {"at": DESCENDING, "_id": DESCENDING}}, {"$limit": most}]
