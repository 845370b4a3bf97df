"""The collections of a database, their indexes, and the one row that every reservation counts on."""

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import CollectionInvalid, OperationFailure

from store.server.client import Database
from store.server.documents import (
    APP_TABLES,
    APP_VERSIONS,
    ARBITRAGES,
    AUDIT,
    AVERAGE_TRADES,
    BALANCES,
    CLAIMS,
    COLLECTIONS,
    CYCLE_REJECTIONS,
    CYCLE_TRADES,
    DIFFERENCES,
    EPISODES,
    FAILED_ROWS,
    FILLS,
    MONTH_SUMS,
    NOTICES,
    OPPORTUNITIES,
    REJECTIONS,
    SESSION_BALANCES,
    SESSION_CLAIM,
    SETTINGS_VERSIONS,
    STEPS,
    TRANSFERS,
)

NAMESPACE_EXISTS = 48
LIQUIDITY_SECONDS = 3_600
"""How long the used liquidity of a quote is kept; the quote itself is stale after seconds."""
RETENTION_SECONDS = 7 * 24 * 3_600
"""Retention of opportunities, their episodes, rejections and signals, which are for information only."""

_SESSION = ("session_id", ASCENDING)
_NEWEST_FIRST = [("at", DESCENDING), ("_id", DESCENDING)]

# by the wall clock's time of writing: the events of a replay are old when they are written
_EXPIRY = IndexModel([("recorded_at", ASCENDING)], expireAfterSeconds=RETENTION_SECONDS)

