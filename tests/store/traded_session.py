"""A session in which something was traded and something rejected."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from uuid import uuid4

from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, LegRole, Rejection
from market.trade.leases import UNFENCED
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from tests.cep.logs import session as session_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, filled, leg_of, open_books, opportunity, reserved

ROLES: tuple[LegRole, ...] = ("buy", "sell")


def rejection(identity: str, count: int = 1) -> Rejection:
    names = (f"{identity}:stale", identity, "BTC", "alpha", "beta", "alpha", "stale")
    return Rejection(*names, 7.5, Decimal("1.25"), 1_700_000_000 * MICROSECONDS, count)


async def traded(store: MongoTradeStore) -> Arbitrage:
    """One arbitrage from its reservation to its end, and rejections of one pair in one second, in two batches."""
    await open_books(store)
    begun = await reserved(store, opportunity())
    await store.reject([rejection("first")])
    for role in ROLES:
        await finish_leg(store, begun.arbitrage_id, role, filled(leg_of(begun, role)), close, UNFENCED)
    await store.reject([rejection("second", 2)])
    ended = await store.arbitrage(begun.arbitrage_id)
    assert ended is not None
    return ended


def session_at(uri: str, database: str) -> Session:
    """Return that just began."""
    made = session_of()
    return replace(
        made,
        services=replace(made.services, mongodb=uri, database=database),
        started_at=wall_now() - MICROSECONDS,
    )


@asynccontextmanager
async def new_session(uri: str) -> AsyncIterator[tuple[Session, MongoTradeStore]]:
    """In a database that none was in before: what was changed in it a second ago counts."""
    session, client = session_at(uri, f"traded_{uuid4().hex}"), connect(uri)
    async with MongoTradeStore(client, session.services.database, session.session_id) as store:
        await store.prepare()
        yield session, store
        await client.drop_database(session.services.database)
