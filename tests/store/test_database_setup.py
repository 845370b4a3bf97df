"""What a session finds in a database that an earlier one has left."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from session.session import Placement, Services, Session
from store.errors import StoreError
from store.mongo.database_setup import prepare_database
from store.mongo.store import open_store
from tests.market.samples import MARKETS, settings_of


async def test_a_session_with_a_region_needs_members_with_theirs(
    mongodb_uri: str, database: str, mongo_store: object, tmp_path: Path
) -> None:
    session = Session(
        "session-1",
        "paper",
        tmp_path,
        Services("127.0.0.1:1", mongodb_uri, database),
        MARKETS,
        "USD",
        place=Placement(region="us", regions=("us",)),
    )
    with pytest.raises(StoreError, match="has no tag 'region', so nobody knows who decides"):
        await open_store(session)


async def test_a_session_with_a_new_exchange_trades_on_it(
    mongodb_uri: str, database: str, mongo_store: object, tmp_path: Path
) -> None:
    session = Session("session-1", "paper", tmp_path, Services("127.0.0.1:1", mongodb_uri, database), MARKETS, "USD")
    before = await prepare_database(session, settings_of(min_net_bps=7.0))
    fees = {**before.taker_fees, "delta": Decimal("0.003")}
    first = settings_of(enabled_exchanges=("alpha", "delta"), taker_fees=fees)
    # as the regions of a session do
    joined, *others = await asyncio.gather(*(prepare_database(session, first) for _ in range(3)))
    assert others == [joined, joined]
    assert joined.enabled_exchanges == (*before.enabled_exchanges, "delta")
    assert joined.taker_fees["delta"] == Decimal("0.003")
    assert joined.min_net_bps == 7.0
    assert joined.version == before.version + 1
    assert await prepare_database(session, first) == joined
