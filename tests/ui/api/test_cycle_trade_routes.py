"""Trades on cycles through REST: newest first, with what was planned and every order."""

from decimal import Decimal

import httpx

from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from tests.market.cycle_samples import triangle
from tests.store.test_port_cycles import PLENTY, booked, reserved


async def test_trades_on_cycles_come_with_what_was_planned_and_all_orders(
    api: httpx.AsyncClient, store: MongoTradeStore
) -> None:
    assert (await api.get("/api/cycles")).json() == {"items": [], "next_cursor": None}
    wanted = triangle(single_leg_policy="reverse").rows.settings
    await store.settings.amend(lambda now: wanted.model_copy(update={"version": now.version}), "test")
    await store.balances.replace("alpha", {**PLENTY, "ETH": Decimal(0)}, "before", UNFENCED)
    await reserved(store)
    for name in ("leg1", "leg2"):
        await booked(store, name)
    page = (await api.get("/api/cycles", params={"exchange": "alpha"})).raise_for_status().json()
    [row] = page["items"]
    assert (row["trade_id"], row["state"], row["is_open"], row["profit"]) == ("found", "reserved", True, None)
    assert [(leg["symbol"], leg["side"], leg["amount"], leg["waits"]) for leg in row["legs"]] == [
        ("BTC/USD", "buy", "0.3", False),
        ("ETH/BTC", "buy", "6", False),
        ("ETH/USD", "sell", "6", True),
    ]
    assert [(order["role"], order["state"], order["filled"]) for order in row["orders"]] == [
        ("leg1", "done", "0.3"),
        ("leg2", "done", "6"),
        ("leg3", "granted", "0"),
    ]
    await booked(store, "leg3")
    [row] = (await api.get("/api/cycles", params={"state": "closed"})).json()["items"]
    assert (row["state"], row["profit"]["net"], row["threshold_of"]) == ("closed", "120", "general")
    for sort in ({}, {"sort": "price"}):
        fills = (await api.get("/api/trades", params=sort)).raise_for_status().json()["items"]
        known = {(one["role"], one["symbol"], one["strategy"], one["state"], one["net"]) for one in fills}
        assert known == {
            ("leg1", "BTC/USD", "cycle", "closed", "120"),
            ("leg2", "ETH/BTC", "cycle", "closed", "120"),
            ("leg3", "ETH/USD", "cycle", "closed", "120"),
        }
    assert (await api.get("/api/cycles", params={"exchange": "beta"})).json()["items"] == []
    assert (await api.get("/api/cycles", params={"state": "reserved"})).json()["items"] == []