INDEXES: dict[str, list[IndexModel]] = {
    APP_TABLES: [IndexModel([("app", ASCENDING), ("collection", ASCENDING), ("partition", ASCENDING)])],
    APP_VERSIONS: [IndexModel([("name", ASCENDING), ("version", DESCENDING)])],
    FAILED_ROWS: [IndexModel([("app", ASCENDING), ("place", ASCENDING)]), _EXPIRY],
    AUDIT: [
        IndexModel(_NEWEST_FIRST),
        IndexModel([("who", ASCENDING), *_NEWEST_FIRST]),
        IndexModel([("action", ASCENDING), *_NEWEST_FIRST]),
    ],
    # covers every filter of a page, so that scanning reads no document
    OPPORTUNITIES: [
        IndexModel(
            [
                _SESSION,
                *_NEWEST_FIRST,
                ("base", ASCENDING),
                ("buy.exchange", ASCENDING),
                ("sell.exchange", ASCENDING),
                ("net_bps", ASCENDING),
            ]
        ),
        _EXPIRY,
    ],
    ARBITRAGES: [
        IndexModel([_SESSION, ("opportunity.event_time", DESCENDING), ("_id", DESCENDING)]),
        IndexModel([("state", ASCENDING), *_NEWEST_FIRST]),
        # covers what a page sorts by and sums, so that looking through all of a session reads no document
        IndexModel(
            [
                _SESSION,
                *_NEWEST_FIRST,
                *((name, ASCENDING) for name in ("base", "state", "strategy", "amount")),
                *((f"opportunity.{name}", ASCENDING) for name in ("buy.exchange", "sell.exchange", "net_bps")),
                *((f"profit.{part}", ASCENDING) for part in ("net", "unwinding", "fees")),
            ],
            name="newest_first_with_figures",
        ),
        # the few that a third order ended
        IndexModel(
            [_SESSION, *_NEWEST_FIRST], name="third_orders", partialFilterExpression={"legs.2": {"$exists": True}}
        ),
        IndexModel([("legs.times.unconfirmed", ASCENDING)], sparse=True),
        # asked for in each round: what a halt stopped, among all that ever stayed residual
        IndexModel([("reason", ASCENDING)], partialFilterExpression={"state": "residual"}),
        IndexModel([("legs.exchange", ASCENDING), ("times.ended", DESCENDING)]),
        IndexModel([_SESSION, ("times.ended", ASCENDING), ("_id", ASCENDING)]),
    ],
    CYCLE_TRADES: [
        IndexModel([_SESSION, *_NEWEST_FIRST]),
        IndexModel([("state", ASCENDING), *_NEWEST_FIRST]),
        IndexModel([("orders.leg.times.unconfirmed", ASCENDING)], sparse=True),
        IndexModel([("orders.leg.exchange", ASCENDING), ("times.ended", DESCENDING)]),
    ],
    REJECTIONS: [
        IndexModel([_SESSION, *_NEWEST_FIRST]),
        IndexModel([_SESSION, ("reason", ASCENDING), *_NEWEST_FIRST]),
        IndexModel([("opportunity_id", ASCENDING), ("reason", ASCENDING), ("at", ASCENDING)]),
        _EXPIRY,
    ],
    CYCLE_REJECTIONS: [IndexModel([_SESSION, *_NEWEST_FIRST]), _EXPIRY],
    STEPS: [IndexModel([("arbitrage_id", ASCENDING), ("number", ASCENDING)])],
    EPISODES: [
        IndexModel([_SESSION, *_NEWEST_FIRST]),
        IndexModel([_SESSION, ("alive_until", ASCENDING)]),
        _EXPIRY,
    ],
    FILLS: [IndexModel([_SESSION, *_NEWEST_FIRST]), IndexModel([("arbitrage_id", ASCENDING)])],
    BALANCES: [IndexModel([("exchange", ASCENDING), ("currency", ASCENDING)], unique=True)],
    # read in each round of each bot; every session leaves one document per exchange
    SESSION_BALANCES: [IndexModel([_SESSION]), IndexModel([("exchange", ASCENDING), ("before_at", DESCENDING)])],
    # pairs, orders in flight and the counter have no date and stay
    CLAIMS: [IndexModel([("used_at", ASCENDING)], expireAfterSeconds=LIQUIDITY_SECONDS)],
    DIFFERENCES: [IndexModel(_NEWEST_FIRST)],
    TRANSFERS: [
        IndexModel(_NEWEST_FIRST),
        IndexModel([("state", ASCENDING)]),
        IndexModel([_SESSION]),
        IndexModel([("changed_at", ASCENDING)]),
        IndexModel([("is_across", ASCENDING)], sparse=True),
    ],
    NOTICES: [
        IndexModel([("destination", ASCENDING), ("state", ASCENDING), ("noted_at_us", ASCENDING)]),
        IndexModel([("destination", ASCENDING), ("batch", ASCENDING)]),
        IndexModel([("state", ASCENDING), ("ended_at", DESCENDING)]),
        _EXPIRY,
    ],
    MONTH_SUMS: [IndexModel([("name", ASCENDING), _SESSION])],
    SETTINGS_VERSIONS: [IndexModel(_NEWEST_FIRST), IndexModel([("changed", ASCENDING), ("_id", DESCENDING)])],
    AVERAGE_TRADES: [
        IndexModel([_SESSION, *_NEWEST_FIRST]),
        IndexModel([("exchange", ASCENDING), ("order.state", ASCENDING)]),
        _EXPIRY,
    ],
}


async def create_indexes(database: Database) -> None:
    """Make what is missing; many processes may do so at once. Transactions cannot wait for collections to be made.

    Only a database's owner may make anything: for all others this looks whether it is there.
    """
    await _create_collections(database)
    for name, indexes in INDEXES.items():
        there = await database[name].index_information()
        missing = [index for index in indexes if index.document["name"] not in there]
        if missing:
            await database[name].create_indexes(missing)
    if await database[CLAIMS].find_one({"_id": SESSION_CLAIM}, {"_id": 1}) is not None:
        # most who come here may not write to it
        return
    await database[CLAIMS].update_one(
        {"_id": SESSION_CLAIM}, {"$setOnInsert": {"open_arbitrages": 0, "stopped": None}}, upsert=True
    )


async def _create_collections(database: Database) -> None:
    known = set(await database.list_collection_names())
    for name in COLLECTIONS:
        if name in known:
            continue
        try:
            await database.create_collection(name)
        except CollectionInvalid:
            # another process created it first
            continue
        except OperationFailure as error:
            # … or at the same time, which only the server sees
            if error.code != NAMESPACE_EXISTS:
                raise
