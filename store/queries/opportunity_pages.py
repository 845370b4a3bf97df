"""Stored opportunities with their outcomes, page by page, at a bounded cost per page."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from pymongo import DESCENDING

from market.prices.opportunities import Opportunity
from store.queries.opportunity_outcomes import OpportunityOutcome, OutcomeName, read_outcomes
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, OPPORTUNITIES, integer_of, opportunity_of
from store.server.page_reader import MAX_ROWS, Page, cursor_after, older_than

SCANNED_KEYS = 10_000
"""Entries of the index that one page looks through at the most; no document is read for them."""
SCANNED_OUTCOMES = 2_000
"""... if the outcome has to be looked up of each."""
CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class OpportunityFilter:
    """None: any. `exchange` on either side; `since` and `until` (exclusive) of the event, microseconds."""

    base: str | None = None
    exchange: str | None = None
    buy_exchange: str | None = None
    sell_exchange: str | None = None
    min_net_bps: float | None = None
    outcome: OutcomeName | None = None
    reason: str | None = None
    since: int | None = None
    until: int | None = None

    @property
    def asks_for_outcome(self) -> bool:
        return self.reason is not None or self.outcome is not None

    def fits(self, outcome: OpportunityOutcome) -> bool:
        return self.outcome in (None, outcome.name) and self.reason in (None, outcome.reason)


@dataclass(frozen=True, slots=True)
class StoredOpportunity:
    """An opportunity, and what became of it."""

    opportunity: Opportunity
    outcome: OpportunityOutcome


@dataclass(frozen=True, slots=True)
class _Source:
    """Where opportunities lie: `prefix` of their fields, `at` of their event time."""

    collection: str
    at: str
    prefix: str = ""
    only: tuple[tuple[str, object], ...] = ()

    def field(self, name: str) -> str:
        return f"${self.prefix}{name}"


_ALL = _Source(OPPORTUNITIES, "at")
# those taken are few among many: they are sought if nothing else is
_TAKEN = _Source(
    ARBITRAGES,
    "opportunity.event_time",
    "opportunity.",
    (("strategy", {"$ne": "ma"}),),
)


class MongoOpportunities:
    """Opportunities of one session. A page may hold fewer than asked for and still be followed by another: what it
    costs is bounded, however rare that is which is sought."""

    def __init__(self, database: Database, of_session: Mapping[str, object]) -> None:
        self._database = database
        self._of_session = dict(of_session)

    async def page(self, wanted: OpportunityFilter, cursor: str | None, limit: int) -> Page[StoredOpportunity]:
        """At most `limit` (1 to 500), by (event time, id), newest first. Raises CursorError, StoreUnavailableError."""
        limit = max(1, min(limit, MAX_ROWS))
        source = _TAKEN if wanted.outcome == "taken" else _ALL
        chosen: dict[str, OpportunityOutcome] = {}
        places: list[tuple[int, str]] = []
        last: tuple[int, str] | None = None
        async with aclosing(self._chunks(source, wanted, cursor, limit + 1)) as chunks:
            async for candidates, seen_until in chunks:
                last = seen_until
                # those beyond the page need no outcome, unless it decides whether they are on it
                asked = candidates if wanted.asks_for_outcome else candidates[: limit + 1 - len(places)]
                outcomes = await read_outcomes(self._database, [key for _, key in asked])
                places += [(at, key) for at, key in asked if wanted.fits(outcomes[key])]
                chosen |= outcomes
                if len(places) > limit:
                    break
        shown = places[:limit]
        if len(places) > limit:
            last = shown[-1]
        found = await self._read(source, [key for _, key in shown])
        items = tuple(StoredOpportunity(found[key], chosen[key]) for _, key in shown if key in found)
        return Page(items, None if last is None else cursor_after(*last))

    async def one(self, opportunity_id: str) -> StoredOpportunity | None:
        """One of any session; None if it was not stored or is past its retention."""
        found = await self._read(_ALL, [opportunity_id]) or await self._read(_TAKEN, [opportunity_id])
        if opportunity_id not in found:
            return None
        return StoredOpportunity(found[opportunity_id], await self.outcome(opportunity_id))

    async def outcome(self, opportunity_id: str) -> OpportunityOutcome:
        """Return the outcome, whether or not the opportunity is stored. Raises StoreUnavailableError."""
        return (await read_outcomes(self._database, [opportunity_id]))[opportunity_id]

    async def _chunks(
        self, source: _Source, wanted: OpportunityFilter, cursor: str | None, least: int
    ) -> AsyncGenerator[tuple[list[tuple[int, str]], tuple[int, str] | None]]:
        """(those that fit, the last one looked at; None: there are no more)."""
        most = SCANNED_OUTCOMES if wanted.asks_for_outcome else SCANNED_KEYS
        size = CHUNK if _condition(source, wanted) or wanted.asks_for_outcome else least
        scanned = 0
        while True:
            chunk = await self._chunk(source, wanted, cursor, size)
            scanned += len(chunk)
            is_end = len(chunk) < size
            places = [(integer_of(each["event"]), str(each["_id"])) for each in chunk]
            fitting = [place for place, each in zip(places, chunk, strict=True) if each["fits"]]
            yield fitting, None if is_end else places[-1]
            if is_end or scanned >= most:
                return
            cursor = cursor_after(*places[-1])

    async def _chunk(self, source: _Source, wanted: OpportunityFilter, cursor: str | None, size: int) -> list[Document]:
        pipeline = self.keys_pipeline(source, wanted, cursor, size)
        with translated_errors():
            return [document async for document in self._database[source.collection].aggregate(pipeline)]

    def keys_pipeline(
        self, source: _Source, wanted: OpportunityFilter, cursor: str | None, size: int
    ) -> list[Document]:
        """Answered from the index alone if the source has one of all that is asked for."""
        matches: list[Document] = [self._of_session | dict(source.only)]
        if wanted.since is not None:
            matches.append({source.at: {"$gte": wanted.since}})
        if wanted.until is not None:
            matches.append({source.at: {"$lt": wanted.until}})
        if cursor is not None:
            matches.append(older_than(cursor, source.at))
        return [
            {"$match": {"$and": matches}},
            {"$sort": {source.at: DESCENDING, "_id": DESCENDING}},
            {"$limit": size},
            {"$project": {"event": f"${source.at}", "fits": {"$and": _condition(source, wanted)}}},
        ]

    async def _read(self, source: _Source, keys: Sequence[str]) -> dict[str, Opportunity]:
        wanted: Document = {"_id": {"$in": list(keys)}}
        fields = None if source is _ALL else {"opportunity": 1}
        found: dict[str, Opportunity] = {}
        with translated_errors():
            async for document in self._database[source.collection].find(wanted, fields):
                inner = document if source is _ALL else document["opportunity"]
                if isinstance(inner, dict):
                    found[str(document["_id"])] = opportunity_of(inner)
        return found


def _condition(source: _Source, wanted: OpportunityFilter) -> list[Document]:
    """Return the server's expressions, all of which must hold."""
    base, buy, sell = source.field("base"), source.field("buy.exchange"), source.field("sell.exchange")
    equal = ((base, wanted.base), (buy, wanted.buy_exchange), (sell, wanted.sell_exchange))
    conditions: list[Document] = [{"$eq": [field, {"$literal": value}]} for field, value in equal if value is not None]
    if wanted.exchange is not None:
        conditions.append({"$in": [{"$literal": wanted.exchange}, [buy, sell]]})
    if wanted.min_net_bps is not None:
        conditions.append({"$gte": [source.field("net_bps"), wanted.min_net_bps]})
    return conditions
