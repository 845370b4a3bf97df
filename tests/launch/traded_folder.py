"""A data folder with trades: one arbitrage was removed since, one has closed, one is still open."""

import asyncio
from pathlib import Path

from launch.backup.temporary_mongod import temporary_mongod
from launch.setup.data_layout import LAYOUT, LAYOUT_FILE, database_name
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, filled, opportunity, reserved
from tests.store.traded_session import traded

DATABASE = database_name("paper")
SESSION = "session-1"


def make_traded_folder(home: Path) -> Path:
    """Make the folder with its database, records, keys and a recording; no session runs in it."""
    home.mkdir(mode=0o700, exist_ok=True)
    with temporary_mongod(home, DATABASE) as address:
        asyncio.run(_trade(address))
    for name, text in {
        "api_key": "secret\n",
        "api_keys.json": "[]",
        "exchange_accounts.json": "{}",
        "exchanges/kraken.jsonl": "{}\n",
        "recordings/feed.zst": "recorded",
        LAYOUT_FILE: f"{LAYOUT}\n",
    }.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    return home


async def _trade(address: str) -> None:
    async with MongoTradeStore(connect(address), DATABASE, SESSION) as store:
        await store.prepare()
        await traded(store)
        # of arbitrages removed for their age only the sums remain
        assert await store.remove_ended_before(await store.server_now() + MICROSECONDS) == 1
        begun = await reserved(store, opportunity("opportunity-2", 2), "1.5")
        for leg in begun.legs:
            await finish_leg(store, begun.arbitrage_id, leg.role, filled(leg), close, UNFENCED)
        await reserved(store, opportunity("opportunity-3", 3), "0.5")
