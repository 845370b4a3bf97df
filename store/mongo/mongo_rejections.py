"""Opportunities that bots acted on, and the rejections of the others."""

from decimal import Decimal

from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from store.aggregates.missed_profit_sums import missed_sums, profit_by_reason
from store.aggregates.session_totals import rejection_counts
from store.mongo.consumer_positions import ConsumerPositions
from store.mongo.rejection_counts import count_rejection
from store.server.change_streams import ChangeStreamProgress
from store.server.documents import OPPORTUNITIES, opportunity_document
from store.server.mongo_client import Database, translated_errors


class MongoRejections:
    """The part of the store's port that is for information only."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id
        self.consumer_positions = ConsumerPositions(database)
        self.arbitrages_progress = ChangeStreamProgress()
        self.settings_progress = ChangeStreamProgress()

    async def save_opportunity(self, opportunity: Opportunity) -> bool:
        document = opportunity_document(opportunity) | {"session_id": self._session_id}
        with translated_errors():
            written = await self._database[OPPORTUNITIES].update_one(
                {"_id": document["_id"]}, {"$setOnInsert": document}, upsert=True
            )
        return written.upserted_id is not None

    async def reject(self, rejection: Rejection) -> None:
        with translated_errors():
            await count_rejection(self._database, rejection, self._session_id)

    async def rejected_profit(self) -> dict[str, Decimal]:
        """Reason → missed profit of this session, each episode once (`market.accounting.episodes`)."""
        return profit_by_reason(await missed_sums(self._database, {"session_id": self._session_id}))

    async def rejection_counts(self) -> dict[str, int]:
        """Reason → how many in this session, including those only counted."""
        return await rejection_counts(self._database, {"session_id": self._session_id})
