"""Settings changed from whatever is in force: the kill switch must not lose a race."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from market.decide.settings import Settings
from store.errors import VersionConflictError
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from tests.market.samples import settings_of


@pytest.fixture
async def reader(mongodb_uri: str, database: str, mongo_store: MongoTradeStore) -> AsyncIterator[TradeReader]:
    reader = TradeReader(connect(mongodb_uri), database, "session-1")
    yield reader
    await reader.close()


def halted(settings: Settings) -> Settings:
    return settings.model_copy(update={"trading_state": "halted"})


async def test_it_holds_whatever_else_is_changed_at_the_same_time(
    reader: TradeReader, mongo_store: MongoTradeStore
) -> None:
    await mongo_store.settings.create(settings_of())

    async def tune(bps: int) -> None:
        for _ in range(5):
            current = await reader.settings.current()
            assert current is not None
            changed = current.model_copy(update={"min_net_bps": float(bps)})
            try:
                await reader.settings.change(changed, current.version, "tuner")
            except VersionConflictError:
                continue

    switched, *_ = await asyncio.gather(reader.settings.amend(halted, "switch"), *(tune(bps) for bps in range(5, 11)))
    assert switched is not None
    now = await reader.settings.current()
    assert now is not None
    assert (switched.trading_state, now.trading_state) == ("halted", "halted")
    versions = (await reader.settings_history(None, 100)).items
    assert [one.version for one in versions] == list(range(now.version, 0, -1))
    assert [one.version for one in versions if one.who == "switch"] == [switched.version]


async def test_what_changes_nothing_is_not_kept(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    assert await reader.settings.amend(halted, "switch") is None
    await mongo_store.settings.create(settings_of())
    once = await reader.settings.amend(halted, "switch")
    assert once is not None
    assert once.version == 2
    assert await reader.settings.amend(halted, "another") == once
