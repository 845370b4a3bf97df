"""What reconciliation found, as REST shows it."""

from dataclasses import replace
from decimal import Decimal

import httpx

from market.accounting.differences import RowCorrection, StoredDifference
from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from wording.labels import DIFFERENCES

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
                "is_open": False,
                "settled": None,
                "settled_by": "",
                "settled_at": 0,
                "booked": "0",
                "cause": "",
                "advice": "",
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


async def test_an_order_in_doubt_is_named_with_what_it_may_have_caused(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    await store.differences.store(replace(LESS, cause="opportunity-7:buy"))
    await store.differences.store(replace(LESS, difference_id="4", kind="order_ambiguous", subject="opportunity-7:buy"))
    rows = {row["kind"]: row for row in (await api.get("/api/differences", params={"is_open": True})).json()["items"]}
    assert rows["order_ambiguous"]["advice"] == DIFFERENCES["order_ambiguous"]
    assert rows["balance_unexplained"]["cause"] == "opportunity-7:buy"
    assert "settle that one first" in rows["balance_unexplained"]["advice"]


LESS = StoredDifference("3", "balance_unexplained", "alpha", "BTC", "10", "0", "reported", 3_000_000)


async def sold_by_hand(store: MongoTradeStore) -> None:
    await store.balances.replace("alpha", {"BTC": Decimal(10)}, "before", UNFENCED)
    row = next(one for one in await store.balances.rows() if (one.exchange, one.currency) == ("alpha", "BTC"))
    gone = replace(row, unexplained=Decimal(-10))
    assert await store.differences.correct(RowCorrection(row, gone), UNFENCED)
    for one in (USD, STRANGER, LESS):
        await store.differences.store(one)


async def test_open_ones_are_settled_by_operators_and_audited(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    await sold_by_hand(store)
    found = (await api.get("/api/differences", params={"is_open": True})).json()["items"]
    assert [(row["difference_id"], row["is_open"]) for row in found] == [("3", True), ("2", True)]
    for _ in range(2):
        settled = await api.post(
            "/api/differences/3/settle", json={"settled": "withdrawal"}, headers={"X-API-Key": key}
        )
        assert settled.status_code == 200
        assert (settled.json()["settled"], settled.json()["booked"]) == ("withdrawal", "-10")
    rows = {(row.exchange, row.currency): row.free for row in await store.balances.rows()}
    assert rows["alpha", "BTC"] == 0
    risk = (await api.get("/api/risk")).json()["exchanges"]
    assert {row["exchange"]: row["unexplained_since"] > 0 for row in risk} == {"alpha": False, "beta": True}
    entries = (await api.get("/api/audit", headers={"X-API-Key": key})).json()["items"]
    assert [(one["action"], one["target"], one["outcome"]) for one in entries] == [
        ("difference.settle", "3", "done")
    ] * 2
    assert entries[0]["after"] == {"settled": "withdrawal", "booked": "-10"}


async def test_what_cannot_be_settled_so_is_said(api: httpx.AsyncClient, store: MongoTradeStore, key: str) -> None:
    await sold_by_hand(store)
    for difference_id, verdict, status in (
        ("3", "deposit", 409),
        ("2", "withdrawal", 409),
        ("1", "acknowledged", 409),
        ("9", "acknowledged", 404),
        ("3", "explained", 422),
    ):
        answer = await api.post(
            f"/api/differences/{difference_id}/settle", json={"settled": verdict}, headers={"X-API-Key": key}
        )
        assert answer.status_code == status
    assert (await api.post("/api/differences/3/settle", json={"settled": "acknowledged"})).status_code == 401
    assert len((await api.get("/api/differences", params={"is_open": True})).json()["items"]) == 2
