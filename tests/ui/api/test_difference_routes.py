"""What reconciliation found, as REST shows it."""

import httpx

from market.accounting.differences import StoredDifference
from store.mongo.mongo_store import MongoTradeStore

USD = StoredDifference("1", "balance_differs", "alpha", "USD", "900", "901", "healed", 1_000_000)
STRANGER = StoredDifference("2", "order_foreign", "beta", "order-1", "unknown", "buy 1", "reported", 2_000_000)


async def test_nothing_differs_at_first(api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/differences")).json() == {"items": [], "next_cursor": None}


async def test_differences_come_newest_first_page_by_page(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    for one in (USD, STRANGER):
        await store.differences.store(one)
    first = (await api.get("/api/differences", params={"limit": 1})).json()
    assert [row["difference_id"] for row in first["items"]] == ["2"]
    second = (await api.get("/api/differences", params={"limit": 1, "cursor": first["next_cursor"]})).json()
    assert second == {
        "items": [
            {
                "difference_id": "1",
                "kind": "balance_differs",
                "exchange": "alpha",
                "subject": "USD",
                "ours": "900",
                "theirs": "901",
                "handled": "healed",
                "found_at": 1_000_000,
            }
        ],
        "next_cursor": None,
    }


async def test_differences_of_some_kinds(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    for one in (USD, STRANGER):
        await store.differences.store(one)
    found = (await api.get("/api/differences", params={"kind": "order_foreign"})).json()["items"]
    assert [row["subject"] for row in found] == ["order-1"]
    assert (await api.get("/api/differences", params={"kind": "none of ours"})).status_code == 422
