from typing import Any

import httpx

from market.trade.leases import UNFENCED
from market.trade.moving_average import AverageOrder
from store.mongo.store import MongoTradeStore
from tests.store.test_mongo_averages import PRICES, closes, note_all
from tests.ui.api.test_trade_routes import all_pages

PATH = "/api/strategies/ma/trades"


async def test_signals_come_newest_first_page_by_page(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    reported = await note_all(store, closes())
    pages = await all_pages(api, PATH, 3)
    assert [len(page) for page in pages[:-1]] == [3] * (len(pages) - 1)
    rows = [row for page in pages for row in page]
    assert {row["trade_id"] for row in rows} == {trade.trade_id for trade in reported}
    assert len(rows) == len(reported) > 3


async def test_a_signal_has_all_fields_of_the_original(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    await note_all(store, closes(PRICES[:3]))
    (row,) = (await api.get(PATH)).raise_for_status().json()["items"]
    assert row == {
        "trade_id": "alpha|BTC/USD|15000000",
        "exchange": "alpha",
        "quote_region": "us",
        "symbol": "BTC/USD",
        "timestamp": 15_000_003,
        "trade_location": "us",
        "trade_price": "6",
        "trade_strategy": "MA Trading",
        "trade_type": "BUY",
        "average": "5",
        "order": None,
    }


async def test_what_became_of_its_order(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    (trade,) = await note_all(store, closes(PRICES[:3]), with_order=True)

    async def order() -> Any:
        (row,) = (await api.get(PATH)).raise_for_status().json()["items"]
        return row["order"]

    wanted = {"arbitrage_id": trade.trade_id, "state": "wanted", "reason": None, "filled": "0", "cost": "0"}
    assert await order() == wanted
    await store.averages.record_order(trade.trade_id, AverageOrder("rejected", "stale"), UNFENCED)
    assert await order() == wanted | {"state": "rejected", "reason": "stale"}


async def test_a_cursor_that_is_none_of_ours(api: httpx.AsyncClient) -> None:
    assert (await api.get(PATH, params={"cursor": "x"})).status_code == 422
