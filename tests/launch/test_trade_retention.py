"""A session removes arbitrages that ended long ago, if that is configured and it is not recorded."""

import asyncio
from dataclasses import replace

import pytest

from launch.config.configuration import Configuration
from launch.supervisor.trade_retention import DAY, run_retention
from store.server.documents import ARBITRAGES
from tests.store.traded_session import new_session, traded


async def test_what_ended_long_ago_is_removed_and_said(mongodb_uri: str) -> None:
    async with new_session(mongodb_uri) as (session, store):
        ended = await traded(store)
        long_ago = ended.times["ended"] - 31 * DAY
        await store._database[ARBITRAGES].update_many({}, {"$set": {"times.ended": long_ago, "at": long_ago}})
        lines: asyncio.Queue[str] = asyncio.Queue()
        removing = asyncio.create_task(
            run_retention(replace(session, upkeep=replace(session.upkeep, keep_trades_days=30)), lines.put_nowait)
        )
        assert (await lines.get()).startswith("1 arbitrages that ended before")
        removing.cancel()
        assert await store.session_arbitrages() == []


async def test_a_session_that_is_recorded_or_keeps_all_removes_nothing(mongodb_uri: str) -> None:
    async with new_session(mongodb_uri) as (session, store):
        await traded(store)
        await run_retention(session, print)
        await run_retention(
            replace(session, upkeep=replace(session.upkeep, keep_trades_days=30, recordings_mb=1)), print
        )
        assert len(await store.session_arbitrages()) == 1


def test_a_month_is_kept_at_least() -> None:
    assert Configuration(keep_trades_days=30).keep_trades_days == 30
    with pytest.raises(ValueError, match="must be 0, which keeps all, or at least 30"):
        Configuration(keep_trades_days=29)
