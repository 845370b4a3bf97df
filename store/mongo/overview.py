"""What a bot looks at in each round, in one command: as commands of their own these reads would be most of all."""

from collections.abc import Sequence
from typing import Any

from store.mongo.arbitrages import OLDEST_FIRST, OPEN, RESUMABLE
from store.mongo.orders import AS_REPORTED
from store.mongo.transfers import NOW_WANTED
from store.ports.trading import Overview
from store.server.client import Database, Document, translated_errors
from store.server.clock import NOW, time_in
from store.server.documents import (
    ARBITRAGES,
    BALANCES,
    CLAIMS,
    CYCLE_TRADES,
    HEALTH,
    LEASES,
    ORDER_RESULTS,
    SESSION_BALANCES,
    SESSION_CLAIM,
    TRANSFERS,
    amounts_of,
    arbitrage_of,
    balance_of,
    cycle_trade_of,
    health_of,
    lease_of,
    order_result_of,
)
from store.server.transfer_documents import transfer_of

BY_ID = [("_id", 1)]
BY_PLACE = [("exchange", 1), ("currency", 1)]
MOST_RESUMABLE = 50
"""In one round. What a halt left beyond them, reconciliation resumes."""


async def read_overview(database: Database, session_id: str) -> Overview:
    """Raise StoreUnavailableError; StoreError in a database never prepared."""
    parts = [
        _lookup("results", ORDER_RESULTS, {}, AS_REPORTED),
        _lookup("open", ARBITRAGES, OPEN, OLDEST_FIRST),
        _lookup("open_cycles", CYCLE_TRADES, OPEN, OLDEST_FIRST),
        _lookup("resumable", ARBITRAGES, RESUMABLE, OLDEST_FIRST, MOST_RESUMABLE),
        _lookup("resumable_cycles", CYCLE_TRADES, RESUMABLE, OLDEST_FIRST, MOST_RESUMABLE),
        _lookup("balances", BALANCES, {}, BY_PLACE),
        _lookup("opening", SESSION_BALANCES, {"session_id": session_id}, BY_ID),
        _lookup("health", HEALTH, {}, BY_ID),
        _lookup("leases", LEASES, {}, BY_ID),
        _lookup("transfers", TRANSFERS, NOW_WANTED, BY_ID),
    ]
    start: list[Document] = [{"$match": {"_id": SESSION_CLAIM}}, {"$project": {"stopped": 1} | NOW}]
    with translated_errors():
        found: list[dict[str, Any]] = [row async for row in database[CLAIMS].aggregate([*start, *parts])]
    now, row = time_in(found[0] if found else None), found[0]
    return Overview(
        now=now,
        reservations_open=row.get("stopped") != session_id,
        open_arbitrages=tuple(map(arbitrage_of, row["open"])),
        open_cycles=tuple(map(cycle_trade_of, row["open_cycles"])),
        resumable=tuple(map(arbitrage_of, row["resumable"])),
        resumable_cycles=tuple(map(cycle_trade_of, row["resumable_cycles"])),
        results=tuple(map(order_result_of, row["results"])),
        balances=tuple(map(balance_of, row["balances"])),
        opening={one["exchange"]: amounts_of(one["before"]) for one in row["opening"] if "before" in one},
        health=tuple(map(health_of, row["health"])),
        leases=tuple(map(lease_of, row["leases"])),
        transfers=tuple(map(transfer_of, row["transfers"])),
    )


def _lookup(
    name: str, collection: str, wanted: Document, order: Sequence[tuple[str, int]], most: int | None = None
) -> Document:
    pipeline: list[Document] = [{"$match": wanted}, {"$sort": dict(order)}]
    if most is not None:
        pipeline.append({"$limit": most})
    return {"$lookup": {"from": collection, "pipeline": pipeline, "as": name}}
