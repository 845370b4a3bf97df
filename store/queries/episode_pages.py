"""Episodes of opportunities, page by page, newest first."""

from collections.abc import Mapping
from dataclasses import dataclass

from market.prices.episodes import Episode, EpisodeOutcome
from store.aggregates.episode_sums import OUTCOMES
from store.server.client import Database, Document
from store.server.documents import EPISODES, episode_of
from store.server.page_reader import Page, read_page


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """None: any. `exchange` on either side; `min_net_bps` of the widest spread; `since` and `until` (exclusive) of the
    first sighting, microseconds of event time; `alive_since`: those that could still go on then, by the machine's time,
    as the sums of a span count them."""

    base: str | None = None
    exchange: str | None = None
    buy_exchange: str | None = None
    sell_exchange: str | None = None
    min_net_bps: float | None = None
    outcome: EpisodeOutcome | None = None
    reason: str | None = None
    since: int | None = None
    until: int | None = None
    alive_since: int | None = None

    @property
    def condition(self) -> Document:
        equal = (("base", self.base), ("buy.exchange", self.buy_exchange), ("sell.exchange", self.sell_exchange))
        conditions: list[Document] = [{field: {"$eq": value}} for field, value in equal if value is not None]
        if self.exchange is not None:
            conditions.append({"$or": [{f"{side}.exchange": {"$eq": self.exchange}} for side in ("buy", "sell")]})
        if self.min_net_bps is not None:
            conditions.append({"best.net_bps": {"$gte": self.min_net_bps}})
        if self.outcome is not None:
            conditions.append(OUTCOMES[self.outcome])
        if self.reason is not None:
            conditions.append({"is_taken": False, "rejected.reason": {"$eq": self.reason}})
        if self.since is not None:
            conditions.append({"at": {"$gte": self.since}})
        if self.until is not None:
            conditions.append({"at": {"$lt": self.until}})
        if self.alive_since is not None:
            conditions.append({"alive_until": {"$gte": self.alive_since}})
        return {"$and": conditions} if conditions else {}


async def episode_page(
    database: Database, of_session: Mapping[str, object], wanted: EpisodeFilter, cursor: str | None, limit: int
) -> Page[Episode]:
    """Those of one session, by their beginnings. Raises CursorError, StoreUnavailableError."""
    return await read_page(database, EPISODES, episode_of, {**of_session, **wanted.condition}, cursor, limit)
