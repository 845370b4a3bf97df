"""Trades on cycles and refused ones through REST: newest first, with what was planned and what refused them."""

from dataclasses import replace
from decimal import Decimal

import httpx

from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from store.records.cycle_rejection import CycleRejection
from tests.market.cycle_samples import triangle
from tests.store.test_port_cycles import PLENTY, booked, reserved

LOW = CycleRejection(
    "one:below_threshold", "a:BTC/USD:buy", ("alpha",), "below_threshold", 4.5, "4.5", "5", "bps", 1_000
)


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


async def test_rejected_cycles_come_with_check_value_and_limit(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    busy = replace(LOW, rejection_id="two:cycle_busy", exchanges=("beta",), reason="cycle_busy", value=None, limit=None)
    newer = replace(busy, unit="", rejected_at=2_000)
    await store.reject_cycles([LOW, newer])
    # an earlier count that comes late, and a repeat
    for count in (7, 3):
        await store.reject_cycles([replace(LOW, count=count)])
    path = "/api/rejections/cycles"
    items = (await api.get(path)).raise_for_status().json()["items"]
    assert [(one["reason"], one["value"], one["limit"], one["unit"], one["count"]) for one in items] == [
        ("cycle_busy", None, None, "", 1),
        ("below_threshold", "4.5", "5", "bps", 7),
    ]
    for wanted in ({"reason": "below_threshold"}, {"exchange": "alpha"}):
        [one] = (await api.get(path, params=wanted)).json()["items"]
        assert (one["rejection_id"], one["exchanges"], one["net_bps"]) == ("one:below_threshold", ["alpha"], 4.5)
    page = (await api.get(path, params={"limit": 1})).json()
    assert [one["rejection_id"] for one in page["items"]] == ["two:cycle_busy"]
    assert page["next_cursor"]
