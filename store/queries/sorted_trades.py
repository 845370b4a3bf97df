"""Pages of arbitrages and fills in the order of any of their columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from store.queries.sorted_pages import (
    Order,
    RowPlace,
    SortedRead,
    behind,
    cursor_of,
    keyed,
    places_in,
    sorted_documents,
    sorting,
)
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, FILLS
from store.server.page_reader import MAX_ROWS, Page

Row = TypeVar("Row")


def _decimal(field: str) -> Document:
    """Return a stored amount as a number; one that the server's 34 digits cannot hold counts as missing."""
    return {"$convert": {"input": field, "to": "decimal", "onError": None, "onNull": None}}


def _sum_of_leg(role: str, field: str) -> Document:
    """Return the sum of `field` over the fills of the leg with that role; 0 without one."""
    leg = {"$filter": {"input": "$legs", "as": "leg", "cond": {"$eq": ["$$leg.role", role]}}}
    of_fills = {"$map": {"input": "$$this.fills", "as": "fill", "in": _decimal(f"$$fill.{field}")}}
    return {"$reduce": {"input": leg, "initialValue": 0, "in": {"$add": ["$$value", {"$sum": of_fills}]}}}


def _price_of_leg(role: str) -> Document:
    amount = _sum_of_leg(role, "amount")
    return {"$cond": [{"$eq": [amount, 0]}, None, {"$divide": [_sum_of_leg(role, "cost"), amount]}]}


_PAIR = {"$concat": ["$opportunity.buy.exchange", " ", "$opportunity.sell.exchange"]}
ARBITRAGE_KEYS: Mapping[str, object] = {
    "time": "$at",
    "state": "$state",
    "net": _decimal("$profit.net"),
    "unwinding": _decimal("$profit.unwinding"),
    "fees": _decimal("$profit.fees"),
    "base": "$base",
    "pair": _PAIR,
    "amount": _decimal("$amount"),
    "buy_amount": _sum_of_leg("buy", "amount"),
    "buy_price": _price_of_leg("buy"),
    "sell_amount": _sum_of_leg("sell", "amount"),
    "sell_price": _price_of_leg("sell"),
    "net_bps": "$opportunity.net_bps",
    "strategy": {"$ifNull": ["$strategy", "arbitrage"]},
    "arbitrage_id": "$_id",
}
"""Column → the server's expression of its value."""
FILL_KEYS: Mapping[str, object] = {
    "time": "$at",
    "exchange": "$exchange",
    "symbol": "$symbol",
    "side": "$side",
    "price": _decimal("$price"),
    "amount": _decimal("$amount"),
    "cost": _decimal("$cost"),
    "fee": _decimal("$fee"),
    "arbitrage_id": "$arbitrage_id",
}
OF_ARBITRAGE = ("net", "unwinding", "state", "base", "strategy")
"""Columns by which fills are sorted as their arbitrages are."""
ARBITRAGE_COLUMNS = tuple(ARBITRAGE_KEYS)
FILL_COLUMNS = (*FILL_KEYS, *OF_ARBITRAGE)

_WHOLE = "whole"
_PLACE: Document = {"_id": "$_id", "at": "$at", "key": "$key"}


async def sorted_page(
    database: Database,
    read: SortedRead,
    order: Order,
    cursor: str | None,
    limit: int,
    row: Callable[[Document], Row],
) -> Page[Row]:
    """Return whole documents as `row` makes them, after the stages `read.after`. Raises CursorError."""
    place = None if cursor is None else places_in(cursor, order)[0]
    limit = min(limit, MAX_ROWS)
    itself: Document = {"from": read.collection, "localField": "_id", "foreignField": "_id", "as": _WHOLE}
    whole: list[Document] = [{"$lookup": itself | {"pipeline": list(read.after)}}]
    asked = SortedRead(read.collection, read.wanted, read.key, read.before, whole)
    documents = await sorted_documents(database, asked, order, place, limit)
    shown, next_cursor = documents[:limit], None
    if len(documents) > limit:
        next_cursor = cursor_of(order, RowPlace.of(shown[-1]))
    return Page(tuple(row(one) for document in shown for one in document[_WHOLE]), next_cursor)


async def arbitrages_of_fills(database: Database, of_session: Document, fills: Document) -> Document:
    """Return the condition on the arbitrages that a session's `fills` may be of: those that began in it, and those of
    an earlier one that went on in it, so that only their later fills are its own."""
    if not of_session:
        return {}
    began: list[Document] = [{"$match": of_session}, {"$project": {"has_begun": {"$literal": True}}}]
    steps: list[Document] = [
        {"$match": fills},
        {"$group": {"_id": "$arbitrage_id"}},
        {"$unionWith": {"coll": ARBITRAGES, "pipeline": began}},
        {"$group": {"_id": "$_id", "has_begun": {"$max": "$has_begun"}}},
        {"$match": {"has_begun": None}},
    ]
    with translated_errors():
        earlier = [document["_id"] async for document in database[FILLS].aggregate(steps)]
    return {"$or": [of_session, {"_id": {"$in": earlier}}]} if earlier else of_session


async def fills_by_arbitrage(
    database: Database,
    arbitrages: Document,
    fills: Document,
    joined: Document,
    order: Order,
    cursor: str | None,
    limit: int,
    row: Callable[[Document], Row],
) -> Page[Row]:
    """Return the `fills` of those `arbitrages` in the order of the arbitrages, those of one newest first; `joined` is
    the stage that adds its arbitrage to a fill. Raises CursorError."""
    places = [] if cursor is None else places_in(cursor, order, count=2)
    limit = min(limit, MAX_ROWS)
    steps: list[Document] = [
        *keyed(SortedRead(ARBITRAGES, arbitrages, ARBITRAGE_KEYS[order.column])),
        *_not_before(order, places),
        {"$sort": sorting(order)},
        *_fills_of_each(fills, places),
        {"$limit": limit + 1},
        # the fill as a document of its own, beside its arbitrage's place
        {"$replaceRoot": {"newRoot": {"$mergeObjects": ["$fill", {"place": _PLACE}]}}},
        joined,
    ]
    with translated_errors():
        documents: list[dict[str, Any]] = [one async for one in database[ARBITRAGES].aggregate(steps)]
    next_cursor = None
    if len(documents) > limit:
        last = documents[limit - 1]
        next_cursor = cursor_of(order, RowPlace.of(last["place"]), RowPlace(None, last["at"], last["_id"]))
    return Page(tuple(row(document) for document in documents[:limit]), next_cursor)


def _not_before(order: Order, places: Sequence[RowPlace]) -> list[Document]:
    """Return the stage that begins with the cursor's arbitrage, of which fills may be left."""
    return [{"$match": {"$or": [{"_id": places[0].identity}, behind(order, places[0])]}}] if places else []


def _fills_of_each(fills: Document, places: Sequence[RowPlace]) -> list[Document]:
    newest_first: Document = {"$sort": {"at": -1, "_id": -1}}
    found: Document = {"from": FILLS, "localField": "_id", "foreignField": "arbitrage_id", "as": "fill"}
    stages: list[Document] = [
        {"$lookup": found | {"pipeline": [{"$match": fills}, newest_first]}},
        {"$unwind": "$fill"},
    ]
    if places:
        arbitrage, fill = places
        left = {"$or": [{"fill.at": {"$lt": fill.at}}, {"fill.at": fill.at, "fill._id": {"$lt": fill.identity}}]}
        stages.append({"$match": {"$or": [{"_id": {"$ne": arbitrage.identity}}, left]}})
    return stages
